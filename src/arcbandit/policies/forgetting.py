"""What `memory` may be: a half-life, or a window; and what a policy keeps for it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import LONGEST_HORIZON, is_real, shown, whole
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.fading import Fading, make_fading
from arcbandit.kernels.window import Count, Kept, Seen, Sum, make_window
from arcbandit.kernels.window import Window as Kernels
from arcbandit.policies.learner import Learner, Progress

if TYPE_CHECKING:
    from arcbandit.policies.base import Policy

LONGEST_WINDOW = 10_000_000  # its rewards are all kept: half a gigabyte


@dataclass(frozen=True)
class Window:
    """A `memory` of the last rounds alone: a reward counts in full for so many rounds, and then no more.

    >>> from arcbandit import OLP, Window
    >>> policy = OLP([0.1, 0.1], [0.5, 0.5], memory=Window(100), seed=1)
    >>> policy.update(0, policy.decide(0).arm, 1.0)
    >>> after_the_next_100 = policy.decide_many([0] * 100)
    >>> float(policy.pulls().sum())
    1.0
    >>> after_one_more = policy.decide(0)
    >>> float(policy.pulls().sum())
    0.0
    """

    rounds: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounds", whole("rounds of a Window", self.rounds, 1, LONGEST_WINDOW))


def checked_memory(kind: "type[Policy]", memory: Any) -> "float | Window | None":
    """A half-life in rounds as a float, a window, or None."""
    if memory is None:
        return None
    if not isinstance(memory, Window) and (not is_real(memory) or not 1.0 <= memory <= LONGEST_HORIZON):
        raise InvalidInputError(
            f"memory must be None or a half-life of 1 to {LONGEST_HORIZON} rounds, or a Window, got {shown(memory)}."
        )
    if not kind.plans:
        raise InvalidInputError(f"memory must be None for {kind.__name__}, which does not plan, got {memory!r}.")
    return memory if isinstance(memory, Window) else float(memory)


def memory_label(memory: "float | Window") -> str:
    """As it stands in the label of a policy."""
    return f"window={memory.rounds}" if isinstance(memory, Window) else f"memory={memory:g}"


def memory_document(memory: "float | Window | None") -> Any:
    """As it stands in a snapshot."""
    return {"window": memory.rounds} if isinstance(memory, Window) else memory


def memory_of_document(document: Any) -> Any:
    """What `memory_document` was made of."""
    return Window(document["window"]) if isinstance(document, dict) else document


def make_past(memory: "float | Window | None", n_arms: int, n_contexts: int, *, estimate_contexts: bool) -> Fading:
    """What a learner keeps to forget by, before anything was seen."""
    if memory is None:
        return cast(Fading, ())
    if isinstance(memory, Window):
        window = make_window(memory.rounds, n_arms, n_contexts, counts_contexts=estimate_contexts)
        return cast(Fading, window)
    return make_fading(n_arms, n_contexts, memory)


def earned_by_arm(learner: Learner, prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rewards of each arm in all, forgotten or not; `prior` is a sum per pair that nobody earned, shape (K, C)."""
    if len(learner.past) > 0:
        return learner.past.earned.copy()
    by_pair = learner.statistics.by_pair
    total: NDArray[np.float64] = (by_pair[ByPair.PULLS] * by_pair[ByPair.MEAN] - prior).sum(axis=1)
    return total


def contexts_counted(learner: Learner) -> NDArray[np.float64]:
    """How often each context came, of what is not forgotten."""
    recent: NDArray[np.float64] = (
        learner.past.by_context if len(learner.past) > 0 else learner.statistics.context_counts
    )
    return recent.copy()


def with_past(learner: Learner, old: Learner) -> Learner:
    """A learner of a larger shape, with the past of another; a window's slots are those of the other."""
    if len(old.past) == 0:
        return learner
    n_arms, n_contexts = old.allocation.shape
    learner.past.by_context[:n_contexts] = old.past.by_context
    learner.past.earned[:n_arms] = old.past.earned
    if isinstance(old.past, Kernels):
        sums = cast(Kernels, learner.past).sums
        sums[:, :n_arms, :n_contexts] = old.past.sums
        larger = {"by_context": learner.past.by_context, "earned": learner.past.earned, "sums": sums}
        return learner._replace(past=cast(Fading, old.past._replace(**larger)))
    learner.past.next_fade[:] = old.past.next_fade
    return learner


