"""Plans that nobody needs any more are forgotten, and nothing else."""

import asyncio

import pytest

from arcbandit.cli import main
from arcbandit.errors import InvalidInputError, StoreError
from arcbandit.service.audit import audited
from arcbandit.service.campaigns import CampaignSettings
from arcbandit.service.contract import DAY, POLICY, VirtualClock, _plan, draft
from arcbandit.service.postgres_store import PostgresStore
from arcbandit.service.reporting import REPORT_SECONDS
from arcbandit.service.sqlite_store import SQLiteReader, SQLiteStore
from arcbandit.service.store import RewardDraft
from arcbandit.service.stores import open_reader
from arcbandit.service.tidying import AT_A_TIME, LEAST_DAYS, Tidied, tidied
from tests.service.processes import Process, made_store
from tests.service.served import serving
from tests.service.test_crashes import CLIENTS, Caller, check_nothing_is_lost


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def store(request, tmp_path):
    """The address of a store that nobody has used, and what opens it."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db"), SQLiteStore
    return request.getfixturevalue("postgres_server").new_store(), PostgresStore


def test_only_old_plans_that_no_decision_names_are_forgotten(store):
    """Not the one in force, however old; not one that was replaced lately; not one that was drawn from."""
    address, opened = store
    clock = VirtualClock()

    async def play():
        kept = opened(address, clocks=clock.clocks())
        films, _ = await kept.create_campaign("films", CampaignSettings(), POLICY)
        songs, _ = await kept.create_campaign("songs", CampaignSettings(), POLICY)
        for version in range(2, 7):
            clock.wait(10 * DAY)
            await kept.publish_plan(films.id, _plan(version, 1))
            if version == 3:
                await kept.record_decision(draft(films, request_id="old")._replace(plan_version=3))
        clock.wait(DAY)
        made, _ = await kept.record_decision(draft(films, request_id="new")._replace(plan_version=6))
        await kept.record_rewards(films.id, [RewardDraft(made.sequence, 5)])
        before = await kept.statistics(films.id)
        # Plan 1 was replaced 41 days ago, 2 for 31, 4 for 11: of what is over, decisions name 3.
        assert tidied(address, 30) == Tidied(plans=2, plans_left=5, requests=1)
        assert tidied(address, 30) == Tidied(0, 5, 0)
        found = [version for version in range(1, 8) if await kept.plan(films.id, version) is not None]
        assert found == [3, 4, 5, 6]
        assert await kept.statistics(films.id) == before
        assert await kept.plan(songs.id, 1) is not None
        assert tidied(address, 8) == Tidied(1, 4, 0)
        assert await kept.plan(films.id, 5) is not None  # replaced yesterday
        assert (await kept.record_decision(draft(films, request_id="new")._replace(plan_version=6)))[1]
        await kept.publish_plan(films.id, _plan(7, 1))
        assert len(await kept.load()) == 2
        await kept.close()
        reader = open_reader(address)
        assert all(reader.plan(films.id, one.decision.plan_version) for one in reader.decisions(films.id))
        reader.close()

    asyncio.run(play())


def test_many_plans_are_forgotten_some_at_a_time(tmp_path):
    address = str(tmp_path / "store.db")
    clock = VirtualClock()
    many = 2 * AT_A_TIME + 10

    async def play():
        kept = SQLiteStore(address, clocks=clock.clocks())
        films, _ = await kept.create_campaign("films", CampaignSettings(), POLICY)
        for version in range(2, many + 1):
            await kept.publish_plan(films.id, _plan(version, 1))
        clock.wait(31 * DAY)
        await kept.publish_plan(films.id, _plan(many + 1, 1))
        await kept.close()

    asyncio.run(play())
    # The last but one was replaced a moment ago.
    assert tidied(address, 30) == Tidied(many - 1, 2, 0)


def test_a_clock_that_is_wrong_forgets_nothing(tmp_path):
    """Age is measured by what is in the store: on a machine whose clock is years ahead, plans are not older."""
    address = str(tmp_path / "store.db")
    clock = VirtualClock()  # of years ago

    async def play():
        kept = SQLiteStore(address, clocks=clock.clocks())
        films, _ = await kept.create_campaign("films", CampaignSettings(), POLICY)
        await kept.publish_plan(films.id, _plan(2, 1))
        await kept.close()

    asyncio.run(play())
    assert tidied(address, LEAST_DAYS) == Tidied(0, 2, 0)


@pytest.mark.parametrize("days", [0, 7.9, -30, float("nan"), float("inf"), "30"])
def test_too_few_days_are_refused(tmp_path, days):
    with pytest.raises(InvalidInputError, match="days must be"):
        tidied(str(tmp_path / "store.db"), days)


def test_a_store_that_is_not_there_is_refused(tmp_path, capsys):
    path = tmp_path / "store.db"
    with pytest.raises(StoreError, match="no such store"):
        tidied(str(path), 30)
    assert main(["tidy", "--store", str(path)]) == 1
    assert "no such store" in capsys.readouterr().err
    assert not path.exists()


def test_decisions_from_a_plan_that_may_be_forgotten_are_not_taken(tmp_path):
    """Until then they are: the plan that a client held when the service went away is a week old at most."""
    clock = VirtualClock()

    async def play():
        async with serving(tmp_path, clocks=clock.clocks()) as served:
            films = served.service.campaign("films").record
            body = {"request_id": "a", "context": "tv", "arm": "house", "probability": 0.5, "plan_version": 1}
            body |= {"uniform": 0.25}

            async def report(name):
                asked = {"decisions": [body | {"request_id": name}]}
                (result,) = (await served.post("/v1/campaigns/films/decisions", asked)).json()["results"]
                return result

            clock.wait(100 * DAY)
            assert (await report("a"))["status"] == 200  # it is in force, however old
            await served.store.publish_plan(films.id, _plan(2, 1))
            await served.service.load()
            clock.wait(REPORT_SECONDS - 1)
            assert (await report("b"))["status"] == 200
            clock.wait(2)
            late = await report("c")
            assert (late["status"], late["error"]["code"], late["error"]["field"]) == (410, "gone", "plan_version")
            for unknown in (3, 10**17):
                body["plan_version"] = unknown
                assert (await report(f"u{unknown}"))["status"] == 404

    asyncio.run(play())


@pytest.mark.slow
def test_the_service_goes_on_meanwhile(tmp_path, capsys):
    """Every answer holds while plans are forgotten beside it; the command says how many."""
    clock = VirtualClock()
    path = made_store(tmp_path, clocks=clock.clocks())
    many = 300

    async def age():
        kept = SQLiteStore(path, clocks=clock.clocks())
        ((films, _),) = await kept.load()
        for version in range(2, many + 1):
            await kept.publish_plan(films.id, _plan(version, 1))
        await kept.close()

    asyncio.run(age())
    callers = [Caller(number, seed=4) for number in range(CLIENTS)]
    server = Process(path)  # whose clock is that of today, years later

    async def load():
        calls = [asyncio.ensure_future(caller.call(server.port)) for caller in callers]
        await asyncio.sleep(0.5)
        found = await asyncio.to_thread(main, ["tidy", "--store", path])
        await asyncio.sleep(0.3)
        server.kill()
        await asyncio.gather(*calls)
        return found

    try:
        assert asyncio.run(load()) == 0
    finally:
        server.kill()
    assert f"Forgot {many - 1} plans and 0 request ids; 1 plans are left." in capsys.readouterr().out
    reader = SQLiteReader(path)
    assert audited(reader).holds
    reader.close()
    acknowledged, _ = check_nothing_is_lost(path, callers)
    assert acknowledged > 100
