"""What every policy must pass: checks to run on your own policies, one by one or all together.

In a test suite, one check per test:

    @pytest.mark.parametrize("check", arcbandit.checks.checks_of(MyPolicy), ids=lambda check: check.__name__)
    def test_my_policy(check):
        check(MyPolicy)

A check that fails raises AssertionError, which says what must hold and what was found instead.

>>> from arcbandit import OLP
>>> check_says_what_it_is(OLP)
>>> check_says_what_it_is in checks_of(OLP)
True
"""

import copy
import functools
import json
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import FloorsOutOfReachWarning, InvalidInputError, UnknownNameError
from arcbandit.floors import GroupFloor
from arcbandit.inputs.values import shown
from arcbandit.instance import Instance
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.base import Policy
from arcbandit.policies.configuration import Configuration
from arcbandit.policies.learner import Stream
from arcbandit.simulation.epoch import Task, bind, find_optimum, make_run, make_world, run_task
from arcbandit.simulation.loop import player_of
from arcbandit.simulation.plain import PlainPolicy, copied, problem_of
from arcbandit.simulation.world import reward_of_round

ROUNDS = 120
SHARES_TOLERANCE = 1e-9  # by how much the shares of a context may miss 1

Check = Callable[[Any], None]


def check_policy(policy: Any) -> None:
    """Run every check on a policy: a class, a configuration, or a plain object that `simulate` plays.

    >>> class Even:
    ...     name = "even"
    ...     def begin(self, problem, seed):
    ...         self.shares = problem.available / problem.available.sum(axis=0)
    ...     def allocate(self, context):
    ...         return self.shares
    ...     def learn(self, context, arm, reward):
    ...         pass
    >>> check_policy(Even())
    """
    for check in checks_of(policy):
        check(policy)


def checks_of(policy: Any) -> list[Check]:
    """The checks that a policy must pass.

    >>> from arcbandit import OLP
    >>> checks_of(OLP)[0].__name__
    'check_says_what_it_is'
    """
    if isinstance(policy, Configuration) or (isinstance(policy, type) and issubclass(policy, Policy)):
        return list(COMPILED)
    if isinstance(policy, PlainPolicy) and not isinstance(policy, type):
        return list(PLAIN)
    raise InvalidInputError(
        f"policy must be a policy class, its configuration, or an object with name, begin, allocate and learn, "
        f"got {shown(policy)}."
    )


def instances(*, groups: bool = False) -> Iterator[Instance]:
    """Problems that policies stumble over: a single pair, floors of zero, infeasible floors, and more arms.

    >>> [(instance.n_arms, instance.n_contexts) for instance in instances()]
    [(1, 1), (2, 2), (2, 2), (2, 2), (5, 4)]
    """
    yield Instance([[0.5]], [0.1], [1.0])
    yield Instance([[0.9, 0.2], [0.3, 0.6]], [0.2, 0.1], [0.5, 0.5], noise_scale=0.2)
    yield Instance([[0.9, 0.2], [0.3, 0.6]], [0.0, 0.0], [0.7, 0.3])
    yield Instance([[0.9, 0.2], [0.3, 0.6]], [0.6, 0.6], [0.5, 0.5])
    random = np.random.default_rng(0)
    means = random.random((5, 4)) + 0.05
    probabilities = random.dirichlet(np.full(4, 3.0))
    floors = 0.7 * (probabilities * means / 5).sum(axis=1)
    arms = tuple("abcde")
    group_floors = (GroupFloor("ab", ("a", "b"), 0.1), GroupFloor("bc", ("b", "c"), 0.12)) if groups else ()
    yield Instance(means, floors, probabilities / probabilities.sum(), arms=arms, group_floors=group_floors)