def past_document(learner: Learner) -> "dict[str, Any] | None":
    """What is not in the statistics, as plain data: recent contexts, what arms earned and, of a window, its rewards.

    The oldest reward is the first.
    """
    past: Any = learner.past
    if len(past) == 0:
        return None
    if not isinstance(past, Kernels):
        return {"context_counts": past.by_context.tolist(), "earned": past.earned.tolist()}
    slots = _slots(past.counts[Count.FIRST], past.counts[Count.REWARDS], past.rewards)
    seen = _slots(past.counts[Count.FIRST_SEEN], past.counts[Count.SEEN], past.seen[0])
    return {
        "earned": past.earned.tolist(),
        "rewards": past.rewards[slots].tolist(),
        "rounds": past.places[Kept.ROUND, slots].tolist(),
        "arms": past.places[Kept.ARM, slots].tolist(),
        "contexts": past.places[Kept.CONTEXT, slots].tolist(),
        "summed": int(past.counts[Count.FRONT]),
        "seen_rounds": past.seen[Seen.ROUND, seen].tolist(),
        "seen_contexts": past.seen[Seen.CONTEXT, seen].tolist(),
    }


def _slots(first: int, count: int, ring: NDArray[Any]) -> NDArray[np.int64]:
    return (first + np.arange(count)) % len(ring)


def restore_past(learner: Learner, document: "dict[str, Any] | None") -> None:
    """Give a new learner the past of another; rounds are those of its progress."""
    past: Any = learner.past
    if document is None:
        return
    past.earned[:] = document["earned"]
    if not isinstance(past, Kernels):
        past.by_context[:] = document["context_counts"]
        every = int(learner.settings[0].fade_every)
        gone = int(max(learner.progress[[Progress.DECISIONS, Progress.REWARDS]]))
        past.next_fade[0] = (gone // every + 1) * every
        return
    count, seen, front = len(document["rewards"]), len(document["seen_rounds"]), document["summed"]
    past.rewards[:count] = document["rewards"]
    past.places[Kept.ROUND, :count] = document["rounds"]
    past.places[Kept.ARM, :count] = document["arms"]
    past.places[Kept.CONTEXT, :count] = document["contexts"]
    past.after[:front], past.sums[:] = window_sums(document, past.sums.shape[1:])
    past.counts[Count.REWARDS] = count
    past.counts[Count.FRONT] = front
    past.seen[Seen.ROUND, :seen] = document["seen_rounds"]
    past.seen[Seen.CONTEXT, :seen] = document["seen_contexts"]
    past.counts[Count.SEEN] = seen
    np.add.at(past.by_context, past.seen[Seen.CONTEXT, :seen], 1.0)


def window_sums(
    document: "dict[str, Any]", shape: tuple[int, int]
) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """What stands beside the rewards in the front, shape (front,), and the sums of both parts, shape (2, K, C).

    Made in the order in which the kernels make them, and so the same to the last bit.
    """
    front = document["summed"]
    rewards = np.array(document["rewards"], dtype=np.float64)
    pairs = np.array(document["arms"], dtype=np.int64) * shape[1] + np.array(document["contexts"], dtype=np.int64)
    after = np.zeros(front)
    sums = np.zeros((len(Sum), shape[0] * shape[1]))
    newest_first = np.argsort(pairs[:front][::-1], kind="stable")
    for slots in np.split(front - 1 - newest_first, np.flatnonzero(np.diff(pairs[:front][::-1][newest_first])) + 1):
        if len(slots) > 0:
            running = np.cumsum(np.append(0.0, rewards[slots]))
            after[slots] = running[:-1]
            sums[Sum.FRONT, pairs[slots[0]]] = running[-1]
    np.add.at(sums[Sum.BACK], pairs[front:], rewards[front:])
    return after, sums.reshape(len(Sum), *shape)
