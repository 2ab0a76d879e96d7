"""Whatever a client is given: a call that the service can read, or an error of ours."""

import httpx
import msgspec
import pytest

from arcbandit.client import AsyncClient, Client, LocalDecider, Retries, calls
from arcbandit.client.calls import Call
from arcbandit.client.local import LocalPlan
from arcbandit.errors import ArcbanditError
from tests.client.plans import PLAN
from tests.junk import JUNK

NOWHERE = httpx.MockTransport(lambda request: httpx.Response(500))

# Each with one argument in whose place junk is put; the others are right.
CALLS = {
    "decide campaign": lambda junk: calls.decide(junk, "tv", None, ()),
    "decide context": lambda junk: calls.decide("films", junk, None, ()),
    "decide request_id": lambda junk: calls.decide("films", "tv", junk, ()),
    "decide excluded_arms": lambda junk: calls.decide("films", "tv", None, junk),
    "reward decision_id": lambda junk: calls.reward("films", junk, 0.5),
    "reward reward": lambda junk: calls.reward("films", "x", junk),
    "rewards rewards": lambda junk: calls.rewards("films", junk),
    "rewards reward": lambda junk: calls.rewards("films", {"x": junk}),
    "report decisions": lambda junk: calls.report("films", [junk]),
    "create name": lambda junk: calls.create(junk, {"floors": {"a": 0.5}, "contexts": ["x"]}),
    "create floors": lambda junk: calls.create("films", {"floors": junk, "contexts": ["x"]}),
    "create contexts": lambda junk: calls.create("films", {"floors": {"a": 0.5}, "contexts": junk}),
    "change change": lambda junk: calls.change("films", junk, None, {}),
    "change revision": lambda junk: calls.change("films", "retire_arm", junk, {"name": "a"}),
    "change field": lambda junk: calls.change("films", "set_floor", None, {"name": "a", "floor": junk}),
    "what_if floors": lambda junk: calls.what_if("films", junk),
    "plan version": lambda junk: calls.plan("films", junk),
    "decisions after": lambda junk: calls.decisions("films", junk),
    "Retries tries": lambda junk: Retries(tries=junk),
    "Retries pause": lambda junk: Retries(pause=junk),
    "Client url": lambda junk: Client(junk).close(),
    "Client timeout": lambda junk: Client("http://x", timeout=junk, transport=NOWHERE).close(),
    "Client token": lambda junk: Client("http://x", token=junk, transport=NOWHERE).close(),
    "Client retries": lambda junk: Client("http://x", retries=junk, transport=NOWHERE).close(),
    "AsyncClient url": lambda junk: AsyncClient(junk),
    "AsyncClient token": lambda junk: AsyncClient("http://x", token=junk, transport=NOWHERE),
    "LocalDecider client": lambda junk: LocalDecider(junk, "films"),
    "LocalPlan context": lambda junk: LocalPlan(PLAN).draw(junk, (), 0.5),
}


@pytest.mark.parametrize("call", CALLS)
def test_junk_is_refused_or_right(call):
    """What is sent is JSON, with no NaN in it, and goes to a path of the API."""
    for name, made in JUNK.items():
        try:
            found = CALLS[call](made())
        except ArcbanditError:
            continue
        except Exception as error:
            raise AssertionError(f"{call} with {name}: {error!r}") from error
        for one in found if isinstance(found, list) else [found]:
            if isinstance(one, Call):
                assert one.path.startswith("/v1/campaigns")
                assert one.path.isprintable()
                if one.body is not None:
                    msgspec.json.decode(one.body)
