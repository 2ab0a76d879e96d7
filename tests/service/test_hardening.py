"""What a hostile or unlucky client may try: each leaves the service as it was, and says why."""

import asyncio
from types import SimpleNamespace

import pytest
from uvicorn.protocols.http.flow_control import FlowControl

from arcbandit.service.deadlines import LEAST_TAKEN, SEND_SECONDS, DeadlineProtocol
from arcbandit.service.http_app import Limits
from arcbandit.service.service import MOST_ADMITTING
from tests.service.served import ALL, FILMS, serving

DECIDE = "/v1/campaigns/films/decide"


def played(play):
    """Run a test in an event loop of its own."""
    return asyncio.run(play())


@pytest.mark.parametrize(
    ("bounds", "kept"),
    [((0.1234564, 2 / 3), (0.123456, 0.666667)), ((-2 / 3, 4e-7), (-0.666667, 1e-6)), ((0.1, 0.3), (0.1, 0.3))],
    ids=str,
)
def test_rewards_at_their_bounds_are_planned_with(tmp_path, bounds, kept):
    """Rewards are kept in millionths: one that is rounded is still within the bounds of the policy."""

    async def play():
        campaign = FILMS | {"reward_bounds": bounds, "floors": {"house": 0.0, "guest": 0.0}}
        async with serving(tmp_path, campaign=campaign) as served:
            for other, reward in zip(("house", "guest"), bounds, strict=True):
                made = await served.decide(excluded_arms=[other])
                assert (await served.reward(made["decision_id"], reward)).status_code == 200
            status = await served.get("/v1/campaigns/films/status")
            assert status.status_code == 200, status.text
            assert served.service.campaign("films").reward_bounds == kept

    played(play)


def test_who_never_reads_holds_no_room(tmp_path):
    """An answer that nobody takes counts as much as none, with a token or without."""

    async def play():
        async with serving(tmp_path, tokens=True, limits=Limits(others_at_once=2)) as served:
            may = served.token("all", *ALL)
            await served.service.load_tokens()
            never = asyncio.Event()

            async def receive():
                return {"type": "http.request", "body": b"", "more_body": False}

            async def send(message):
                await never.wait()

            paths = ["/v1/openapi.json", "/v1/campaigns", "/", "/nowhere"] * 2
            scopes = [scope_of(path) for path in paths]
            stuck = [asyncio.ensure_future(served.app(scope, receive, send)) for scope in scopes]
            await asyncio.sleep(0.05)
            assert (await served.get("/v1/campaigns", headers=may)).status_code == 200
            assert (await served.get("/v1/openapi.json")).status_code == 200
            assert not any(task.done() for task in stuck)
            for task in stuck:
                task.cancel()
            await asyncio.gather(*stuck, return_exceptions=True)
            assert served.app._others_at_once == 0

    played(play)


def scope_of(path, *headers):
    """What an ASGI server tells of a request."""
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": list(headers),
    }


class Transport:
    """A connection whose client takes what a test says."""

    def __init__(self, size):
        self.size = size
        self.is_aborted = False

    def get_write_buffer_size(self):
        return self.size

    def abort(self):
        self.is_aborted = True


@pytest.mark.parametrize(
    ("taken", "is_cut"), [(0, True), (1000, True), (LEAST_TAKEN, False)], ids=["nothing", "a little", "enough"]
)
def test_who_does_not_take_an_answer_is_cut_off(taken, is_cut):
    """By the deadline, and not before; whoever reads has as long as it takes."""
    connection = DeadlineProtocol.__new__(DeadlineProtocol)
    connection.loop = SimpleNamespace(time=lambda: 100.0)
    connection.transport = Transport(1_000_000)
    connection.flow = FlowControl(connection.transport)
    connection.pause_writing()
    assert not connection.is_too_slow(100.0 + SEND_SECONDS)
    connection.transport.size -= taken
    assert connection.is_too_slow(100.1 + SEND_SECONDS) == is_cut
    if not is_cut:
        assert connection.is_too_slow(100.3 + 2 * SEND_SECONDS)
    connection.resume_writing()
    assert not connection.is_too_slow(200.0)


def test_no_answer_sends_callers_elsewhere(tmp_path):
    """A slash too many is another path, which is not there."""

    async def play():
        async with serving(tmp_path) as served:
            for path in ("/v1/campaigns/", "/v1/campaigns/films/", "/healthz/"):
                assert (await served.get(path)).status_code == 404
            assert (await served.post("/v1/campaigns/films/decide/", {"context": "tv"})).status_code == 404

    played(play)


def test_a_retried_request_gets_its_decision_after_a_change(tmp_path):
    """Though the context is gone, or every arm that is left is excluded; with another question it is refused."""

    async def play():
        async with serving(tmp_path) as served:
            phone = await served.decide("phone", request_id="p")
            tv = await served.decide("tv", request_id="t", excluded_arms=["house"])
            for change in ({"change": "drop_context", "name": "phone"}, {"change": "retire_arm", "name": "guest"}):
                assert (await served.post("/v1/campaigns/films/changes", change)).status_code == 200
            before = await served.totals()
            assert await served.decide("phone", request_id="p") == phone | {"repeated": True}
            assert await served.decide("tv", request_id="t", excluded_arms=["house"]) == tv | {"repeated": True}
            for body, status in (
                ({"context": "phone"}, 404),
                ({"context": "phone", "request_id": "new"}, 404),
                ({"context": "radio", "request_id": "p"}, 404),
                ({"context": "phone", "request_id": "t"}, 422),
                ({"context": "tv", "request_id": "p", "excluded_arms": ["house"]}, 422),
                ({"context": "tv", "request_id": "new", "excluded_arms": ["house"]}, 422),
            ):
                assert (await served.post(DECIDE, body)).status_code == status, body
            assert await served.totals() == before
            assert served.service.counts["decisions_repeated"] == 2

    played(play)


def test_a_refused_decision_admits_no_context(tmp_path):
    """Neither an arm that is not there nor too many excluded ones use up the cap."""

    async def play():
        async with serving(tmp_path, campaign=FILMS | {"admit_contexts": 1}) as served:
            for excluded in (["nobody"], ["house", "guest"]):
                refused = await served.post(DECIDE, {"context": "radio", "excluded_arms": excluded})
                assert refused.status_code == 422
                assert refused.json()["error"]["field"].startswith("excluded_arms")
            assert served.service.campaign("films").contexts == ("phone", "tv")
            await served.decide("watch", excluded_arms=["house"])
            assert served.service.campaign("films").contexts == ("phone", "tv", "watch")

    played(play)


def test_contexts_to_admit_take_no_room_from_other_decisions(tmp_path):
    """While the process that answers is busy, a few wait for it and the rest come back later."""

    async def play():
        async with serving(tmp_path, campaign=FILMS | {"admit_contexts": 1000}) as served:
            busy = asyncio.Event()
            ask = served.service._answering.ask

            async def ask_later(question, timeout=None):
                await busy.wait()
                return await ask(question, timeout)

            served.service._answering.ask = ask_later
            asked = [served.post(DECIDE, {"context": f"new {number % 2}"}) for number in range(MOST_ADMITTING + 20)]
            waiting = [asyncio.ensure_future(one) for one in asked]
            done, _ = await asyncio.wait(waiting, timeout=0.3)
            assert len(done) == 20
            assert {one.result().status_code for one in done} == {503}
            await served.decide("tv")
            busy.set()
            answers = await asyncio.gather(*waiting)
            assert sorted({one.status_code for one in answers}) == [200, 503]
            assert served.service.campaign("films").record.admitted == 2
            await served.decide("new 2")

    played(play)
