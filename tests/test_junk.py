"""Whatever a public function is given: an error of ours that names the argument, or a right result."""

import copy
import json
import math

import numpy as np
import polars
import pytest
from hypothesis import HealthCheck, given

import arcbandit
from arcbandit import (
    OLP,
    ArcbanditError,
    Clairvoyant,
    ClairvoyantWithMargins,
    Delay,
    Drift,
    GroupFloor,
    InfeasibleError,
    Instance,
    InvalidInputError,
    ObservedRewards,
    Planner,
    Summary,
    Trace,
    Window,
    advise,
    analyse,
    audit,
    audit_guarantee,
    compare,
    evaluate,
    fit,
    guarantee_bound,
    latex_table,
    learning_times,
    paper_instance,
    plan,
    plot,
    policy,
    read_log,
    replay,
    restore,
    simulate,
    solve_lp,
)
from arcbandit.inputs.values import LARGEST_NUMBER
from arcbandit.planning import ActiveSet
from arcbandit.policies.configuration import Configuration
from arcbandit.policies.registry import POLICIES
from arcbandit.simulation.environment import MabArc
from tests.junk import JUNK, junk
from tests.long import each_of, examples

MEANS = [[3.0, 1.0], [0.5, 2.0]]
SMALL = Instance(MEANS, [0.5, 0.25], [0.5, 0.5], arms=["a", "b"], contexts=["x", "y"])
UNIT = Instance([[0.9, 0.3], [0.2, 0.6]], [0.1, 0.1], [0.5, 0.5])


class Target:
    """A public callable, a call of it that works, and what shows that a result is right."""

    def __init__(self, call, valid, sound, names=(), refusal=None):
        self.call = call
        self.valid = valid  # argument -> value
        self.sound = sound
        self.names = dict(names)  # argument -> what an error may call it instead
        self.refusal = refusal  # of a call that can only be refused

    def outcome(self, argument, value):
        """What the call with one argument replaced returns, or the error of ours that it raises."""
        arguments = {name: copy.copy(given) for name, given in self.valid.items()} | {argument: value}
        try:
            return self.call(**arguments)
        except ArcbanditError as error:
            return error

    def check(self, argument, value):
        """Raise unless the outcome is a right result, or an error that names the argument."""
        found = self.outcome(argument, value)
        if not isinstance(found, ArcbanditError):
            self.sound(found)
        elif not isinstance(found, InfeasibleError):  # floors that cannot be met are an answer
            assert isinstance(found, InvalidInputError), found
            said = str(found)
            assert any(word in said for word in (argument, *self.names.get(argument, ()))), said
            assert len(said) < 2000


def sound_instance(instance):
    for array in (instance.mean_rewards, instance.revenue_floors, instance.context_probabilities):
        assert array.dtype == np.float64
        assert (np.abs(array) <= LARGEST_NUMBER).all()
    assert instance.mean_rewards.shape == (len(instance.arms), len(instance.contexts))
    assert math.fsum(instance.context_probabilities) == pytest.approx(1, abs=1e-9)
    assert Instance.from_dict(json.loads(json.dumps(instance.to_dict()))) == instance


def sound_allocation(shares):
    assert (shares >= 0).all()
    assert shares.sum(axis=0) == pytest.approx(np.ones(shares.shape[1]), abs=1e-9)


def sound_plan(found):
    assert math.isfinite(found.value)
    assert np.isfinite(found.arm_revenue).all()
    sound_allocation(found.allocation)


def sound_planner(planner):
    """It plans, whatever it was made of."""
    sound_allocation(planner.plan(np.ones(planner._shape)).allocation)


def sound_statistics(found):
    assert found.counts.shape == (len(found.arms), len(found.contexts))
    assert np.isfinite(found.sums).all()


def sound_results(results):
    for name in results.policies:
        assert np.isfinite(results.mean("regret", name)).all()
        assert np.isfinite(results.mean("violation", name)).all()


def sound_policy(decider):
    """It decides and learns, whatever it was made of, and its snapshot is one."""
    if isinstance(decider, Configuration):
        assert decider.unbound().label == decider.label
        return
    at_work = next(column for column, name in enumerate(decider.contexts) if name not in decider.dropped_contexts)
    for _ in range(2):
        decision = decider.decide(at_work)
        assert 0 < decision.probability <= 1
        low, high = decider.reward_bounds or (0.0, 1.0)
        decider.update(at_work, decision.arm, low / 2 + high / 2)
        sound_allocation(decider.allocation())
    snapshot = json.loads(json.dumps(decider.snapshot()))
    assert restore(snapshot).snapshot() == snapshot


