"""Logs of campaigns that change while they are read."""

import asyncio

from arcbandit.service.campaigns import Campaign, CampaignSettings
from arcbandit.service.contract import POLICY, draft
from arcbandit.service.exporting import rows
from arcbandit.service.identifiers import DecisionIds
from arcbandit.service.sqlite_store import SQLiteStore


def test_an_export_goes_on_with_arms_that_came_meanwhile(tmp_path):
    """It knows a campaign as it was when it began, and meets an arm and a context that were added since."""
    told = POLICY["configuration"]
    grown = told | {
        "arms": [*told["arms"], "newcomer"],
        "contexts": [*told["contexts"], "watch"],
        "available": [[True] * 3] * 3,
        "revenue_floors": [0.0] * 3,
    }

    async def play():
        store = SQLiteStore(str(tmp_path / "store.db"))
        films, plan = await store.create_campaign("films", CampaignSettings(), POLICY)
        await store.record_decision(draft(films))
        reader = store.reader()
        found = rows(reader, Campaign(films, plan), DecisionIds(store.key))
        await store.change_campaign(films, POLICY | {"configuration": grown}, {"change": "add_arm"}, 0)
        await store.record_decision(draft(films, arm=2, context=2))
        named = [(row["arm"], row["context"]) for row in found]
        reader.close()
        await store.close()
        return named

    assert asyncio.run(play()) == [("house", "phone"), ("newcomer", "watch")]
