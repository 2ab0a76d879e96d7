"""Decisions made where the traffic is: the same draws and the same log, and nothing is reported twice or forgotten."""

import threading
import time
from collections import deque

import pytest

from arcbandit.client import Client, LocalDecider, LocalDecision, Retries
from arcbandit.client.local import LocalPlan
from arcbandit.errors import InvalidInputError, ServiceUnavailableError, UnknownNameError
from arcbandit.service.audit import audited
from arcbandit.service.sqlite_store import SQLiteReader
from tests.client.plans import PLAN
from tests.patience import PATIENCE
from tests.service.processes import Process, made_store

QUICK = Retries(tries=3, pause=0.02)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return made_store(tmp_path_factory.mktemp("local"))


@pytest.fixture(scope="module")
def server(path):
    """A server that several tests share: what one finds there is more than it told."""
    made = Process(path)
    yield made
    assert made.terminate() == 0


def counted(client):
    """How many decisions and rewards the service has."""
    found = client.statistics("films")
    return found.decisions, found.rewards


def client_of(server):
    return Client(f"http://127.0.0.1:{server.port}", retries=QUICK)


def quiet(client, **others):
    """A decider whose thread does nothing, so that a test says when it reports."""
    return LocalDecider(client, "films", refresh_seconds=1e6, report_seconds=1e6, **others)


@pytest.mark.slow
def test_local_decisions_are_logged_as_the_services_are(server, path):
    """With arm, probability, plan and uniform number, to the last bit; an audit draws them again."""
    with client_of(server) as client:
        before = counted(client)
        with LocalDecider(client, "films", report_seconds=0.05) as decider:
            made = [decider.decide(["tv", "phone"][number % 2]) for number in range(2500)]
            for decision in made[:1500]:
                decider.reward(decision, 0.5)
            made.append(decider.decide("tv", excluded_arms=["house"]))
            assert made[-1].arm == "guest"
        assert decider.waiting == 0
        assert not decider.refused
        log = {row["decision_id"]: row for row in client.decisions("films")}
        after = counted(client)
    assert (after[0] - before[0], after[1] - before[1]) == (len(made), 1500)
    for decision in made:
        row = log[decision.decision_id]
        for field in ("context", "arm", "probability", "plan_version", "uniform"):
            assert row[field] == getattr(decision, field)
    reader = SQLiteReader(path)
    audit = audited(reader)
    reader.close()
    assert audit.holds, audit.differences
    assert (audit.decisions, audit.rewards) == after


@pytest.mark.slow
def test_a_service_that_is_away_is_told_later(tmp_path):
    """Nothing is lost, and what it had taken before it went is not taken twice."""
    path = made_store(tmp_path)
    server = Process(path)
    with client_of(server) as client:
        decider = quiet(client, most_waiting=30)
        before = [decider.decide("tv") for _ in range(10)]
        for decision in before:
            decider.reward(decision, 1.0)
        decider.flush()
        more = [decider.decide("tv") for _ in range(10)]
        bodies = [decision.body() for decision in more]
        assert all(result.status == 200 for result in client.report("films", bodies))  # the answer of which was lost
        server.kill()
        with pytest.raises(ServiceUnavailableError):
            decider.flush()
        assert decider.waiting == 10
        for decision in more:
            decider.reward(decision, 1.0)
        kept = [decider.decide("phone") for _ in range(10)]
        with pytest.raises(ServiceUnavailableError):
            decider.decide("phone")  # there is no room to remember one more
    again = Process(path)
    with client_of(again) as client:
        decider._client = client
        decider.close()
        assert decider.waiting == 0
        assert {row["decision_id"] for row in client.decisions("films")} == {
            decision.decision_id for decision in (*before, *more, *kept)
        }
        assert client.statistics("films").rewards == 20
    assert again.terminate() == 0


def test_what_the_plan_does_not_draw_is_refused(server):
    """Another arm, another probability, a plan or a context that there is not; the others of the batch are taken."""
    with client_of(server) as client, quiet(client) as decider:
        before = counted(client)
        bodies = [decider.decide("tv").body() for _ in range(7)]
        other = {"house": "guest", "guest": "house"}
        bodies[1]["arm"] = other[bodies[1]["arm"]]
        bodies[2]["probability"] = 0.25
        bodies[3]["plan_version"] = 10**18
        bodies[4]["context"] = "radio"
        bodies[5]["excluded_arms"] = ["nobody"]
        bodies[6] |= {"request_id": bodies[0]["request_id"], "uniform": (bodies[0]["uniform"] + 0.25) % 0.5}
        results = client.report("films", bodies)
        assert [result.status for result in results[:6]] == [200, 422, 422, 404, 404, 422]
        assert results[6].status in (409, 422)
        assert all((result.error is None) == (result.status == 200) for result in results)
        (again,) = client.report("films", bodies[:1])
        assert (again.decision_id, again.repeated) == (results[0].decision_id, True)
        assert counted(client)[0] == before[0] + 1
        decider._waiting.clear()