def sound_active_set_gap(gap):
    assert gap >= 0


def bound():
    decider = OLP([0.1, 0.1], [0.5, 0.5], arms=["a", "b"], contexts=["x", "y"], group_floors=[GroupFloor("g", (0,), 0)])
    decider.update("x", "a", 1.0)
    return decider


def method(name, prepare=lambda decider: None):
    """A method of a fresh policy, which must stay sound and unchanged where it refuses."""

    def call(**arguments):
        decider = bound()
        prepare(decider)
        before = decider.snapshot()
        try:
            getattr(decider, name)(**arguments)
        except ArcbanditError:
            assert decider.snapshot() == before
            raise
        return decider

    return call


LOG = polars.DataFrame(
    {"context": ["x", "y"] * 4, "arm": ["a", "a", "b", "b"] * 2, "reward": range(8), "probability": [0.5] * 8}
)
COLUMNS = {
    "context": "context",
    "arm": "arm",
    "reward": "reward",
    "probability": "probability",
    "timestamp": None,
    "decision_id": None,
    "skip_bad_rows": False,
    "progress": False,
}
TRACE = simulate(SMALL, ["olp"], 4, epochs=2, window=2, jobs=1)
SUMMARY = simulate(SMALL, ["olp"], 4, epochs=2, window=2, jobs=1, keep="summary")
ANALYSIS = analyse(SMALL)

ACTIVE_SET = ["of a candidate"]
PROBLEM = {"revenue_floors": [0.1, 0.1], "context_probabilities": [0.5, 0.5]}
SETTINGS = {
    "arms": ["a", "b"],
    "contexts": ["x", "y"],
    "group_floors": (),
    "noise_scale": 1.0,
    "reward_bounds": (0.0, 1.0),
    "mean_bound": 1.0,
    "horizon": 100,
    "available": [[True, True], [True, True]],
    "estimate_contexts": False,
    "replan": "always",
    "when_infeasible": "least_shortfall",
    "admit_contexts": 0,
    "memory": None,
    "exploration_budget": 1.0,
    "known_after": 10,
    "seed": 0,
    "epoch": 0,
}
# Names that do not fit what was given with them may be complained of at either.
EITHER = {
    "arms": ["revenue_floors", "available", "mean_rewards"],
    "contexts": ["context_probabilities", "available"],
    "revenue_floors": ["arms"],
    "context_probabilities": ["contexts"],
    "group_floors": ["group floor"],
}


def numbers(found):
    assert np.asarray(found).dtype.kind in "iuf"


