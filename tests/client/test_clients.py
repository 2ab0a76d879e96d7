"""Clients against real services: retries make each decision once, and count each reward once."""

import asyncio
import inspect
import pickle
import random
import re
import subprocess
import sys
import time

import httpx
import pytest

from arcbandit.client import AsyncClient, Client, Retries
from arcbandit.client.calls import decide as decide_call
from arcbandit.client.retrying import Came, Lost, Send, exchange
from arcbandit.errors import InvalidInputError, ServiceError, ServiceUnavailableError
from tests.service.processes import ROOT, Process, made_store
from tests.service.served import FILMS, serving

QUICK = Retries(tries=8, pause=0.02)


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """A server without a planner, and its address."""
    server = Process(made_store(tmp_path_factory.mktemp("clients")))
    yield server
    server.terminate()


@pytest.fixture
def client(process):
    with Client(f"http://127.0.0.1:{process.port}", retries=QUICK) as made:
        yield made


def test_decisions_and_rewards(client):
    """What a client says and is told, over HTTP."""
    made = client.decide("films", "tv", request_id="one")
    assert client.decide("films", "tv", request_id="one").decision_id == made.decision_id
    assert made.arm in FILMS["floors"]
    assert client.decide("films", "tv", excluded_arms=["house"]).arm == "guest"
    assert client.reward("films", made.decision_id, 0.5).outcome == "counted"
    assert client.reward("films", made.decision_id, 0.5).outcome == "repeated"
    with pytest.raises(ServiceError, match="stands") as refusal:
        client.reward("films", made.decision_id, 0.25)
    assert (refusal.value.status, refusal.value.code) == (409, "conflict")
    two = [client.decide("films", "phone").decision_id for _ in range(2)]
    results = client.rewards("films", {two[0]: 0.5, two[1]: 1, "forged": 0.5})
    assert [(one.status, one.outcome) for one in results] == [(200, "counted"), (200, "counted"), (404, None)]
    assert client.rewards("films", {}) == []


def test_what_is_told(client):
    """Campaigns, plans, statistics and the log, as types."""
    assert [one.name for one in client.campaigns()] == ["films"]
    assert client.campaign("films").arms == ["house", "guest"]
    plan = client.plan("films")
    assert client.plan("films", plan.version).allocation == plan.allocation
    before = client.statistics("films").decisions
    made = client.decide("films", "tv")
    assert client.statistics("films").decisions == before + 1
    assert made.decision_id in {row["decision_id"] for row in client.decisions("films")}
    last = max(row["sequence"] for row in client.decisions("films"))
    assert list(client.decisions("films", after=last)) == []
    with pytest.raises(ServiceError, match="no campaign") as refusal:
        list(client.decisions("songs"))
    assert refusal.value.status == 404


class LosesAnswers(httpx.BaseTransport):
    """Lets requests through, and loses what comes back: the service has done it, and the client does not know."""

    def __init__(self, port, losses, between=lambda: None):
        self.port = port
        self.losses = losses
        self.between = between
        self.sent = []
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request):
        self.sent.append(request.read())
        address = httpx.Request(
            request.method, request.url.copy_with(port=self.port), headers=request.headers, content=self.sent[-1]
        )
        response = self._inner.handle_request(address)
        content = response.read()
        if self.losses:
            self.losses -= 1
            self.between()
            raise httpx.ReadError("lost on the way")
        return httpx.Response(response.status_code, headers=response.headers, content=content)

    def close(self):
        self._inner.close()


def test_a_lost_answer_is_asked_for_with_the_same_request_id(process):
    """Three times in a row; the log has one decision."""
    transport = LosesAnswers(process.port, 3)
    with Client("http://127.0.0.1", retries=QUICK, transport=transport) as client:
        made = client.decide("films", "tv")
        assert made.repeated
        assert len(transport.sent) == 4
        assert len(set(transport.sent)) == 1
        assert sum(row["decision_id"] == made.decision_id for row in client.decisions("films")) == 1
        transport.losses = 2
        assert client.reward("films", made.decision_id, 0.5).outcome == "repeated"


