"""The compiled loop over rounds, which reads like the protocol of the paper."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from arcbandit.compilation.compile import bound, entry_kernel, kernel
from arcbandit.compilation.packing import kind_of, packed, unpacker
from arcbandit.kernels.confidence import record_reward
from arcbandit.kernels.noise import take_in_noise
from arcbandit.kernels.sampling import arm_from_uniform
from arcbandit.policies.budget import allocating_kernel
from arcbandit.policies.calling import calling, kind_to_share
from arcbandit.policies.learner import (
    Learner,
    Replan,
    Stream,
    estimate_again,
    forgets,
    keeps_plan,
    observe_context,
    pass_rounds,
    see_context,
    set_next_plan,
    take_in_reward,
)
from arcbandit.policies.proven import OF_SOFT_FLOORS
from arcbandit.simulation.beyond import audit_identity, audit_priced
from arcbandit.simulation.draws import Draws, draw_round
from arcbandit.simulation.late import NOBODY, arrived, first_arrival, next_arrival, send
from arcbandit.simulation.meters import (
    Compared,
    Meters,
    Record,
    audit,
    count_outcome,
    expect_of_all,
    expect_of_plan,
    has_optimal_set,
    is_of_basis,
    measure_allocation,
    measure_reward,
    write_checkpoint,
)
from arcbandit.simulation.metrics import Total
from arcbandit.simulation.world import World, reward_from_noise

# Placeholders for a rule's kernels: `bound` gives each rule a copy of the loop with its own.
rule_allocate: Any = None
allocate_elsewhere: Any = None
rule_learn: Any = None
SHARED: bool = False
PLANS: bool = False
PLAYS_BASES: bool = False
AUDITED: bool = False
AUDITS_SOFT_FLOORS: bool = False
ON_CADENCE: bool = False
DELAYED: bool = False
FORGETS: bool = False
play_rounds: Any = None
unpack: Any = None
LEARNER_AT: int = 0


def rounds(world, learner, meters, stream, first, last, record, draws, numbers):
    """Play the rounds `first` .. `last` and record the sums at the checkpoints among them.

    `draws` is memory for random numbers, or an empty tuple. `numbers` are those of the learner, for a rule that is
    called by them.
    """
    place = 0
    while place < record.checkpoints.shape[0] and record.checkpoints[place] < first:
        place += 1
    for t in range(first, last + 1):
        here = Stream(stream.seed, stream.epoch, t)
        context, arm_uniform, noise = draw_round(world, stream, t, first, last, draws)
        # The compiler leaves out the branches that are not the rule's.
        if FORGETS:
            pass_rounds(learner, learner.past, t)
            see_context(learner, learner.past, context, t)
        if ON_CADENCE:
            if keeps_plan(learner.progress, t):
                if not FORGETS:
                    learner.statistics.context_counts[context] += 1.0
                outcome = meters.compared[Compared.OUTCOME]
            else:
                if FORGETS:
                    estimate_again(learner, learner.past)
                else:
                    observe_context(
                        learner.settings, learner.statistics, learner.problem.context_probabilities, context
                    )
                if SHARED:
                    outcome = allocate_elsewhere(numbers, context, t, here)
                else:
                    outcome = rule_allocate(learner, context, t, here)
                meters.compared[Compared.OUTCOME] = outcome
                set_next_plan(learner.settings, learner.progress, t)
        else:
            if FORGETS:
                estimate_again(learner, learner.past)
            else:
                observe_context(learner.settings, learner.statistics, learner.problem.context_probabilities, context)
            if SHARED:
                outcome = allocate_elsewhere(numbers, context, t, here)
            else:
                outcome = rule_allocate(learner, context, t, here)
        arm = arm_from_uniform(learner.allocation, context, arm_uniform)
        reward = reward_from_noise(world, arm, context, noise)
        if PLAYS_BASES:
            performance = expect_of_plan(world, learner.problem, learner.allocation, learner.planner, outcome, meters)
        else:
            performance = expect_of_all(world, learner.problem, learner.allocation, meters)
        regret, violation = measure_allocation(world, learner.problem, performance, meters)
        count_outcome(PLANS, PLAYS_BASES, outcome, meters)
        if PLAYS_BASES:
            matched = is_of_basis(outcome) and has_optimal_set(world, learner.planner, outcome, meters)
            meters.totals[Total.OPTIMAL_SET] += 1.0 if matched else 0.0
            if AUDITED:
                sigma = learner.settings[0].noise_scale
                audit(world, learner, sigma, t, outcome, matched, regret, violation, meters)
        if AUDITED:
            audit_identity(world, learner.problem, learner.allocation, performance, meters)
            if AUDITS_SOFT_FLOORS:
                audit_priced(world, learner, t, outcome, violation, meters)
        if DELAYED:
            send(world.late, here, context, arm, reward)
            slot = first_arrival(world.late, t)
            while slot != NOBODY:
                old_context, old_arm, old_reward = arrived(world.late, slot)
                if FORGETS:
                    take_in_reward(learner, learner.noise, learner.past, old_arm, old_context, old_reward, t)
                else:
                    take_in_noise(learner.settings, learner.noise, learner.statistics, old_arm, old_context, old_reward)
                    record_reward(learner.statistics, old_arm, old_context, old_reward)
                rule_learn(learner, old_context, old_arm, old_reward)
                slot = next_arrival(world.late, slot)
        else:
            if FORGETS:
                take_in_reward(learner, learner.noise, learner.past, arm, context, reward, t)
            else:
                take_in_noise(learner.settings, learner.noise, learner.statistics, arm, context, reward)
                record_reward(learner.statistics, arm, context, reward)
            rule_learn(learner, context, arm, reward)
        measure_reward(learner.problem, arm, reward, t, meters)
        if place < record.checkpoints.shape[0] and record.checkpoints[place] == t:
            write_checkpoint(learner.problem, meters, place, record)
            place += 1


class Run(NamedTuple):
    """A run as compiled code sees it."""

    world: World
    learner: Learner
    meters: Meters
    stream: Stream  # its number is set in each round
    record: Record
    draws: Draws


def play(numbers, epoch, first, last):
    """Play rounds of an epoch of a packed run."""
    run = unpack(numbers)
    stream = Stream(run.stream.seed, epoch, 0)
    play_rounds(run.world, run.learner, run.meters, stream, first, last, run.record, run.draws, numbers[LEARNER_AT:])


@functools.cache
def loop_of(
    allocate: Callable[..., Any],
    learn: Callable[..., Any],
    plans: bool,
    audited: bool = False,
    on_cadence: bool = False,
    delayed: bool = False,
    fades: bool = False,
    soft_floors: bool = False,
    audits_soft_floors: bool = False,
    shared_by: Any = None,
) -> Any:
    """The kernel `play_rounds(world, learner, meters, stream, first, last, record, draws, numbers)` of a rule.

    What an audit counts is much to compile, so only the loop of an audited world has it; and only the loop of a rule
    that does not plan in every round asks whether it is time to, only that of late rewards lets them wait. Learners of
    the kind `shared_by` share the code of `allocate`.
    """
    return bound(
        kernel,
        rounds,
        rule_learn=learn,
        PLANS=plans,
        PLAYS_BASES=plans and not soft_floors,
        AUDITED=audited,
        AUDITS_SOFT_FLOORS=audits_soft_floors,
        ON_CADENCE=on_cadence,
        DELAYED=delayed,
        FORGETS=fades,
        **calling(allocate, shared_by)._asdict(),
    )


def audits_soft_floors(rule: Any) -> bool:
    """Whether an audit of a rule (a policy class) counts what is proven of rules with soft floors."""
    return bool(rule.soft_floors) and not OF_SOFT_FLOORS.isdisjoint(rule.proven)


def is_on_cadence(learner: Learner) -> bool:
    """Whether some rounds keep the plan of an earlier one."""
    return bool(learner.settings[0].replan != Replan.ALWAYS)


@functools.cache
def _player(kind: Any, learner_at: int, *of_loop: Any) -> Any:
    return bound(entry_kernel, play, play_rounds=loop_of(*of_loop), unpack=unpacker(kind), LEARNER_AT=learner_at)


def player_of(rule: Any, run: Run) -> Callable[..., None]:
    """A function that plays the rounds of a run, from a first to a last one, by a rule (a policy class).

    A third argument is the epoch whose random numbers are drawn, by default that of the run's stream.
    """
    numbers = packed(run)
    world = run.world
    learner = run.learner
    variants = (world.audited, is_on_cadence(learner), len(world.late) > 0, forgets(learner))
    of_rule = (rule.soft_floors, audits_soft_floors(rule))
    allocate = allocating_kernel(rule.allocate, learner)
    of_loop = (allocate, rule.learn, rule.plans, *variants, *of_rule, kind_to_share(learner))
    compiled = _player(kind_of(run), len(packed(world)), *of_loop).compiled  # the learner comes after the world

    def play_stretch(first: int, last: int, epoch: int = run.stream.epoch, _kept: Run = run) -> None:
        compiled(numbers, epoch, first, last)

    return play_stretch