TARGETS = {
    "Instance": Target(
        Instance,
        {
            "mean_rewards": MEANS,
            **PROBLEM,
            "arms": ["a", "b"],
            "contexts": ["x", "y"],
            "noise_scale": 1.0,
            "group_floors": (),
        },
        sound_instance,
        EITHER | {"mean_rewards": ["arms has", "contexts has"]},
    ),
    "Instance.from_weighted_means": Target(
        Instance.from_weighted_means,
        {
            "weighted_means": MEANS,
            **PROBLEM,
            "arms": ["a", "b"],
            "contexts": ["x", "y"],
            "noise_scale": 1.0,
            "group_floors": (),
        },
        sound_instance,
        EITHER | {"weighted_means": ["arms has", "contexts has"], "arms": ["weighted_means"]},
    ),
    "Instance.from_dict": Target(Instance.from_dict, {"data": SMALL.to_dict()}, sound_instance, {"data": ["instance"]}),
    "Instance.load": Target(
        Instance.load, {"path": "nowhere.toml"}, sound_instance, {"path": ["must end in", "no such"]}, "no such file"
    ),
    "Instance.save": Target(
        lambda path: SMALL.save(path), {"path": "no/where.toml"}, bool, {"path": ["must end in"]}, "cannot be written"
    ),
    "Instance.arm_index": Target(lambda arm: SMALL.arm_index(arm), {"arm": 0}, numbers),
    "Instance.context_index": Target(lambda context: SMALL.context_index(context), {"context": 0}, numbers),
    "GroupFloor": Target(
        GroupFloor, {"name": "g", "arms": (0,), "floor": 1.0}, lambda group: hash(group), {"name": ["The name"]}
    ),
    "plan": Target(plan, {"instance": SMALL, "solver": "simplex", "on_infeasible": "raise"}, sound_plan),
    "solve_lp": Target(
        solve_lp,
        {
            "objective_means": MEANS,
            "constraint_means": MEANS,
            **PROBLEM,
            "group_floors": (),
            "available": [[True, True], [True, True]],
            "solver": "simplex",
            "on_infeasible": "least_shortfall",
            "warm_start": None,
        },
        sound_plan,
        EITHER | {"available": ["arms", "contexts"]},
    ),
    "Planner": Target(
        Planner,
        {
            **PROBLEM,
            "group_floors": (),
            "available": [[True, True], [True, True]],
            "arms": ["a", "b"],
            "contexts": ["x", "y"],
            "on_infeasible": "least_shortfall",
            "warm": False,
        },
        sound_planner,
        EITHER | {"available": ["arms", "contexts"]},
    ),
    "Planner.of": Target(
        lambda instance, available, on_infeasible, warm: Planner.of(
            instance, available=available, on_infeasible=on_infeasible, warm=warm
        ).plan(instance.mean_rewards),
        {"instance": SMALL, "available": None, "on_infeasible": "raise", "warm": True},
        lambda found: sound_plan(found.certified()),
    ),
    "Planner.plan": Target(
        Planner([0.5, 0.25], [0.5, 0.5], arms=["a", "b"], contexts=["x", "y"], on_infeasible="least_shortfall").plan,
        {
            "mean_rewards": MEANS,
            "constraint_means": MEANS,
            "revenue_floors": [0.5, 0.25],
            "context_probabilities": [0.5, 0.5],
            "copy": True,
        },
        lambda found: sound_allocation(found.allocation),
    ),
    "analyse": Target(
        analyse, {"instance": SMALL, "candidate_limit": 10}, lambda found: numbers(found.feasibility_margin)
    ),
    **{
        f"Analysis.{name}": Target(
            getattr(ANALYSIS, name), {"active_set": ActiveSet(frozenset({0}), frozenset())}, lambda found: found
        )
        for name in ("candidate", "feasibility_gap", "performance_sensitivity_of", "performance_gap", "gap")
    },
    "Analysis.learning_limit": Target(
        analyse(paper_instance("nu")).learning_limit,
        {"horizon": 100, "violation_weight": 1.0},
        lambda found: numbers(found.total),
    ),
    "guarantee_bound": Target(
        guarantee_bound,
        {"instance": SMALL, "horizon": 100, "largest_price": 1.0},
        lambda found: numbers(found.total),
    ),
    "audit_guarantee": Target(
        audit_guarantee,
        {"instance": SMALL, "policy": OLP(guarantee=True), "horizon": 3, "epochs": 1, "seed": 0},
        lambda found: numbers(found.certified),
    ),
    **{
        kind.__name__: Target(
            kind.of, {"instance": paper_instance("nu")}, lambda made: sound_allocation(made.allocation())
        )
        for kind in (Clairvoyant, ClairvoyantWithMargins)
    },
    "Analysis.gap of floors": Target(
        lambda floors, pairs: ANALYSIS.gap(ActiveSet(floors, pairs)),
        {"floors": frozenset({0}), "pairs": frozenset({(0, 1)})},
        sound_active_set_gap,
    ),
    "simulate": Target(
        simulate,
        {
            "instance": SMALL,
            "policies": ["olp"],
            "horizon": 3,
            "epochs": 1,
            "seed": 0,
            "jobs": 1,
            "checkpoints": 2,
            "rewards": "gaussian",
            "window": 2,
            "available": None,
            "suboptimality_gap": None,
            "delay": None,
            "drift": None,
            "progress": None,
            "device": "cpu",
            "keep": "epochs",
        },
        sound_results,
        {"policies": ["policy"], "horizon": ["window"]},
    ),
    "Delay": Target(Delay, {"rounds": 0, "mean": None, "lost": 0.0}, lambda delay: json.dumps(delay.to_dict())),
    "Window": Target(Window, {"rounds": 5}, lambda window: json.dumps(window.rounds)),
    "Drift": Target(Drift, {"changes": [(2, MEANS)]}, len),
    "Drift in a simulation": Target(
        lambda world: simulate(SMALL, ["olp"], 3, epochs=1, jobs=1, drift=Drift([(2, world)])),
        {"world": MEANS},
        sound_results,
        {"world": ["drift"]},
    ),
    "Drift.wandering": Target(
        Drift.wandering,
        {"instance": SMALL, "horizon": 10, "step": 0.1, "every": 2, "low": None, "high": None, "seed": 0},
        len,
    ),
    "compare": Target(
        compare,
        {
            "instances": [SMALL],
            "policies": ["olp"],
            "horizon": 3,
            "epochs": 1,
            "seed": 0,
            "jobs": 1,
            "device": "cpu",
            "keep": "epochs",
        },
        lambda found: [sound_results(one) for one in found.values()],
        {"policies": ["policy"]},
    ),
    "plot": Target(
        plot,
        {
            "results": TRACE,
            "metric": "regret",
            "ax": None,
            "policies": ["olp"],
            "logarithmic": False,
            "shade": "interval",
            "style": {},
            "guide": False,
        },
        lambda axes: axes.get_xlabel(),
        {"policies": ["policy"], "style": ["policy"]},
    ),
    "latex_table": Target(latex_table, {"results": TRACE}, len),
    "audit": Target(
        audit,
        {
            "instance": SMALL,
            "policy": "olp",
            "horizon": 3,
            "epochs": 1,
            "seed": 0,
            "jobs": 1,
            "progress": None,
            "device": "cpu",
        },
        lambda found: numbers(found.statements[0].failures),
    ),
    "paper_instance": Target(paper_instance, {"text": "nu"}, sound_instance, {"text": ["Paper instance"]}),
    "paper_instance with a parameter": Target(
        lambda epsilon: paper_instance(f"nu-plus:{epsilon}" if isinstance(epsilon, str) else "nu"),
        {"epsilon": "0.1"},
        sound_instance,
    ),
    "policy": Target(policy, {"name": "olp", **PROBLEM, **SETTINGS}, sound_policy, EITHER | {"name": ["policy"]}),
    "restore": Target(restore, {"snapshot": bound().snapshot()}, sound_policy, {"snapshot": ["policy"]}),
    "Policy.restore": Target(OLP.restore, {"snapshot": bound().snapshot()}, sound_policy),
    "for_instance": Target(
        OLP().for_instance,
        {"instance": SMALL, "horizon": 10, "available": None, "seed": 0, "epoch": 0},
        sound_policy,
    ),
    "decide": Target(method("decide"), {"context": "x"}, sound_policy),
    "decide_many": Target(method("decide_many"), {"contexts": ["x", 1]}, sound_policy, {"contexts": ["context"]}),
    "update": Target(method("update"), {"context": "x", "arm": "a", "reward": 1.0}, sound_policy),
    "update_many": Target(
        method("update_many"),
        {"contexts": ["x"], "arms": ["a"], "rewards": [1.0]},
        sound_policy,
        {"contexts": ["context"], "arms": ["arm"], "rewards": ["reward"]},
    ),
    "update_from_totals": Target(
        method("update_from_totals"),
        {"counts": [[1, 2], [3, 4]], "sums": [[1.0, 2.0], [3.0, 4.0]], "squares": [[2.0, 3.0], [4.0, 5.0]]},
        sound_policy,
        {"counts": ["sums", "squares"], "sums": ["squares"], "squares": ["sums"]},
    ),
    "read_log": Target(read_log, {"source": LOG, **COLUMNS}, sound_statistics, {"source": ["log", "file"]}),
    "fit": Target(
        fit,
        {"statistics": read_log(LOG), "revenue_floors": {"a": 0.1}, "policy": "olp", "group_floors": (), "seed": 0},
        sound_policy,
        {"revenue_floors": ["arm"], "group_floors": ["group floor"]},
    ),
    "advise": Target(
        advise,
        {
            "statistics": read_log(LOG),
            "revenue_floors": {"a": 0.1},
            "group_floors": (),
            "confidence": 0.9,
            "reward_bounds": (0.0, 7.0),
            "least_rows": 2,
        },
        lambda found: numbers(found.context_mix.low),
        {"revenue_floors": ["arm"], "group_floors": ["group floor"]},
    ),
    "learning_times": Target(
        learning_times,
        {
            "advice": advise(read_log(LOG), {"a": 0.1}, least_rows=2),
            "policies": ["olp"],
            "tolerance": 0.1,
            "rounds": 2,
            "epochs": 1,
            "seed": 0,
            "progress": False,
        },
        lambda found: numbers([one.half for one in found]),
        {"policies": ["policy"], "rounds": ["horizon"]},
    ),
    "evaluate": Target(
        evaluate,
        {"source": LOG, "plan": "uniform", "infer_probabilities": False, "confidence": 0.9, "bootstrap": 2, "seed": 0},
        lambda found: numbers(found.estimates["ips"].values),
        {"source": ["log", "file"]},
    ),
    "replay": Target(
        replay,
        {"source": LOG, "policy": "olp", "revenue_floors": {"a": 0.1}, "confidence": 0.9, "rounds": 2, "seed": 0},
        lambda found: sound_policy(found.learner),
        {"source": ["log", "file"], "revenue_floors": ["arm"]},
    ),
    "add_arm": Target(
        method("add_arm"),
        {"name": "c", "floor": 0.0, "available": [True, False], "prior_mean": 0.5, "prior_pulls": 2.0},
        sound_policy,
    ),
    "return_arm": Target(
        method("return_arm", lambda decider: decider.retire_arm("a")),
        {"arm": "a", "floor": 0.1, "available": [True, True]},
        sound_policy,
    ),
    "set_available": Target(method("set_available"), {"arm": "a", "context": "y", "available": False}, sound_policy),
    "drop_context": Target(method("drop_context"), {"context": "y"}, sound_policy),
    "set_context_probabilities": Target(
        method("set_context_probabilities"), {"context_probabilities": [0.2, 0.8]}, sound_policy, EITHER
    ),
    "add_group": Target(
        method("add_group"), {"name": "h", "arms": ["a"], "floor": 0.1}, sound_policy, {"name": ["name of a group"]}
    ),
    "set_group": Target(
        method("set_group"), {"name": "g", "arms": ["b"], "floor": 0.1}, sound_policy, {"name": ["no group"]}
    ),
    "remove_group": Target(method("remove_group"), {"name": "g"}, sound_policy, {"name": ["no group"]}),
    "merge": Target(
        method("merge"),
        {"other": bound().snapshot(), "since": bound().snapshot()},
        sound_policy,
        {"other": ["snapshot"], "since": ["snapshot"]},
    ),
    "add_context": Target(method("add_context"), {"name": "z", "probability": 0.1}, sound_policy),
    "set_exploration_budget": Target(
        method("set_exploration_budget"), {"exploration_budget": 0.1, "known_after": 10}, sound_policy
    ),
    "set_floor": Target(
        method("set_floor"), {"arm_or_group": "a", "floor": 0.2}, sound_policy, {"arm_or_group": ["no arm"]}
    ),
    "retire_arm": Target(method("retire_arm"), {"arm": "a"}, sound_policy),
    "ObservedRewards": Target(ObservedRewards, {"samples": [[[1.0], [2.0, 3.0]]]}, lambda found: numbers(found.means)),
    "ObservedRewards.instance": Target(
        ObservedRewards([[[1.0], [2.0, 3.0]]]).instance,
        {"revenue_floors": [0.1], "context_probabilities": [0.5, 0.5], "noise_scale": 1.0},
        sound_instance,
        EITHER,
    ),
    "Trace.load": Target(Trace.load, {"path": "nowhere"}, bool, {"path": ["no trace file"]}, "no trace file"),
    "Summary.load": Target(Summary.load, {"path": "nowhere"}, bool, {"path": ["no summary file"]}, "no summary file"),
}
for title, results in (("Trace", TRACE), ("Summary", SUMMARY)):
    WORDS = {"floor": ["floor"], "name": ["metric", "Metric"]}
    ONE = {"metric": "regret", "policy": "olp"}
    TARGETS |= {
        f"{title}.metric": Target(
            results.metric, {"name": "regret"}, dict, WORDS, "was not kept" if title == "Summary" else None
        ),
        f"{title}.mean": Target(results.mean, ONE, numbers),
        f"{title}.variance": Target(results.variance, ONE, numbers),
        f"{title}.standard_error": Target(results.standard_error, ONE, numbers),
        f"{title}.quantile": Target(results.quantile, ONE | {"q": 0.5}, numbers),
        f"{title}.estimate": Target(
            results.estimate,
            ONE | {"metric": "floor_shortfall", "floor": "a"},
            lambda found: numbers(found.mean),
            WORDS,
        ),
        f"{title}.histogram": Target(
            results.histogram, ONE | {"metric": "floor_shortfall", "floor": "a"}, lambda found: numbers(found[0]), WORDS
        ),
        f"{title}.to_frame": Target(results.to_frame, {"by": "floor"}, len),
        f"{title}.save": Target(
            results.save, {"path": "no/where.parquet"}, bool, {"path": ["cannot be written"]}, "cannot be written"
        ),
    }