@pytest.mark.slow
def test_a_server_killed_between_commit_and_answer(tmp_path, cases):
    """It did decide, and did not say so: after a restart the client is told what was decided, once."""
    kills = cases(2, 20)
    path = made_store(tmp_path)
    servers = [Process(path)]

    def killed():
        servers[-1].kill()
        servers.append(Process(path))
        transport.port = servers[-1].port

    transport = LosesAnswers(servers[0].port, 0, killed)
    told = []
    with Client("http://127.0.0.1", retries=QUICK, transport=transport) as client:
        for number in range(kills):
            transport.losses = 1
            made = client.decide("films", "tv")
            assert made.repeated
            transport.losses = number % 2
            assert client.reward("films", made.decision_id, 0.25).outcome == ("repeated" if number % 2 else "counted")
            told.append(made.decision_id)
        rows = list(client.decisions("films"))
        found = client.statistics("films")
    assert servers[-1].terminate() == 0
    assert [row["decision_id"] for row in rows] == told
    assert (found.decisions, found.rewards, found.revenue) == (kills, kills, kills / 4)


def outcomes(call, *told, tries=4):
    """What a client does when it is told these one after the other: pauses, and how it ends."""
    steps = exchange(call, Retries(tries=tries, pause=1.0), random.Random(1))
    coming = iter(told)
    pauses, step = [], next(steps)
    try:
        while True:
            if isinstance(step, Send):
                step = steps.send(next(coming))
            else:
                pauses.append(step.seconds)
                step = next(steps)
    except StopIteration as end:
        return pauses, end.value
    except ServiceError as error:
        return pauses, error


BUSY = Came(503, {"retry-after": "3"}, b'{"error": {"code": "overloaded", "message": "Too much is asked at once."}}')
ANSWER = b'{"decision_id": "x", "arm": "house", "probability": 0.5, "plan_version": 1, "how": "", "repeated": false}'


def test_pauses_grow_and_differ():
    """Each twice the last, at random from a half of it to all of it; a service that says when is given that time."""
    call = decide_call("films", "tv", None, ())
    pauses, end = outcomes(call, Lost("gone", True), Lost("gone", False), BUSY, Came(200, {}, ANSWER))
    assert end.arm == "house"
    assert 0.5 <= pauses[0] <= 1.0 <= pauses[1] <= 2.0
    assert 3 + 2 <= pauses[2] <= 3 + 4
    drawn = {Retries().pauses(random.Random(seed), None, 1) for seed in range(20)}
    assert len(drawn) == 20
    assert Retries().pauses(random.Random(), 1e8, 1) == 30.0
    assert 15.0 <= Retries().pauses(random.Random(), None, 900) <= 30.0


def test_patience_ends():
    """With an error that says what the last answer was, or that there was none."""
    call = decide_call("films", "tv", None, ())
    pauses, end = outcomes(call, BUSY, BUSY, BUSY, BUSY)
    assert len(pauses) == 3
    assert isinstance(end, ServiceUnavailableError)
    assert (end.status, end.code) == (503, "overloaded")
    _, end = outcomes(call, *[Lost("connection refused", False)] * 4)
    assert "asked 4 times" in str(end)
    assert "connection refused" in str(end)
    again = pickle.loads(pickle.dumps(end))
    assert (type(again), str(again), again.code) == (type(end), str(end), "lost")


def test_changes_are_not_sent_twice():
    """Unless the first never left."""
    from arcbandit.client.calls import change

    call = change("films", "set_floor", 3, {"name": "guest", "floor": 0.1})
    assert call.query == {"expected_revision": "3"}
    assert outcomes(call, BUSY)[0] == []
    assert isinstance(outcomes(call, Lost("gone", True))[1], ServiceUnavailableError)
    assert len(outcomes(call, Lost("refused", False), BUSY)[0]) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 409, 422, 500])
def test_what_will_not_change_is_not_asked_again(status):
    """An error that says so, or one that says nothing."""
    call = decide_call("films", "tv", None, ())
    for content in (b'{"error": {"code": "x", "message": "No.", "field": "context"}}', b"<html>", b"\xff"):
        pauses, end = outcomes(call, Came(status, {}, content))
        assert pauses == []
        assert not isinstance(end, ServiceUnavailableError)
        assert end.status == status
    assert isinstance(outcomes(call, Came(200, {}, b"<html>"))[1], ServiceError)


