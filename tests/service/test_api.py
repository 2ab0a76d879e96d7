"""The HTTP API, request by request."""

import asyncio
import json
import math
from pathlib import Path

import pytest

from arcbandit import BLP
from arcbandit.service.amounts import PairTotals
from arcbandit.service.audit import audited
from arcbandit.service.http_app import Limits
from arcbandit.service.openapi import document
from tests.service.hostile import hostile_bodies
from tests.service.served import ALL, FILMS, serving

DECIDE, REWARDS = "/v1/campaigns/films/decide", "/v1/campaigns/films/rewards"


def played(play):
    """Run a test in an event loop of its own."""
    return asyncio.run(play())


def is_error(response, status, code):
    """Whether an answer is an error of the one shape."""
    body = response.json()
    assert set(body) == {"error"}
    assert {"code", "message"} <= set(body["error"]) <= {"code", "message", "field"}
    assert (response.status_code, body["error"]["code"]) == (status, code), body
    return True


def test_a_decision_is_answered_and_its_reward_counted(tmp_path):
    """The way of every impression."""

    async def play():
        async with serving(tmp_path, uniform=lambda: 0.75) as served:
            made = await served.decide()
            assert made == {
                "decision_id": made["decision_id"],
                "arm": "guest",
                "probability": 0.5,
                "plan_version": 1,
                "how": "starting",
                "repeated": False,
            }
            answer = await served.reward(made["decision_id"], 0.5)
            assert answer.json() == {"decision_id": made["decision_id"], "outcome": "counted"}
            assert await served.totals() == {(1, 1): PairTotals(1, 1, 500_000, 250_000_000_000)}
            statistics = (await served.get("/v1/campaigns/films/statistics")).json()
            assert (statistics["decisions"], statistics["rewards"], statistics["revenue"]) == (1, 1, 0.5)

    played(play)


def test_rewards_are_judged(tmp_path):
    """Same value again: as before. Another: 409. Unknown or forged: 404. Out of bounds: 422. Each is counted."""

    async def play():
        async with serving(tmp_path) as served:
            one = (await served.decide())["decision_id"]
            await served.reward(one, 0.5)
            assert (await served.reward(one, 0.5)).json()["outcome"] == "repeated"
            assert is_error(await served.reward(one, 0.25), 409, "conflict")
            forged = ("B" if one[-5] == "A" else "A").join((one[:-5], one[-4:]))
            for unknown in (forged, "x", "A" * 22, one + "=", one[:-1], one.swapcase()):
                assert is_error(await served.reward(unknown, 0.5), 404, "unknown_decision")
            assert is_error(await served.reward(one, 1.5), 422, "invalid")
            assert is_error(
                await served.post("/v1/campaigns/x/rewards", {"decision_id": one, "reward": 0.5}),
                404,
                "unknown_campaign",
            )
            two = (await served.decide())["decision_id"]
            batch = [(two, 0.25), (two, 0.25), (two, 0.5), ("x", 0.5)]
            body = {"rewards": [{"decision_id": key, "reward": reward} for key, reward in batch]}
            found = (await served.post(REWARDS, body)).json()["results"]
            assert [one["status"] for one in found] == [200, 200, 409, 404]
            assert [one.get("outcome") for one in found] == ["counted", "repeated", None, None]
            # One that is out of bounds refuses the whole request: nothing of it counts.
            three = (await served.decide())["decision_id"]
            body = {"rewards": [{"decision_id": three, "reward": 0.5}, {"decision_id": three, "reward": -1}]}
            refusal = await served.post(REWARDS, body)
            assert is_error(refusal, 422, "invalid")
            assert refusal.json()["error"]["field"] == "rewards[1].reward"
            assert sum(pair.rewards for pair in (await served.totals()).values()) == 2
            counts = served.service.counts
            assert (counts["rewards_conflict"], counts["rewards_unknown"], counts["rewards_repeated"]) == (2, 7, 2)

    played(play)


def test_a_retried_request_gets_its_decision(tmp_path):
    """Many at once, and with another question a refusal."""

    async def play():
        async with serving(tmp_path) as served:
            answers = await asyncio.gather(*(served.decide(request_id="a") for _ in range(20)))
            assert len({one["decision_id"] for one in answers}) == 1
            assert sorted(one["repeated"] for one in answers) == [False] + [True] * 19
            assert is_error(await served.post(DECIDE, {"context": "phone", "request_id": "a"}), 422, "request_id_used")
            other = {"context": "tv", "request_id": "a", "excluded_arms": ["guest"]}
            assert is_error(await served.post(DECIDE, other), 422, "request_id_used")
            assert sum(pair.decisions for pair in (await served.totals()).values()) == 1

    played(play)