TARGETS["Trace.regret[...]"] = Target(lambda policy: TRACE.regret[policy], {"policy": "olp"}, numbers)
CLASSES = {kind.__name__ for kind in POLICIES.values()}
for kind in POLICIES.values():
    TARGETS[kind.__name__] = Target(
        kind,
        {**PROBLEM, **SETTINGS, **{dial.name: dial.default for dial in kind.dials}},
        sound_policy,
        EITHER | {"mean_bound": ["reward_bounds"], "reward_bounds": ["mean_bound"], "group_floors": ["group floor"]},
    )

SHARING = CLASSES - {"OLP"} | {"audit"}
OPENING = {"read_log", "evaluate", "replay"}
CASES = [(name, argument) for name, target in TARGETS.items() for argument in target.valid]
# Of classes of policies a quarter, each time other arguments.
FEWER = [case for place, case in enumerate(CASES) if case[0] not in SHARING or place % 4 == 0]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    """Paths among the junk must not be those of files."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_the_call_that_junk_is_put_into_works(name):
    """Otherwise an error about one argument might hide that about another."""
    target = TARGETS[name]
    if target.refusal is not None:
        with pytest.raises(InvalidInputError, match=target.refusal):
            target.call(**target.valid)
    else:
        target.sound(target.call(**target.valid))


@pytest.mark.parametrize(("name", "argument"), CASES, ids=[f"{name}-{argument}" for name, argument in CASES])
def test_junk_is_refused_by_the_name_of_the_argument_or_gives_a_right_result(name, argument, cases):
    """Every argument of every public function, with every piece of junk that we could think of.

    Classes of policies share the code that reads their settings, and an audit reads its own as a simulation does: the
    short version gives each class and the audit an eighth of the junk, each argument another one. Functions that open a
    database, which takes time, get a tenth.
    """
    step = cases(8, 1) if name in SHARING else cases(10, 1) if name in OPENING else 1
    for make in list(JUNK.values())[CASES.index((name, argument)) % step :: step]:
        TARGETS[name].check(argument, make())


@pytest.mark.parametrize(("name", "argument"), each_of(FEWER, CASES))
@examples(4, 25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=junk())
def test_so_is_junk_that_nobody_thought_of(name, argument, value):
    """Arrays of every type and shape, nests of lists and dicts."""
    TARGETS[name].check(argument, value)


def test_every_public_callable_is_among_the_targets():
    """A function that is added must be given junk too; results and errors are made by us."""
    made_by_us = {"Analysis", "Audit", "Decision", "Plan", "PlanStatus", "Policy", "Summary", "Trace", "__version__"}
    made_by_us |= {"Advice", "BadRows", "Evaluation", "LearningTime", "LogStatistics", "Replay"}
    made_by_us |= {"Configuration", "Decisions", "QuickPlan", "Comparison", "Status"}
    made_by_us |= {"GuaranteeAudit", "GuaranteeBound", "LearningLimit", "LedgerStatus"}
    made_by_us |= {"KNOWN_AFTER", "SERVICE_EXPLORATION_BUDGET"}  # numbers
    modules = {"checks", "rules"}  # given junk in tests/test_checks.py; what rules import are kernels
    callables = {name for name in arcbandit.__all__ if not name.endswith(("Error", "Warning"))} - made_by_us - modules
    assert callables <= set(TARGETS)


class TestTheEnvironment:
    @pytest.mark.parametrize("argument", ["instance", "horizon", "rewards", "render_mode"])
    def test_settings(self, argument):
        """`instance` may be a path, so that junk strings are files that do not exist."""
        target = Target(
            MabArc,
            {"instance": UNIT, "horizon": 3, "rewards": "gaussian", "render_mode": None},
            lambda made: sound_instance(made.instance),
            {"instance": ["no such file", "must end in"]},
        )
        for make in JUNK.values():
            target.check(argument, make())

    def test_seeds_and_actions(self):
        def seeded(seed):
            return MabArc(UNIT, 3).reset(seed=seed)[0]

        def played(action):
            rounds = MabArc(UNIT, 3)
            rounds.reset(seed=1)
            return rounds.step(action)[1]

        for make in JUNK.values():
            Target(seeded, {"seed": 1}, numbers).check("seed", make())
            Target(played, {"action": 0}, numbers).check("action", make())
