"""A planner that is behind, or whose memory is broken, is told of wherever somebody may look."""

import asyncio
import re

import pytest

from arcbandit.service.service import LATE_SECONDS
from arcbandit.service.sqlite_transactions import opened
from tests.service.served import FILMS, serving


def shown(text, metric, campaign="films"):
    """A number of /metrics."""
    found = re.search(rf'^{metric}{{campaign="{campaign}"}} (\S+)$', text, re.MULTILINE)
    return None if found is None else float(found[1])


async def told(served):
    """What the plan, the status, the metrics and the readiness say."""
    plan = (await served.get("/v1/campaigns/films/plan")).json()
    status = (await served.get("/v1/campaigns/films/status")).json()
    text = (await served.get("/metrics")).text
    ready = await served.get("/readyz")
    assert ready.status_code == 200
    assert (plan["overdue_seconds"], plan["is_late"]) == (status["overdue_seconds"], status["is_late"])
    assert (shown(text, "arcbandit_plan_overdue_seconds"), shown(text, "arcbandit_plan_late")) == (
        plan["overdue_seconds"],
        plan["is_late"],
    )
    assert plan["replan_every_seconds"] == status["replan_every_seconds"]
    assert plan["replan_every_seconds"] == shown(text, "arcbandit_replan_every_seconds")
    assert bool(ready.json()["warnings"]) == bool(status["warnings"])
    assert status["plan_age_seconds"] == pytest.approx(plan["age_seconds"], abs=5)
    return plan, status


@pytest.mark.slow
@pytest.mark.parametrize("every", [1.0, 60.0])
def test_a_planner_that_is_behind_says_so(tmp_path, every):
    """By how much, everywhere; late is what is due for a whole turn, and a few seconds at least."""
    now = 1000.0
    limit = max(LATE_SECONDS, every)

    async def play():
        nonlocal now
        async with serving(tmp_path, campaign=FILMS | {"replan_every_seconds": every}) as served:
            upkeep = served.upkeep
            upkeep._monotonic = lambda: now
            await upkeep.plan_once("films")
            upkeep._note_due()
            assert (await told(served))[0]["overdue_seconds"] == 0
            made = await served.decide()
            await served.reward(made["decision_id"], 0.5)
            now += every
            upkeep._note_due()
            now += limit
            upkeep._note_due()
            plan, status = await told(served)
            assert (plan["overdue_seconds"], plan["is_late"], plan["is_stale"]) == (limit, False, False)
            now += 1
            plan, status = await told(served)
            assert (plan["overdue_seconds"], plan["is_late"], plan["is_stale"]) == (limit + 1, True, True)
            for warnings in (plan["warnings"], status["warnings"]):
                assert warnings == [
                    f"A new plan has been due for {limit + 1:.0f} seconds, though one may come every {every:g}: "
                    "the planner is behind."
                ]
            assert (await served.decide())["how"] == plan["how"]  # it is drawn from nevertheless
            await upkeep.plan_once("films")
            upkeep._note_due()
            plan, status = await told(served)
            assert (plan["overdue_seconds"], plan["is_late"], status["warnings"]) == (0, False, [])

    asyncio.run(play())


def test_a_plan_in_the_making_is_still_due_and_so_are_others(tmp_path):
    """One planner for all campaigns: while it is busy with one, the others' age is told."""
    now = 1000.0

    async def play():
        nonlocal now
        async with serving(tmp_path) as served:
            upkeep, busy = served.upkeep, asyncio.Event()
            await served.post("/v1/campaigns", FILMS | {"name": "songs"})
            upkeep._monotonic = lambda: now
            ask = upkeep._planning.ask

            async def ask_later(question, timeout=None):
                await busy.wait()
                return await ask(question, timeout)

            upkeep._planning.ask = ask_later
            upkeep._note_due()
            planning = asyncio.ensure_future(upkeep.plan_once("films"))
            await asyncio.sleep(0)
            now += LATE_SECONDS + 1
            upkeep._note_due()
            for name in ("films", "songs"):
                plan = (await served.get(f"/v1/campaigns/{name}/plan")).json()
                assert (plan["overdue_seconds"], plan["is_late"]) == (LATE_SECONDS + 1, True)
            assert "2 campaigns" in (await served.get("/readyz")).json()["warnings"][0]
            busy.set()
            await planning
            upkeep._note_due()
            assert [served.service.punctuality(name).is_late for name in ("films", "songs")] == [False, True]

    asyncio.run(play())


