"""Reports of decisions that were made elsewhere: what is hostile is refused, field by field, and changes nothing."""

import asyncio
import json

from tests.service.hostile import HOSTILE, VALUES
from tests.service.served import serving

PATH = "/v1/campaigns/films/decisions"


def test_hostile_reports_are_refused_and_change_nothing(tmp_path):
    """Never 500; a report with one decision that is wrong is answered decision by decision, or refused whole."""

    async def play():
        async with serving(tmp_path, uniform=lambda: 0.25) as served:
            right = {
                "request_id": "a",
                "context": "tv",
                "arm": "house",
                "probability": 0.5,
                "plan_version": 1,
                "uniform": 0.25,
                "excluded_arms": [],
            }
            bodies = list(HOSTILE)
            for field in right:
                for value in VALUES:
                    parts = {name: json.dumps(part).encode() for name, part in right.items()} | {field: value}
                    text = b",".join(b'"%s":%s' % (name.encode(), part) for name, part in parts.items())
                    bodies.append(b'{"decisions": [{' + text + b"}]}")
            bodies.append(json.dumps({"decisions": [right] * 1001}).encode())
            bodies.append(json.dumps({"decisions": []}).encode())
            taken = 0
            for body in bodies:
                answer = await served.post(PATH, body)
                if answer.status_code != 200:
                    assert answer.status_code in (400, 404, 413, 422), (body[:200], answer.text)
                    assert set(answer.json()) == {"error"}
                    continue
                (result,) = answer.json()["results"]
                assert ("error" in result) == (result["status"] != 200), body
                taken += result["status"] == 200 and not result["repeated"]
            # Only another request id may be anything.
            assert 1 <= taken <= len(VALUES)
            totals = await served.totals()
            assert sum(pair.decisions for pair in totals.values()) == taken
            assert totals.keys() == {(0, 1)}
            answer = await served.post(PATH, {"decisions": [right, right, right | {"request_id": "b"}]})
            assert [one["status"] for one in answer.json()["results"]] == [200, 200, 200]
            assert len({one["decision_id"] for one in answer.json()["results"]}) == 2
            assert (await served.post("/v1/campaigns/songs/decisions", {"decisions": [right]})).status_code == 404

    asyncio.run(play())
