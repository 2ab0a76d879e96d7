"""A second count: statistics from the log, and every decision drawn again from its plan."""

from typing import NamedTuple

from arcbandit.service.amounts import PairTotals
from arcbandit.service.campaigns import Campaign
from arcbandit.service.drawing import Shares, drawn, without
from arcbandit.service.store import Reader


class Audit(NamedTuple):
    """What was counted again, and what differed."""

    campaigns: int
    decisions: int
    rewards: int
    differences: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether everything agreed."""
        return not self.differences


def audited(reader: Reader, most_differences: int = 20) -> Audit:
    """Count the log of every campaign again, and draw every decision again from its stored plan.

    Exactly: whole numbers are equal, and probabilities are the same to the last bit.
    """
    found: list[str] = []
    campaigns = decisions = rewards = 0
    for record, plan in reader.campaigns():
        campaigns += 1
        counted: dict[tuple[int, int], PairTotals] = {}
        plans = {plan.version: Campaign(record, plan)}
        for logged in reader.decisions(record.id):
            made = logged.decision
            decisions += 1
            pair = (made.arm, made.context)
            totals = counted.get(pair, PairTotals()).decided()
            if logged.reward is not None:
                rewards += 1
                totals = totals.rewarded(logged.reward)
            counted[pair] = totals
            if made.plan_version not in plans:
                earlier = reader.plan(record.id, made.plan_version)
                if earlier is None:
                    found.append(f"{record.name}: plan {made.plan_version} of decision {made.sequence} is missing.")
                    continue
                plans[made.plan_version] = Campaign(record, earlier)
            shares: Shares | None = plans[made.plan_version].shares(made.context)
            if made.excluded and shares is not None:
                # If the plan gave the others nothing, any that could be played was drawn; which could is not kept.
                shares = without(shares, made.excluded, ())
            if shares is not None and drawn(shares, made.uniform) != (made.arm, made.probability):
                found.append(f"{record.name}: decision {made.sequence} is not what its plan draws.")
        kept = reader.statistics(record.id).pairs
        for pair in sorted(counted.keys() | kept.keys()):
            if counted.get(pair, PairTotals()) != kept.get(pair, PairTotals()):
                found.append(
                    f"{record.name}: the statistics of arm {pair[0]} in context {pair[1]} are "
                    f"{tuple(kept.get(pair, PairTotals()))}, but the log has {tuple(counted.get(pair, PairTotals()))}."
                )
    return Audit(campaigns, decisions, rewards, tuple(found[:most_differences]))