def test_where_another_process_plans_nothing_is_claimed(tmp_path):
    async def play():
        async with serving(tmp_path) as served:
            served.service.leads = False
            plan = (await served.get("/v1/campaigns/films/plan")).json()
            assert (plan["overdue_seconds"], plan["is_late"]) == (None, False)
            assert shown((await served.get("/metrics")).text, "arcbandit_plan_late") is None

    asyncio.run(play())


HARM = {
    "no learner": b"nothing that can be decompressed",
    "cut off": None,
    "another kind": b'{"revision": 1, "arrival": 0, "snapshot": {"policy": "none"}}',
    "empty": b'{"revision": 1, "arrival": 0, "snapshot": {}}',
}


@pytest.mark.slow
@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("rule", ["drift-plus-penalty", "priced-lp"])
def test_a_broken_learner_is_learnt_again_and_told_of(tmp_path, rule, harm):
    """From the log; statistics and status are answered meanwhile, and the next plan says what happened."""
    import zlib

    async def play():
        campaign = FILMS | {"policy": rule, "horizon": 1000 if rule == "drift-plus-penalty" else None}
        async with serving(tmp_path, campaign=campaign) as served:

            async def learn():
                for context in ("tv", "phone") * 6:
                    made = await served.decide(context)
                    await served.reward(made["decision_id"], 0.5)
                await served.upkeep.plan_once("films")
                return (await served.get("/v1/campaigns/films/plan")).json()

            assert (await learn())["warnings"] == []
            connection = opened(served.path)
            ((blob,),) = connection.execute("SELECT learner FROM learners").fetchall()
            broken = blob[:-20] if HARM[harm] is None else HARM[harm]
            broken = zlib.compress(broken) if broken.startswith(b"{") else broken
            connection.execute("UPDATE learners SET learner = ?", (broken,))
            connection.close()
            for what in ("statistics", "status", "plan"):
                answer = await served.get(f"/v1/campaigns/films/{what}")
                assert answer.status_code == 200, answer.text
            plan = await learn()
            assert "could not be used" in plan["warnings"][0]
            assert plan["rewards"] == 24
            kept = (await served.service.statistics("films")).learner.snapshot["statistics"]
            assert kept["rewards"] == 24
            assert (await learn())["warnings"] == []

    asyncio.run(play())


def test_a_policy_that_cannot_be_restored_keeps_the_last_plan(tmp_path):
    """Decisions go on; the plan, the readiness and the status say what is wrong."""

    async def play():
        async with serving(tmp_path) as served:
            connection = opened(served.path)
            connection.execute(
                "UPDATE campaigns SET policy = CAST(replace(CAST(policy AS TEXT), '\"blp\"', '\"gone\"') AS BLOB)"
            )
            connection.close()

    async def harmed():
        async with serving(tmp_path) as served:
            await served.upkeep.plan_once("films")
            plan = (await served.get("/v1/campaigns/films/plan")).json()
            assert plan["is_stale"]
            assert "gone" in plan["warnings"][0]
            assert (await served.decide())["plan_version"] == 1
            status = await served.get("/v1/campaigns/films/status")
            assert (status.status_code, status.json()["error"]["code"]) == (503, "no_status")
            assert (await served.get("/readyz")).json()["warnings"]

    asyncio.run(play())
    asyncio.run(harmed())