def test_a_request_id_of_the_service_is_not_taken_for_another_decision(server):
    """A service's decision and a local one of the same id: the first stands."""
    with client_of(server) as client, quiet(client) as decider:
        before = counted(client)
        local = decider.decide("tv")
        client.decide("films", "tv", request_id=local.request_id)
        decider.reward(local, 0.5)
        decider.flush()
        ((refused, reason),) = decider.refused
        assert refused is local
        assert "stands" in reason
        assert local.is_refused
        assert decider.waiting == 0
        assert counted(client) == (before[0] + 1, before[1])


def test_a_reward_out_of_bounds_does_not_hold_up_the_others(server):
    """It is refused by itself; a second reward of a decision, too."""
    with client_of(server) as client, quiet(client) as decider:
        before = counted(client)
        made = [decider.decide("tv") for _ in range(5)]
        for number, decision in enumerate(made):
            decider.reward(decision, 7.0 if number == 2 else 0.5)
        decider.reward(made[0], 0.75)
        decider.flush()
        assert {decision for decision, _ in decider.refused} == {made[2], made[0]}
        assert len(decider.refused) == 2
        assert counted(client) == (before[0] + 5, before[1] + 4)


def test_threads_share_a_decider(server):
    """Every decision of every thread is reported once."""
    with client_of(server) as client:
        before = counted(client)
        with LocalDecider(client, "films", report_seconds=0.01) as decider:
            made = [[] for _ in range(4)]

            def work(mine):
                for _ in range(100):
                    mine.append(decider.decide("tv"))
                    decider.reward(mine[-1], 0.25)

            threads = [threading.Thread(target=work, args=(mine,), daemon=True) for mine in made]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE)
            assert not any(thread.is_alive() for thread in threads)
        assert counted(client) == (before[0] + 400, before[1] + 400)
    assert len({decision.decision_id for mine in made for decision in mine}) == 400


def test_a_new_plan_is_drawn_from(server, monkeypatch):
    """Within the time that it was told."""
    with client_of(server) as client:
        plan = client.plan("films")

        class Newer:
            def __getattr__(self, name):
                return 99 if name == "version" else getattr(plan, name)

        with LocalDecider(client, "films", refresh_seconds=0.05, report_seconds=0.02) as decider:
            monkeypatch.setattr(client, "plan", lambda campaign: Newer())
            end = time.monotonic() + 5
            while decider.plan_version != 99 and time.monotonic() < end:
                time.sleep(0.01)
            assert decider.plan_version == 99


@pytest.mark.parametrize(
    ("wrong", "kind", "match"),
    [
        (lambda decider: decider.decide("radio"), UnknownNameError, "context must be"),
        (lambda decider: decider.decide(3), UnknownNameError, "context must be"),
        (lambda decider: decider.decide("tv", excluded_arms=["nobody"]), UnknownNameError, "excluded_arms must name"),
        (
            lambda decider: decider.decide("tv", excluded_arms=["house", "guest"]),
            InvalidInputError,
            "must leave an arm",
        ),
        (lambda decider: decider.decide("tv", excluded_arms=7), InvalidInputError, "excluded_arms"),
        (lambda decider: decider.reward("x", 1.0), InvalidInputError, "decision must be"),
        (lambda decider: decider.reward(decider.decide("tv"), float("inf")), InvalidInputError, "reward must be"),
    ],
)
def test_what_cannot_be_right_is_refused(wrong, kind, match):
    """Before anything is noted."""
    decider = object.__new__(LocalDecider)
    decider._plan = LocalPlan(PLAN)
    decider._waiting, decider._rewards = deque(), deque()
    decider._closed, decider._most_waiting, decider._uniform = False, 10, lambda: 0.5
    with pytest.raises(kind, match=match):
        wrong(decider)
    assert not decider._rewards
    assert len(decider._waiting) <= 1


def test_a_decision_shows_itself():
    decision = LocalDecision("tv", "house", 0.25, 3, 0.5, ())
    assert repr(decision) == "<LocalDecision: house in tv, probability 0.25>"
