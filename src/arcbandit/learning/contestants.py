"""Who takes part in the benchmark, by label; and the dials along which rules trade regret for violation."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from arcbandit.instance import Instance
from arcbandit.policies.registry import policy
from arcbandit.simulation.playable import Playable

JUDGED = "priced-lp"
CAREFUL = "priced-lp:violation_weight=10"
DEFAULT = "blp"  # what ratios are to
SAMPLER = "thompson-lp"
HOPEFUL, CAUTIOUS = "olp", "oplp"  # the paper's
CLAIRVOYANT, CLAIRVOYANT_WITH_MARGINS = "clairvoyant", "clairvoyant-margins"
CLAIRVOYANTS = (CLAIRVOYANT_WITH_MARGINS, CLAIRVOYANT)
# Those that take longest come first, so that no worker is left alone with one of them at the end.
PLAYED = (SAMPLER, JUDGED, CAREFUL, CAUTIOUS, DEFAULT, HOPEFUL, *CLAIRVOYANTS)
SHOWN_AS = {CAREFUL: "priced-lp, v = 10", CLAIRVOYANT_WITH_MARGINS: "clairvoyant, margins"}

# Runs that seem not to settle are played on only of these: of the others many do, and they would take the most time.
PLAYED_ON = ("priced-lp", "blp")

Contestant = Callable[[Instance], Playable]  # what `simulate` plays on an instance


class Dial(NamedTuple):
    """A rule with the values of one of its dials."""

    label: str
    rule: str
    dial: str
    values: tuple[float, ...]
    others: Mapping[str, float] = {}

    def policies(self) -> dict[str, Contestant]:
        """The rule at each value, by the label that the command line would give it."""
        return {self.label_at(value): always(policy(self.rule, **self.settings_at(value))) for value in self.values}

    def settings_at(self, value: float) -> dict[str, float]:
        """The dials that are set."""
        return {self.dial: value, **self.others}

    def label_at(self, value: float) -> str:
        """The rule with its dials."""
        return f"{self.rule}:" + ",".join(f"{name}={one:g}" for name, one in self.settings_at(value).items())


DIALS = (
    Dial("priced-lp, by violation_weight", "priced-lp", "violation_weight", (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)),
    Dial("linear program, by caution", "linear-program", "caution", (-1.0, -0.5, -0.25, 0.0, 0.5, 1.0)),
    Dial("thompson-lp, by share", "thompson-lp", "share", (0.0, 0.5, 1.0)),
)


def always(chosen: Playable) -> Contestant:
    """The same policy on every instance."""
    return lambda instance: chosen


def named(labels: tuple[str, ...] = PLAYED, further: Mapping[str, Playable] | None = None) -> dict[str, Contestant]:
    """The contestants of these labels: policies of `further`, or of those that take part unless told otherwise."""
    known: dict[str, Contestant] = {
        JUDGED: always(policy("priced-lp")),
        CAREFUL: always(policy("priced-lp", violation_weight=10)),
        **{name: always(policy(name)) for name in (DEFAULT, SAMPLER, HOPEFUL, CAUTIOUS)},
        **{label: always(chosen) for label, chosen in (further or {}).items()},
    }
    return {label: known[label] for label in labels if label in known}


def on_the_frontier() -> dict[str, Contestant]:
    """Every rule of the frontier at every value of its dial."""
    return {label: chosen for dial in DIALS for label, chosen in dial.policies().items()}


def shown_as(label: str) -> str:
    """A label as tables and charts show it."""
    return SHOWN_AS.get(label, label)
