"""How promises stood in the past, and the files of the dashboard, asked through the API."""

import asyncio
import random

import pytest

from arcbandit.service.dashboard import MEDIA
from tests.service.served import FILMS, serving

HISTORY = "/v1/campaigns/films/history"


@pytest.mark.slow
def test_the_history_is_that_of_the_plans(tmp_path):
    """Each point has the numbers of a plan as it was published; the last is the plan in force."""

    async def play():
        async with serving(tmp_path, uniform=random.Random(3).random) as served:
            assert (await served.get(HISTORY)).json() == {"points": []}
            earned = {"house": 0.0, "guest": 0.0}
            for _ in range(4):
                for context in ("tv", "phone") * 6:
                    made = await served.decide(context)
                    reward = 0.5 if made["arm"] == "house" else 0.25
                    earned[made["arm"]] += reward
                    await served.reward(made["decision_id"], reward)
                await served.upkeep.plan_once("films")
            points = (await served.get(HISTORY)).json()["points"]
            in_force = (await served.get("/v1/campaigns/films/plan")).json()
            assert [point["plan_version"] for point in points] == list(range(2, in_force["version"] + 1))
            assert {floor["name"]: floor["earned"] for floor in points[-1]["floors"]} == earned
            for point in points:
                plan = (await served.get(f"/v1/campaigns/films/plans/{point['plan_version']}")).json()
                pairs = zip(plan["floors"], point["floors"], strict=True)
                told = [{key: floor[key] for key in one} for floor, one in pairs]
                if point is not points[-1]:
                    assert point["floors"] == told
                    assert (point["made_at"], point["decisions"]) == (plan["made_at"], plan["decisions"])
            assert points[-1]["decisions"] == in_force["decisions"] == 48
            for floor in points[-1]["floors"]:
                assert floor["low"] <= floor["expected"] <= floor["high"]
            few = (await served.get(f"{HISTORY}?points=2")).json()["points"]
            assert few[-1] == points[-1]
            assert len(few) <= 2
            for wrong in ("0", "201", "x", "-1", "1e3"):
                answer = await served.get(f"{HISTORY}?points={wrong}")
                assert (answer.status_code, answer.json()["error"]["field"]) == (422, "points")
            assert (await served.get("/v1/campaigns/none/history")).status_code == 404

    asyncio.run(play())


def test_the_interval_of_a_plan_is_that_of_the_status(tmp_path):
    """One formula for both; what the floors cost is what the best plans with and without them differ by."""

    async def play():
        campaign = FILMS | {"group_floors": [{"name": "both", "arms": ["house", "guest"], "floor": 0.2}]}
        async with serving(tmp_path, campaign=campaign, uniform=random.Random(3).random) as served:
            for context in ("tv", "phone") * 20:
                made = await served.decide(context)
                await served.reward(made["decision_id"], 0.5 if made["arm"] == "house" else 0.25)
            await served.upkeep.plan_once("films")
            plan = (await served.get("/v1/campaigns/films/plan")).json()
            status = (await served.get("/v1/campaigns/films/status")).json()
            for floor, other in zip(plan["floors"], status["floors"], strict=True):
                for key in ("expected", "low", "high", "earned"):
                    assert floor[key] == pytest.approx(other[key], rel=1e-12)
            assert plan["revenue_with_floors"] == pytest.approx(status["best_revenue"], rel=1e-12)
            # The house alone would earn 0.5 everywhere; 0.1 for the guest takes two fifths of the visits.
            assert plan["revenue_without_floors"] == pytest.approx(0.5)
            assert plan["revenue_with_floors"] == pytest.approx(0.4)

    asyncio.run(play())


def test_the_dashboard_is_served_to_all_and_holds_no_data(tmp_path):
    """Page, style and scripts need no token; each has its media type, a strict policy, and nothing from elsewhere."""

    async def play():
        async with serving(tmp_path, tokens=True) as served:
            page = await served.get("/")
            assert page.status_code == 200
            assert page.headers["content-type"].startswith("text/html")
            names = {part.split('"')[0] for part in page.text.split('"dashboard/')[1:]}
            assert {"style.css", "main.js", "icon.svg"} <= names
            for name in names | {"api.js", "heatmap.js", "timeline.js", "whatif.js"}:
                answer = await served.get(f"/dashboard/{name}")
                assert answer.status_code == 200
                assert answer.headers["content-type"].startswith(MEDIA[f".{name.rpartition('.')[2]}"])
                policy = answer.headers["content-security-policy"]
                assert policy.startswith("default-src 'self';")
                assert "unsafe" not in policy
                assert answer.headers["x-content-type-options"] == "nosniff"
                assert "//" not in answer.text.replace("http://www.w3.org/2000/svg", "").replace("// ", "")
            for name in ("/dashboard/__init__.py", "/dashboard/../served.py", "/dashboard/", "/dashboard/none.js"):
                assert (await served.get(name)).status_code == 404
            assert (await served.post("/", {})).status_code == 405
            assert (await served.get("/v1/campaigns")).status_code == 401

    asyncio.run(play())