@pytest.mark.slow
def test_the_async_client_does_the_same(tmp_path):
    """Against an application in this process, with a planner: campaigns are made and changed, too."""

    async def play():
        async with serving(tmp_path, campaign=None) as served:
            transport = httpx.ASGITransport(served.app)
            async with AsyncClient("http://localhost", transport=transport, retries=QUICK) as client:
                settings = {name: value for name, value in FILMS.items() if name != "name"}
                assert (await client.create("films", **settings)).revision == 1
                changed = await client.change("films", "set_floor", name="guest", floor=0.3, expected_revision=1)
                assert changed.floors[1].floor == 0.3
                with pytest.raises(ServiceError, match="revision 2"):
                    await client.change("films", "set_floor", name="guest", floor=0.4, expected_revision=1)
                with pytest.raises(ServiceError, match="campaign of that name"):
                    await client.create("films", **settings)
                made = await asyncio.gather(*(client.decide("films", "tv", request_id="a") for _ in range(20)))
                assert len({one.decision_id for one in made}) == 1
                assert (await client.reward("films", made[0].decision_id, 1)).outcome == "counted"
                (result,) = await client.rewards("films", {made[0].decision_id: 1})
                assert result.outcome == "repeated"
                assert (await client.statistics("films")).rewards == 1
                assert [row["reward"] async for row in client.decisions("films")] == [1.0]
                assert (await client.plan("films")).version == (await client.campaign("films")).plan_version
                assert (await client.what_if("films", {"guest": 0.0})).allocation
                assert "floors" in await client.status("films")
                assert len(await client.campaigns()) == 1
                assert (await client.report("films", [])) == []
                with pytest.raises(ServiceError):
                    [row async for row in client.decisions("songs")]

    asyncio.run(play())


def test_both_clients_offer_the_same():
    """Names and arguments."""

    def offered(kind):
        return {
            name: [(one.name, one.kind, one.default) for one in inspect.signature(member).parameters.values()]
            for name, member in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_")
        }

    assert offered(Client) == offered(AsyncClient)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda client: client.decide("films", 3), "context: Expected `str`, got `int`"),
        (lambda client: client.decide("a/b", "tv"), "campaign must be"),
        (lambda client: client.decide("films\n", "tv"), "campaign must be"),
        (lambda client: client.decide("films", "tv", request_id=""), "request_id"),
        (lambda client: client.decide("films", "tv", excluded_arms=[1]), r"excluded_arms\[0\]|excluded_arms"),
        (lambda client: client.reward("films", "x", float("nan")), "reward must be"),
        (lambda client: client.reward("films", "x", True), "reward must be"),
        (lambda client: client.rewards("films", [("x", 1)]), "rewards must map"),
        (lambda client: client.rewards("films", {"x": "1"}), "rewards"),
        (lambda client: client.change("films", "drop_table"), "drop_table"),
        (lambda client: client.create("films", flors={}), "flors"),
        (lambda client: client.plan("films", -1), "version"),
        (lambda client: client.what_if("films", {"guest": "x"}), "floors"),
        (lambda client: Client("films.example"), "url must be"),
        (lambda client: Client("http://x", timeout=0), "timeout must be"),
        (lambda client: Retries(tries=0), "tries must be"),
        (lambda client: Retries(pause=-1.0), "pause must be"),
    ],
)
def test_what_cannot_be_right_is_not_sent(wrong, match):
    """An error of ours, which names the argument."""
    with (
        Client("http://127.0.0.1:1", retries=Retries(tries=1)) as client,
        pytest.raises(InvalidInputError, match=match),
    ):
        wrong(client)


def test_a_token_goes_with_every_call(tmp_path):
    """And is shown nowhere."""
    seen = []

    def answer(request):
        seen.append(request.headers["authorization"])
        return httpx.Response(200, json={"campaigns": []})

    with Client("http://service", token="arcb_secret", transport=httpx.MockTransport(answer)) as client:
        assert client.campaigns() == []
        assert "secret" not in repr(client)
    assert seen == ["Bearer arcb_secret"]


def test_a_service_that_is_not_there(tmp_path):
    """Says so, after its tries."""
    began = time.monotonic()
    with Client("http://127.0.0.1:1", retries=Retries(tries=2, pause=0.01)) as client:
        with pytest.raises(ServiceUnavailableError, match="asked 2 times"):
            client.decide("films", "tv")
        with pytest.raises(ServiceUnavailableError):
            list(client.decisions("films"))
    assert time.monotonic() - began < 5


def test_the_examples_of_the_page_run(process, capsys):
    """As they stand, against a service."""
    text = (ROOT / "docs" / "service.md").read_text(encoding="utf-8").partition("## Clients")[2]
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "service.md", "exec"), {"url": f"http://127.0.0.1:{process.port}", "token": None})
    assert capsys.readouterr().out.split()[0] in FILMS["floors"]


@pytest.mark.slow
def test_clients_do_not_load_the_compiler():
    """Nor the server: a process that asks for decisions stays small."""
    heavy = ("numba", "starlette", "uvicorn", "apsw", "asyncpg")
    script = f"import sys, arcbandit.client; print([name for name in {heavy!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