def _must(holds: Any, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def _configured(policy: Any) -> Configuration:
    return policy if isinstance(policy, Configuration) else policy()


def _started(policy: Any, instance: Instance, **settings: Any) -> Policy:
    return _configured(policy).for_instance(instance, **{"horizon": ROUNDS, "seed": 7} | settings)


def _quietly(check: Check) -> Check:
    """A check in which floors may go out of reach unsaid: they are tight, and pairs that earn them are switched off."""

    @functools.wraps(check)
    def quiet(policy: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FloorsOutOfReachWarning)
            check(policy)

    return quiet


def _play(policy: Policy, instance: Instance, rounds: int = ROUNDS, seed: int = 3) -> list[tuple[str | int, float]]:
    """Decide and learn for some rounds; return the arms and their probabilities."""
    random = np.random.default_rng(seed)
    played = []
    for _ in range(rounds):
        context = int(random.integers(instance.n_contexts))
        decision = policy.decide(context)
        mean = instance.mean_rewards[policy.arms.index(decision.arm), context]
        policy.update(context, decision.arm, float(mean + instance.noise_scale * random.normal()))
        played.append((decision.arm, decision.probability))
    return played


def _check_shares(name: str, shares: NDArray[np.float64], available: NDArray[np.bool_], when: str) -> None:
    _must(shares.shape == available.shape, f"{name}: shares must have shape {available.shape}, got {shares.shape}.")
    _must(np.isfinite(shares).all(), f"{name}: shares must be finite {when}, got {shares.tolist()}.")
    _must((shares >= 0.0).all(), f"{name}: shares must not be negative {when}, got {shares.min()}.")
    _must((shares[~available] == 0.0).all(), f"{name}: an arm that is not available has a share {when}.")
    sums = shares.sum(axis=0)
    _must(
        np.abs(sums - 1.0).max() <= SHARES_TOLERANCE,
        f"{name}: the shares of a context must sum to 1 {when}, got {sums.tolist()}.",
    )


@_quietly
def check_says_what_it_is(policy: Any) -> None:
    """It has a name, a docstring and dials whose defaults are allowed; an unknown dial is refused."""
    configured = _configured(policy)
    kind = configured.kind
    is_word = isinstance(kind.name, str) and kind.name.strip() == kind.name != ""
    _must(is_word, f"name must be a word, got {kind.name!r}.")
    _must((kind.__doc__ or "").strip(), f"{kind.name}: the class must have a docstring.")
    for dial in kind.dials:
        dial.number(dial.default)
        _must(dial.meaning.strip(), f"{kind.name}: dial {dial.name!r} must say what it means.")
    try:
        kind(no_such_dial=1.0)
    except InvalidInputError:
        pass
    else:
        raise AssertionError(f"{kind.name}: an unknown dial must be refused.")


@_quietly
def check_shares_are_a_distribution(policy: Any) -> None:
    """In every round and context, on every problem, with and without arms that are not available."""
    for instance in instances():
        masks = [np.ones(instance.mean_rewards.shape, dtype=bool)]
        if instance.n_arms > 1:
            masks.append(masks[0].copy())
            masks[1][0, 0] = False
        for available in masks:
            decider = _started(policy, instance, available=available)
            for step in range(0, ROUNDS, 4):
                played = _play(decider, instance, 4, seed=step)
                _check_shares(decider.label, decider.allocation(), available, f"after {step + 4} rounds")
                probabilities = [probability for _, probability in played]
                _must(
                    min(probabilities) > 0.0,
                    f"{decider.label}: an arm must be drawn with a positive probability, got {min(probabilities)}.",
                )


@_quietly
def check_same_seed_same_decisions(policy: Any) -> None:
    """Two policies with the same seed and the same problem make the same decisions."""
    for instance in instances():
        first, second = (_play(_started(policy, instance), instance) for _ in range(2))
        _must(first == second, f"{_configured(policy).label}: the same seed must give the same decisions.")


@_quietly
def check_online_plays_as_the_simulator(policy: Any) -> None:
    """The compiled loop and `decide` with `update` play the same arms and learn the same, round by round."""
    for instance in instances():
        configured = _configured(policy)
        optimum = find_optimum(instance, None)
        end = np.array([ROUNDS], dtype=np.int64)
        task = Task(instance, "it", configured, "gaussian", None, optimum, float("nan"), ROUNDS, 7, 0, end, 0)
        looped, online = bind(task, configured), bind(task, configured)
        run = make_run(make_world(task), looped.learner, task)
        play = player_of(configured.kind, run)
        statistics = looped.learner.statistics
        for t in range(1, ROUNDS + 1):
            before = statistics.by_pair[ByPair.PULLS].copy()
            play(t, t)
            (arm, context), *_ = np.argwhere(statistics.by_pair[ByPair.PULLS] != before).tolist()
            decision = online.decide(context)
            _must(
                online.arms.index(decision.arm) == arm,
                f"{configured.label}: in round {t} the simulator plays arm {arm}, and decide arm {decision.arm!r}.",
            )
            online.update(context, arm, reward_of_round(run.world, arm, context, Stream(7, 0, t)))
        _must(
            np.array_equal(online.allocation(), looped.allocation()),
            f"{configured.label}: the shares online must be those of the simulator, to the last bit.",
        )


@_quietly
def check_snapshot_goes_on_as_the_original(policy: Any) -> None:
    """Through JSON, pickle and copy, in the middle of a run."""
    for instance in instances():
        original = _started(policy, instance)
        _play(original, instance, 40)
        state = original.snapshot()
        copies = {
            "a snapshot through JSON": type(original).restore(json.loads(json.dumps(state))),
            "a pickled policy": pickle.loads(pickle.dumps(original)),
            "a deep copy": copy.deepcopy(original),
        }
        for what, twin in copies.items():
            _must(twin.snapshot() == state, f"{original.label}: {what} must have the same snapshot.")
        ahead = _play(original, instance, 40, seed=9)
        for what, twin in copies.items():
            _must(_play(twin, instance, 40, seed=9) == ahead, f"{original.label}: {what} must decide as the original.")


@_quietly
def check_rewards_come_late_and_in_batches(policy: Any) -> None:
    """Rewards in a batch count as they would one by one, and so do the contexts of a batch of decisions."""
    for instance in instances():
        together, singly = _started(policy, instance), _started(policy, instance)
        random = np.random.default_rng(5)
        contexts = random.integers(instance.n_contexts, size=12).tolist()
        arms = random.integers(instance.n_arms, size=12).tolist()
        rewards = random.random(12).tolist()
        together.update_many(contexts, arms, rewards)
        for context, arm, reward in zip(contexts, arms, rewards, strict=True):
            singly.update(context, arm, reward)
        label = together.label
        _must(together.snapshot() == singly.snapshot(), f"{label}: rewards must count the same in a batch.")
        many = list(together.decide_many(contexts))
        one_by_one = [singly.decide(context) for context in contexts]
        _must(many == one_by_one, f"{label}: decide_many must decide as decide does, one after the other.")
        _check_shares(label, together.allocation(), np.ones(instance.mean_rewards.shape, bool), "after a log")


@_quietly
def check_bad_input_changes_nothing(policy: Any) -> None:
    """An unknown arm or context, or a reward that is not finite, is refused and changes nothing."""
    for instance in instances():
        decider = _started(policy, instance)
        _play(decider, instance, 20)
        before = decider.snapshot()
        refused: list[tuple[Callable[..., Any], tuple[Any, ...], type[Exception]]] = [
            (decider.decide, ("nowhere",), UnknownNameError),
            (decider.decide, (instance.n_contexts,), UnknownNameError),
            (decider.update, (0, "nobody", 1.0), UnknownNameError),
            (decider.update, (0, 0, float("nan")), InvalidInputError),
            (decider.update_many, ([0, 0], [0, 0], [1.0, float("inf")]), InvalidInputError),
        ]
        for method, arguments, error in refused:
            try:
                method(*arguments)
            except error:
                continue
            raise AssertionError(f"{decider.label}: {method.__name__}{arguments} must be refused.")
        _must(decider.snapshot() == before, f"{decider.label}: input that is refused must change nothing.")


@_quietly
def check_changes_while_running(policy: Any) -> None:
    """Arms and contexts are added, an arm is retired, a floor changes; late rewards of the retired arm still count."""
    for instance in instances():
        decider = _started(policy, instance, horizon=10 * ROUNDS)
        _play(decider, instance, 30)
        newcomer = decider.add_arm("newcomer", floor=0.01)
        late = decider.add_context("late", probability=0.1)
        decider.set_floor(newcomer, 0.02)
        gone = decider.arms[0]
        decider.retire_arm(gone)
        seen = set()
        for step in range(60):
            context = decider.contexts[step % len(decider.contexts)]
            decision = decider.decide(context)
            seen.add(decision.arm)
            decider.update(context, decision.arm, 0.5)
            available = decider.learner.problem.available
            _check_shares(decider.label, decider.allocation(), available, "after changes")
        _must(gone not in seen, f"{decider.label}: a retired arm must not be played.")
        _must(newcomer in seen, f"{decider.label}: a new arm must be tried.")
        decider.update(0, gone, 0.5)
        twin = type(decider).restore(json.loads(json.dumps(decider.snapshot())))
        _must(twin.decide(late) == decider.decide(late), f"{decider.label}: a snapshot must go on as the original.")


@_quietly
def check_group_floors(policy: Any) -> None:
    """Group floors are accepted, or refused by a class that declares that it does not support them."""
    configured = _configured(policy)
    *_, instance = instances(groups=True)
    if configured.kind.supports_group_floors:
        decider = _started(policy, instance)
        _play(decider, instance)
        _check_shares(decider.label, decider.allocation(), np.ones(instance.mean_rewards.shape, bool), "with groups")
        return
    try:
        _started(policy, instance)
    except InvalidInputError:
        return
    raise AssertionError(f"{configured.label}: a class that does not support group floors must refuse them.")


@_quietly
def check_simulation(policy: Any) -> None:
    """Its simulation is reproducible, and what it records is finite."""
    for instance in instances():
        results = []
        for _ in range(2):
            end = np.array([ROUNDS], dtype=np.int64)
            optimum = find_optimum(instance, None)
            chosen = policy if isinstance(policy, PlainPolicy) and not isinstance(policy, type) else _configured(policy)
            task = Task(instance, "it", chosen, "gaussian", None, optimum, float("nan"), ROUNDS, 4, 1, end, 0)
            results.append(run_task(task))
        name = chosen.name
        _must(
            all(np.array_equal(one, other, equal_nan=True) for one, other in zip(*results, strict=True)),
            f"{name}: the same seed must give the same simulation.",
        )
        _must(np.isfinite(results[0][0][:5]).all(), f"{name}: sums must be finite, got {results[0][0][:5].tolist()}.")


@_quietly
def check_begins_afresh(policy: Any) -> None:
    """`begin` forgets everything: an object that was played plays like a new one, and leaves the problem unchanged."""
    for instance in instances():
        used, new = copied(policy), copied(policy)
        plays = []
        for twin, begins in ((used, 2), (new, 1)):
            for _ in range(begins):
                problem = problem_of(instance, None, ROUNDS)
                twin.begin(problem, 11)
                random = np.random.default_rng(2)
                shares = []
                for _ in range(30):
                    context = int(random.integers(instance.n_contexts))
                    shares.append(np.array(twin.allocate(context), dtype=np.float64))
                    _check_shares(policy.name, shares[-1], problem.available, "in some round")
                    twin.learn(context, int(random.integers(instance.n_arms)), float(random.normal()))
                told = problem_of(instance, None, ROUNDS)
                same = all(np.array_equal(one, other) for one, other in zip(told[3:5], problem[3:5], strict=True))
                _must(same, f"{policy.name}: the problem that `begin` is told must not be written to.")
            plays.append(np.array(shares))
        _must(
            np.array_equal(plays[0], plays[1]), f"{policy.name}: `begin` must forget everything that was learnt before."
        )


@_quietly
def check_masks(policy: Any) -> None:
    """Arms that are not available get no share."""
    for instance in instances():
        if instance.n_arms == 1:
            continue
        available = np.ones(instance.mean_rewards.shape, dtype=bool)
        available[0, 0] = False
        twin = copied(policy)
        twin.begin(problem_of(instance, available, ROUNDS), 1)
        for step in range(20):
            context = step % instance.n_contexts
            shares = np.array(twin.allocate(context), dtype=np.float64)
            _check_shares(policy.name, shares, available, f"in round {step + 1}")
            twin.learn(context, int(np.argmax(shares[:, context])), 0.5)


COMPILED: tuple[Check, ...] = (
    check_says_what_it_is,
    check_shares_are_a_distribution,
    check_same_seed_same_decisions,
    check_online_plays_as_the_simulator,
    check_snapshot_goes_on_as_the_original,
    check_rewards_come_late_and_in_batches,
    check_bad_input_changes_nothing,
    check_changes_while_running,
    check_group_floors,
    check_simulation,
)
PLAIN: tuple[Check, ...] = (check_begins_afresh, check_masks, check_simulation)