def test_arms_can_be_excluded(tmp_path):
    """The rest shares what they leave, and the probability says so."""

    async def play():
        async with serving(tmp_path) as served:
            made = [await served.decide(excluded_arms=["guest"]) for _ in range(5)]
            assert {(one["arm"], one["probability"]) for one in made} == {("house", 1.0)}
            reader = served.store.reader()
            assert audited(reader) == (1, 5, 0, ())
            reader.close()
            every = {"context": "tv", "excluded_arms": ["guest", "house"]}
            assert is_error(await served.post(DECIDE, every), 422, "invalid")
            assert is_error(await served.post(DECIDE, {"context": "tv", "excluded_arms": ["nobody"]}), 422, "invalid")
            assert is_error(await served.post(DECIDE, {"context": "radio"}), 404, "unknown_context")

    played(play)


def test_contexts_nobody_announced_are_admitted_up_to_a_cap(tmp_path):
    """However many come at once."""

    async def play():
        async with serving(tmp_path, campaign=FILMS | {"admit_contexts": 2}) as served:
            names = [f"new {number}" for number in range(3)]
            answers = await asyncio.gather(*(served.post(DECIDE, {"context": name}) for name in names * 4))
            assert sorted(one.status_code for one in answers) == [200] * 8 + [404] * 4
            campaign = (await served.get("/v1/campaigns/films")).json()
            assert len(campaign["contexts"]) == 4
            assert campaign["revision"] == 3

    played(play)


def test_a_campaign_changes_while_it_serves(tmp_path):
    """Each change is in force with its answer; one that is refused changes nothing."""

    async def play():
        async with serving(tmp_path) as served:
            changes = "/v1/campaigns/films/changes"
            for change in (
                {"change": "set_floor", "name": "guest", "floor": 0.3},
                {"change": "add_arm", "name": "new", "floor": 0.1},
                {"change": "retire_arm", "name": "house"},
                {"change": "add_context", "name": "radio"},
                {"change": "add_group", "name": "partners", "arms": ["guest", "new"], "floor": 0.2},
            ):
                answer = await served.post(changes, change)
                assert answer.status_code == 200, answer.text
            campaign = answer.json()
            assert campaign["revision"] == 6
            assert campaign["retired_arms"] == ["house"]
            assert [floor["floor"] for floor in campaign["floors"]] == [0.0, 0.3, 0.1, 0.2]
            shown = {(await served.decide(context))["arm"] for context in ("tv", "radio") * 20}
            assert shown <= {"guest", "new"}
            before = (await served.get("/v1/campaigns/films")).json()
            for change, status in (
                ({"change": "set_floor", "name": "nobody", "floor": 0.3}, 422),
                ({"change": "set_floor", "name": "guest", "floor": -1}, 422),
                ({"change": "explode"}, 422),
                ({"change": "retire_arm"}, 422),
                ({"change": "retire_arm", "name": "guest", "more": 1}, 422),
            ):
                assert (await served.post(changes, change)).status_code == status
            stale = await served.post(f"{changes}?expected_revision=1", {"change": "retire_arm", "name": "new"})
            assert is_error(stale, 409, "stale")
            assert (await served.get("/v1/campaigns/films")).json() == before

    played(play)


@pytest.mark.parametrize(
    "wrong",
    [
        {"floors": {"a": -1.0}},
        {"floors": {}},
        {"contexts": []},
        {"contexts": {"x": 0.5, "y": 0.4}},
        {"policy": "nothing"},
        {"policy": "blp", "dials": {"optimism": 3}},
        {"reward_bounds": [1, 0]},
        {"noise_scale": "guess"},
        {"default_reward": 0.5},
        {"default_reward": 7.0, "reward_window_seconds": 60.0},
        {"name": "../../etc/passwd"},
        {"name": ""},
        {"name": "films\n"},
        {"replan_after_rewards": 10**30},
        {"known_after": 10**30},
        {"dials": {"contexts": "tv"}},
        {"dials": {"group_floors": 1.0}},
        {"dials": {"revenue_floors": 1.0}},
        {"dials": {"admit_contexts": 5}},
        {"dials": {"replan": 5}},
        {"dials": {"seed": 1}},
        {"retention_seconds": 0},
        {"exploration_budget": 2.0},
        {"instance": {}},
        {"floors": None, "contexts": None, "instance": {"mean_rewards": 10**30}},
        {"horizon": -(10**30)},
        {"group_floors": [{"name": "g", "arms": ["nobody"], "floor": 0.1}]},
    ],
    ids=str,
)
def test_a_campaign_that_breaks_a_rule_is_refused(tmp_path, wrong):
    """And is not there afterwards."""

    async def play():
        async with serving(tmp_path, campaign=None) as served:
            answer = await served.post("/v1/campaigns", FILMS | wrong)
            assert is_error(answer, 422, "invalid")
            assert (await served.get("/v1/campaigns")).json() == {"campaigns": []}

    played(play)


