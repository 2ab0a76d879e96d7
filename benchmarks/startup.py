"""What a user waits for before the first answer, each time in a new process."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from arcbandit.compilation.cache import CACHE_VARIABLE
from benchmarks.measure import Outcome, Requirement, Spread, Workload

OPTIMAL_REVENUE = 5.25  # f* of instance nu

IMPORT = """
import time
start = time.perf_counter()
import arcbandit
print(time.perf_counter() - start)
"""

IMPORT_ALL = """
import time
start = time.perf_counter()
import arcbandit
for name in arcbandit.__all__:
    getattr(arcbandit, name)
print(time.perf_counter() - start)
"""

FIRST_PLAN = """
import json, time
start = time.perf_counter()
from arcbandit import paper_instance, plan
value = plan(paper_instance("nu")).value
print(json.dumps([time.perf_counter() - start, value]))
"""

# Each of these compiles no more than it needs, and prints seconds, a value that is known, and processor time.
SIMULATE_OLP = """
import json, time
start = time.perf_counter()
from arcbandit import paper_instance, simulate
value = simulate(paper_instance("nu"), ["olp"], 10, epochs=1, jobs=1).settings["optimal_value"]
print(json.dumps([time.perf_counter() - start, value, time.process_time()]))
"""

ONLINE_OLP = """
import json, time
start = time.perf_counter()
from arcbandit import OLP
learner = OLP([0.1, 0.2], [0.5, 0.5])
learner.update(0, learner.decide(0).arm, 1.0)
print(json.dumps([time.perf_counter() - start, 5.25, time.process_time()]))
"""

EVERY_POLICY = """
import json, time
start = time.perf_counter()
from arcbandit import paper_instance, plan, policy, simulate
from arcbandit.policies.registry import own_policies
instance = paper_instance("nu")
value = plan(instance).value
for name in own_policies():
    simulate(instance, [policy(name, mean_bound=9.0)], 10, epochs=1, jobs=1)
    learner = policy(name, instance.revenue_floors, instance.context_probabilities, horizon=10, mean_bound=9.0)
    arm = learner.decide(0).arm
    learner.update(0, arm, 1.0)
    learner.update_many([0], [arm], [1.0])
print(json.dumps([time.perf_counter() - start, value, time.process_time()]))
"""

EVERYTHING = """
import json, time
start = time.perf_counter()
from arcbandit import paper_instance, plan, policy, simulate
instance = paper_instance("nu")
value = plan(instance).value
simulate(instance, ["olp"], 10, epochs=1, jobs=1)
learner = policy("olp", instance.revenue_floors, instance.context_probabilities)
arm = learner.decide(0).arm
learner.update(0, arm, 1.0)
learner.update_many([0], [arm], [1.0])
print(json.dumps([time.perf_counter() - start, value, time.process_time()]))
"""


def in_new_process(script: str, cache: str | None = None) -> str:
    """What `script` prints, run by this interpreter with a cache folder of its own if one is given."""
    environment = dict(os.environ) if cache is None else {**os.environ, CACHE_VARIABLE: cache}
    finished = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return finished.stdout


@contextmanager
def empty_cache() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="arcbandit-benchmark-") as folder:
        yield folder


def import_package(turns: int) -> Outcome:
    in_new_process(IMPORT)  # so that the files are in the system's cache
    return Outcome(ours=[float(in_new_process(IMPORT)) for _ in range(turns)])


def import_every_name(turns: int) -> Outcome:
    in_new_process(IMPORT_ALL)
    return Outcome(ours=[float(in_new_process(IMPORT_ALL)) for _ in range(turns)])


def first_plans(answers: list[list[float]]) -> Outcome:
    """The outcome of what FIRST_PLAN printed, turn by turn."""
    return Outcome(ours=[elapsed for elapsed, _ in answers], objective_error=error_of([value for _, value in answers]))


def error_of(values: list[float]) -> float:
    """The largest relative error of the optimal revenue of nu."""
    return max(abs(value - OPTIMAL_REVENUE) for value in values) / OPTIMAL_REVENUE


def first_plan_cold_cache(turns: int) -> Outcome:
    answers = []
    for _ in range(turns):
        with empty_cache() as folder:
            answers.append(json.loads(in_new_process(FIRST_PLAN, folder)))
    return first_plans(answers)


def first_plan_warm_cache(turns: int) -> Outcome:
    with empty_cache() as folder:
        in_new_process(FIRST_PLAN, folder)
        return first_plans([json.loads(in_new_process(FIRST_PLAN, folder)) for _ in range(turns)])


def compile_cold(script: str, turns: int) -> Outcome:
    """Everything that a script needs, with nothing on disk."""
    answers = []
    entries = 0
    for _ in range(turns):
        with empty_cache() as folder:
            answers.append(json.loads(in_new_process(script, folder)))
            entries = sum(1 for _ in Path(folder).rglob("*.nbi"))
    return Outcome(
        ours=[elapsed for elapsed, _, _ in answers],
        objective_error=error_of([value for _, value, _ in answers]),
        details={"entries": entries, "processor_seconds": Spread.of([used for _, _, used in answers]).median},
    )


WORKLOADS = (
    Workload(
        name="import",
        summary="import arcbandit",
        run=import_package,
        turns=11,
        quick_turns=3,
        requirement=Requirement(seconds=0.05),
    ),
    Workload(
        name="import-every-name",
        summary="import arcbandit and every public name, the compiler with them",
        run=import_every_name,
        turns=7,
        quick_turns=3,
    ),
    Workload(
        name="first-plan-cold-cache",
        summary="import arcbandit and plan nu, with nothing compiled before",
        run=first_plan_cold_cache,
        turns=3,
        quick_turns=1,
        requirement=Requirement(seconds=15),
    ),
    Workload(
        name="first-plan-warm-cache",
        summary="the same, with the compiled kernels on disk",
        run=first_plan_warm_cache,
        turns=7,
        quick_turns=3,
    ),
    Workload(
        name="compile-everything-cold",
        summary="plan, simulate, decide and learn, with nothing compiled before",
        run=partial(compile_cold, EVERYTHING),
        turns=3,
        quick_turns=1,
        requirement=Requirement(seconds=20),
    ),
    Workload(
        name="compile-simulate-olp",
        summary="simulate OLP, with nothing compiled before",
        run=partial(compile_cold, SIMULATE_OLP),
        turns=3,
        quick_turns=1,
    ),
    Workload(
        name="compile-online-olp",
        summary="decide and update of OLP, with nothing compiled before",
        run=partial(compile_cold, ONLINE_OLP),
        turns=3,
        quick_turns=1,
    ),
    Workload(
        name="compile-every-policy",
        summary="plan, and simulate, decide and learn with every policy, with nothing compiled before",
        run=partial(compile_cold, EVERY_POLICY),
        turns=1,
        quick_turns=1,
    ),
)
