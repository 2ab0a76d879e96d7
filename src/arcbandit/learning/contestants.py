"""Who takes part in the benchmark, by label; and the dials along which rules trade regret for violation."""

from collections.abc import Mapping
from typing import NamedTuple, cast

from arcbandit.policies.registry import policy
from arcbandit.simulation.playable import Playable

JUDGED = "priced-lp"
CAREFUL = "priced-lp:violation_weight=10"
DEFAULT = "blp"  # what ratios are to
SAMPLER = "thompson-lp"
HOPEFUL, CAUTIOUS = "olp", "oplp"  # the paper's
CLAIRVOYANT, CLAIRVOYANT_WITH_MARGINS = "clairvoyant", "clairvoyant-margins"
CLAIRVOYANTS = (CLAIRVOYANT_WITH_MARGINS, CLAIRVOYANT)
# Those that are compared. Those that take longest come first, so that no worker is left alone with one at the end.
COMPARED = (SAMPLER, JUDGED, CAREFUL, CAUTIOUS, DEFAULT, HOPEFUL, *CLAIRVOYANTS)
# All others of the library: rows in the tables, but marks in the charts only where one is better than the policy that
# is judged, as most lose ten times as much.
BASELINES = (
    "bandit-q",
    "loe2d",
    "optimistic3",
    "lagrange-cb",
    "drift-plus-penalty",
    "spoc",
    "sgoc",
    "doc",
    "greedy",
)
PLAYED = (*COMPARED, *BASELINES)
SHOWN_AS = {CAREFUL: "priced-lp, v = 10", CLAIRVOYANT_WITH_MARGINS: "clairvoyant, margins"}

# Runs that seem not to settle are played on only of these: of the baselines most do, and they would take the most time.
PLAYED_ON = tuple(label for label in COMPARED if label != CAREFUL)


class Dial(NamedTuple):
    """A rule with the values of one of its dials."""

    label: str
    rule: str
    dial: str
    values: tuple[float, ...]
    others: Mapping[str, float] = {}

    def policies(self) -> dict[str, Playable]:
        """The rule at each value, by the label that the command line would give it."""
        return {self.label_at(value): policy(self.rule, **self.settings_at(value)) for value in self.values}

    def settings_at(self, value: float) -> dict[str, float]:
        """The dials that are set."""
        return {self.dial: value, **self.others}

    def label_at(self, value: float) -> str:
        """The rule with its dials."""
        return f"{self.rule}:" + ",".join(f"{name}={one:g}" for name, one in self.settings_at(value).items())


# Short names, as they stand beside the lines of a chart.
DIALS = (
    Dial("priced-lp: weight", "priced-lp", "violation_weight", (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)),
    Dial("linear program: caution", "linear-program", "caution", (-1.0, -0.5, -0.25, 0.0, 0.5, 1.0)),
    Dial("thompson-lp: share", "thompson-lp", "share", (0.0, 0.5, 1.0)),
    Dial("drift: penalty", "drift-plus-penalty", "penalty_scale", (0.1, 1.0, 10.0)),
    Dial("loe2d: penalty", "loe2d", "penalty_scale", (0.1, 1.0, 10.0)),
    Dial("lagrange-cb: margin", "lagrange-cb", "margin", (0.1, 0.5, 2.0)),
    Dial("bandit-q: rate", "bandit-q", "rate_scale", (0.1, 1.0, 10.0)),
    Dial("optimistic3: alpha", "optimistic3", "alpha", (0.5, 2.0, 8.0)),
    Dial("doc: noise factor", "doc", "noise_factor", (0.3, 1.0, 3.0)),
    Dial("sgoc: noise factor", "sgoc", "noise_factor", (0.3, 1.0, 3.0)),
    Dial("spoc: noise factor", "spoc", "noise_factor", (0.3, 1.0, 3.0)),
)


def everybody() -> dict[str, Playable]:
    """Those who take part unless told otherwise, by label."""
    special: dict[str, Playable] = {CAREFUL: policy(JUDGED, violation_weight=10)}
    return {label: special[label] if label in special else cast(Playable, label) for label in PLAYED}


def on_the_frontier() -> dict[str, Playable]:
    """Every rule of the frontier at every value of its dial."""
    return {label: chosen for dial in DIALS for label, chosen in dial.policies().items()}


def shown_as(label: str) -> str:
    """A label as tables and charts show it."""
    return SHOWN_AS.get(label, label)