def test_a_policy_with_a_guarantee_is_refused(tmp_path):
    """Nothing is proven of plans that stand."""
    held = BLP({"house": 0.2, "guest": 0.1}, {"phone": 0.5, "tv": 0.5}, reward_bounds=(0, 1), guarantee=True)

    async def play():
        async with serving(tmp_path, campaign=None) as served:
            answer = await served.post("/v1/campaigns", {"name": "films", "snapshot": held.snapshot()})
            assert is_error(answer, 422, "invalid")
            assert "without guarantee" in answer.json()["error"]["message"]

    played(play)


def test_a_campaign_says_how_its_rule_is_set(tmp_path):
    """Whoever must keep promises can see by which weight they are kept."""

    async def play():
        async with serving(tmp_path, campaign=None) as served:
            told = {"policy": "priced-lp", "dials": {"violation_weight": 10}, "noise_scale": "estimate"}
            made = (await served.post("/v1/campaigns", FILMS | {"reward_bounds": [0, 1]} | told)).json()
            assert made["dials"]["violation_weight"] == 10
            assert made["dials"]["exploration"] == pytest.approx(0.5**0.5)
            assert made["noise_scale"] == "estimate"
            assert (await served.get("/v1/campaigns/films")).json()["dials"] == made["dials"]

    played(play)


def test_a_name_is_taken_once(tmp_path):
    """Also if two ask for it at once."""

    async def play():
        async with serving(tmp_path, campaign=None) as served:
            answers = await asyncio.gather(*(served.post("/v1/campaigns", FILMS) for _ in range(3)))
            assert sorted(one.status_code for one in answers) == [201, 409, 409]

    played(play)


@pytest.mark.slow
def test_who_may_do_what(tmp_path):
    """No token 401, wrong scope 403, on every path that is not open; tokens are never in the store."""

    async def play():
        async with serving(tmp_path, tokens=True) as served:
            headers = {scope: served.token(scope, scope) for scope in ALL}
            await served.service.load_tokens()
            wanted = [
                (path, method, operation["description"].rpartition(" ")[2].rstrip("."))
                for path, operations in document()["paths"].items()
                for method, operation in operations.items()
            ]
            assert {scope for _, _, scope in wanted} == {*ALL, "token"}  # "Needs no token."
            for path, method, scope in wanted:
                url = path.format(name="films", version=1)
                answer = await served.client.request(method, url)
                if scope == "token":
                    assert answer.status_code == 200
                    continue
                assert is_error(answer, 401, "unauthorized")
                assert answer.headers["www-authenticate"] == "Bearer"
                for made_up in ("Bearer nothing", "Bearer ", "Basic abc", "bearer\t", "Bearer " + "x" * 10_000):
                    answer = await served.client.request(method, url, headers={"authorization": made_up})
                    assert is_error(answer, 401, "unauthorized")
                for other in ALL:
                    answer = await served.client.request(method, url, headers=headers[other], content=b"{}")
                    assert (answer.status_code == 403) == (other != scope), (path, other)
            secret = headers["admin"]["authorization"].removeprefix("Bearer ").encode()
            assert not any(secret in file.read_bytes() for file in tmp_path.iterdir())

    played(play)


def test_too_much_at_once_is_turned_away_before_any_work(tmp_path):
    """With 503 and Retry-After; rewards have room when decisions have none."""

    async def play():
        limits = Limits(at_once=4, decides_at_once=2, by_token=4)
        async with serving(tmp_path, limits=limits) as served:
            answers = await asyncio.gather(*(served.post(DECIDE, {"context": "tv"}) for _ in range(20)))
            codes = [one.status_code for one in answers]
            assert codes.count(200) >= 2
            assert set(codes) == {200, 503}
            for one in answers:
                if one.status_code == 503:
                    assert is_error(one, 503, "overloaded")
                    assert one.headers["retry-after"] == "1"
            assert sum(pair.decisions for pair in (await served.totals()).values()) == codes.count(200)
            one = await served.decide()
            both = await asyncio.gather(
                *(served.post(DECIDE, {"context": "tv"}) for _ in range(2)), served.reward(one["decision_id"], 0.5)
            )
            assert both[-1].status_code == 200

    played(play)


