"""Exports: over HTTP as by `arcbandit export`, in bounded memory, of campaigns that change while they are read."""

import asyncio
import io
import json

import httpx
import pytest
from pyarrow import parquet

from arcbandit.cli import main
from arcbandit.service.campaigns import Campaign, CampaignSettings
from arcbandit.service.contract import POLICY, draft
from arcbandit.service.exporting import BATCHES_OF_A_GROUP, PARQUET_TYPE, ROWS_AT_A_TIME, parquet_parts, rows
from arcbandit.service.identifiers import DecisionIds
from arcbandit.service.sqlite_store import SQLiteStore
from arcbandit.service.store import RewardDraft
from tests.service.processes import Process, made_store

DECISIONS = "/v1/campaigns/films/decisions"


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


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server whose log has some thousand decisions, three of four with their reward; its address and its store."""
    path = made_store(tmp_path_factory.mktemp("export"))

    async def play():
        store = SQLiteStore(path)
        ((films, _),) = await store.load()
        drafts = [draft(films, arm=number % 2, context=number // 2 % 2) for number in range(2 * ROWS_AT_A_TIME + 300)]
        made = [one for one, _ in await asyncio.gather(*map(store.record_decision, drafts))]
        await store.record_rewards(1, [RewardDraft(one.sequence, one.sequence) for one in made if one.sequence % 4])
        await store.close()

    asyncio.run(play())
    server = Process(path)
    yield f"http://127.0.0.1:{server.port}", path
    server.kill()


def lines_of(answer):
    return [json.loads(line) for line in answer.text.splitlines()]


def table_of(answer):
    """The rows of a Parquet file, with times as lines of JSON have them."""
    found = parquet.read_table(io.BytesIO(answer.content)).to_pylist()
    return [row | {"timestamp": row["timestamp"].isoformat(timespec="microseconds")} for row in found]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "flags"), [("", ["--every"]), ("&rewarded=false", ["--every"]), ("&rewarded=true", [])]
)
def test_an_export_over_http_is_that_of_the_command(served, tmp_path, capsys, query, flags):
    """Byte for byte, in both forms; and both forms have the same rows."""
    url, path = served
    answers = {}
    for form in ("ndjson", "parquet"):
        out = tmp_path / f"films.{form}"
        assert main(["export", "films", str(out), "--store", path, *flags]) == 0
        answers[form] = httpx.get(f"{url}{DECISIONS}?format={form}{query}")
        assert answers[form].status_code == 200
        assert answers[form].content == out.read_bytes()
        assert answers[form].headers["content-disposition"] == f'attachment; filename="films.{form}"'
    assert table_of(answers["parquet"]) == lines_of(answers["ndjson"])
    assert len(lines_of(answers["ndjson"])) == (2300 if flags else 1725)
    assert f"{len(lines_of(answers['ndjson'])):,} decisions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("accept", "query", "is_parquet"),
    [
        (None, "", False),
        ("*/*", "", False),
        ("application/x-ndjson", "", False),
        (PARQUET_TYPE, "", True),
        (f"text/html, {PARQUET_TYPE.upper()};q=0.9", "", True),
        (PARQUET_TYPE, "?format=ndjson", False),
        ("application/x-ndjson", "?format=parquet", True),
    ],
)
def test_the_form_is_that_of_the_query_or_else_of_the_header(served, accept, query, is_parquet):
    url, _ = served
    answer = httpx.get(f"{url}{DECISIONS}{query}", headers={} if accept is None else {"accept": accept})
    assert (answer.headers["content-type"] == PARQUET_TYPE) == is_parquet
    assert answer.content.startswith(b"PAR1" if is_parquet else b"{")
    assert answer.headers["vary"] == "accept"


@pytest.mark.parametrize("wrong", ["format=csv", "format=", "rewarded=yes", "rewarded=1", "after=-1", "after=x"])
def test_a_wrong_question_is_refused(served, wrong):
    url, _ = served
    answer = httpx.get(f"{url}{DECISIONS}?{wrong}")
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == wrong.partition("=")[0]


def test_an_empty_log_is_a_file_too(served):
    url, _ = served
    answer = httpx.get(f"{url}{DECISIONS}?format=parquet&after={10**17}")
    assert table_of(answer) == []
    assert "probability" in parquet.read_schema(io.BytesIO(answer.content)).names


@pytest.mark.slow
def test_what_is_in_memory_does_not_grow_with_the_log():
    """A part for every thousand rows that are read, and a group of rows is sent as soon as it is full."""
    row = {"sequence": 1, "decision_id": "x", "timestamp": "2026-01-01T00:00:00.000000+00:00", "context": "tv"}
    row |= {"arm": "house", "probability": 0.5, "reward": None, "is_default": False, "plan_version": 1}
    row |= {"uniform": 0.25, "excluded_arms": []}
    groups, pulled = 3, 0

    def endless():
        nonlocal pulled
        for number in range(groups * BATCHES_OF_A_GROUP * ROWS_AT_A_TIME):
            pulled += 1
            yield row | {"sequence": number}

    parts, since = [], 0
    for place, part in enumerate(parquet_parts(endless()), 1):
        parts.append(part)
        since = 0 if part else since + 1
        assert pulled <= place * ROWS_AT_A_TIME
        assert since <= BATCHES_OF_A_GROUP
    file = parquet.ParquetFile(io.BytesIO(b"".join(parts)))
    assert file.metadata.num_row_groups == groups
    assert file.metadata.num_rows == pulled == groups * BATCHES_OF_A_GROUP * ROWS_AT_A_TIME