@pytest.mark.slow
def test_hostile_bodies_are_refused_and_change_nothing(tmp_path):
    """In every field of every request: an error of the one shape, never 500, and the state as before."""

    async def play():
        async with serving(tmp_path) as served:
            one = (await served.decide())["decision_id"]
            await served.reward(one, 0.5)
            before = await served.totals(), (await served.get("/v1/campaigns/films")).json()
            bodies = hostile_bodies()
            accepted = 0
            for path, body in bodies:
                answer = await served.post(path, body)
                # A few are fine: an emoji as a request id, a name that looks like SQL, or null for what is optional.
                if answer.status_code in (200, 201):
                    accepted += 1
                    assert b"1e999" not in body
                    assert b"NaN" not in body
                    assert b"Infinity" not in body
                    continue
                assert answer.status_code in (400, 404, 409, 413, 422), (path, body[:80], answer.text)
                assert is_error(answer, answer.status_code, answer.json()["error"]["code"])
            assert accepted < len(bodies) / 4
            print(f"{len(bodies)} hostile bodies, {accepted} of them harmless")
            # Decisions that were made are the only thing that is new.
            after = await served.totals(), (await served.get("/v1/campaigns/films")).json()
            assert {pair: totals[1:] for pair, totals in after[0].items() if totals.rewards} == {
                pair: totals[1:] for pair, totals in before[0].items() if totals.rewards
            }
            assert after[1]["arms"] == before[1]["arms"]
            for pair in after[0].values():
                assert all(math.isfinite(number) for number in pair)
            assert (await served.reward(one, 0.5)).json()["outcome"] == "repeated"

    played(play)


def test_the_document_that_is_checked_in_is_the_one_that_is_served(tmp_path):
    """docs/openapi.json is written by `python -m docs.generate_openapi`."""
    written = json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text())

    async def play():
        async with serving(tmp_path, campaign=None) as served:
            return (await served.get("/v1/openapi.json")).json()

    assert played(play) == written


def test_health_readiness_and_metrics(tmp_path):
    """What an orchestrator and a monitor ask."""

    async def play():
        async with serving(tmp_path) as served:
            await served.decide()
            assert (await served.get("/healthz")).json() == {"alive": True}
            assert (await served.get("/readyz")).json() == {"ready": True, "reasons": [], "warnings": []}
            text = (await served.get("/metrics")).text
            assert 'arcbandit_events_total{event="decisions"} 1.0' in text
            assert 'arcbandit_plan_version{campaign="films"} 1.0' in text
            for path, method in (("/nothing", "GET"), ("/v1/campaigns/films/decide", "GET"), ("/healthz", "DELETE")):
                answer = await served.client.request(method, path)
                assert is_error(answer, answer.status_code, answer.json()["error"]["code"])

    played(play)


def test_a_full_disk_is_told_and_recovers_by_itself(tmp_path):
    """503 with Retry-After, not ready, nothing stored; upkeep finds out when there is room again."""

    async def play():
        async with serving(tmp_path) as served:
            connection = served.store._transactions._connection
            connection.pragma("max_page_count", connection.pragma("page_count"))
            long_id = "x" * 180
            answers = []
            while not answers or answers[-1].status_code == 200:
                body = {"context": "tv", "request_id": f"{len(answers)} {long_id}"}
                answers.append(await served.post(DECIDE, body))
                assert len(answers) < 1000
            assert is_error(answers[-1], 503, "store_full")
            assert answers[-1].headers["retry-after"] == "1"
            assert (await served.get("/readyz")).status_code == 503
            assert sum(pair.decisions for pair in (await served.totals()).values()) == len(answers) - 1
            connection.pragma("max_page_count", 10**6)
            await served.store.touch()
            assert (await served.get("/readyz")).status_code == 200
            assert (await served.decide())["repeated"] is False

    played(play)


def test_a_failure_of_our_own_has_the_one_shape(tmp_path, monkeypatch):
    """And tells nobody what went wrong inside."""

    async def play():
        async with serving(tmp_path) as served:
            for name in ("decide", "campaign"):
                monkeypatch.setattr(served.service, name, lambda *_: 1 / 0)
            assert is_error(await served.post(DECIDE, {"context": "tv"}), 500, "failure")
            answer = await served.get("/v1/campaigns/films")
            assert is_error(answer, 500, "failure")
            assert "zero" not in answer.text

    played(play)
