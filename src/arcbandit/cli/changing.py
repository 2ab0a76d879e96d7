"""What the command line says of rewards that come late, worlds that change, and policies that forget."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from arcbandit.errors import ArcbanditError, InvalidInputError
from arcbandit.inputs.similar import did_you_mean
from arcbandit.inputs.values import LONGEST_HORIZON

if TYPE_CHECKING:
    from arcbandit.instance import Instance
    from arcbandit.policies.forgetting import Window
    from arcbandit.simulation.delays import Delay
    from arcbandit.simulation.drift import Drift

Made = TypeVar("Made")

GEOMETRIC = "geometric"
WINDOW = "window"
ROUND = "round"
WALK = ("step", "every", "low", "high", "seed")


def delay_of(text: str | None, lost: float | None) -> "Delay | None":
    """`--delay 100`, `--delay geometric:100` and `--lost 0.05`."""
    if text is None and lost is None:
        return None
    from arcbandit.simulation.delays import Delay

    if lost is not None and not 0.0 <= lost <= 1.0:
        raise InvalidInputError(f"--lost must be a probability from 0 to 1, got {lost:g}.")
    share = 0.0 if lost is None else lost
    if text is None:
        return Delay(lost=share)
    kind, colon, mean = text.partition(":")
    if colon and kind == GEOMETRIC:
        return _told("--delay", lambda: Delay(mean=_number("--delay", text, mean), lost=share))
    return _told("--delay", lambda: Delay(_rounds("--delay", text, text), lost=share))


def memory_of(flag: str, text: str) -> "float | Window":
    """`--memory 5000`, a half-life, or `--memory window:5000`."""
    from arcbandit.policies.forgetting import Window

    kind, colon, rounds = text.partition(":")
    if colon and kind == WINDOW:
        return _told(flag, lambda: Window(_rounds(flag, text, rounds)))
    half_life = _number(flag, text, text)
    if not 1.0 <= half_life <= LONGEST_HORIZON:
        raise InvalidInputError(f"{flag} must be a half-life of at least 1 round, or window:rounds, got {text!r}.")
    return half_life


def drift_of(path: str | None, instance: "Instance", horizon: int) -> "Drift | None":
    """The changes in a .toml or .json file, or the walk that it tells of."""
    if path is None:
        return None
    from arcbandit.instance.files import read_instance_file

    if Path(path).suffix.lower() not in (".toml", ".json"):
        raise InvalidInputError(f"--drift must name a .toml or .json file, got {path!r}.")
    return _told("--drift", lambda: read_instance_file(path, lambda data: _drift(data, instance, horizon)))


def _drift(data: Any, instance: "Instance", horizon: int) -> "Drift":
    from arcbandit.simulation.drift import Drift, worlds_of

    if not isinstance(data, Mapping) or list(data) not in (["changes"], ["wandering"]):
        raise InvalidInputError("must hold either a list `changes` or a table `wandering`, and nothing else.")
    if "wandering" in data:
        return Drift.wandering(instance, horizon, **_walk(data["wandering"]))
    changes = data["changes"]
    if not isinstance(changes, list) or not changes or not all(isinstance(change, Mapping) for change in changes):
        raise InvalidInputError("changes must be a list of tables, each with a round and what changes then.")
    for place, change in enumerate(changes):
        if ROUND not in change:
            raise InvalidInputError(f"changes[{place}] must have a round, got {', '.join(change) or 'nothing'}.")
    pairs = [(change[ROUND], {name: part for name, part in change.items() if name != ROUND}) for change in changes]
    drift = Drift(pairs)
    worlds_of(drift, instance, horizon)  # so that errors are told here, with the name of the file
    return drift


def _walk(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not {"step", "every"} <= set(given):
        raise InvalidInputError("wandering must be a table with step and every.")
    for name in given:
        if name not in WALK:
            raise InvalidInputError(
                f"wandering has no field {name!r}{did_you_mean(name, WALK)}: it has {', '.join(WALK)}."
            )
    return dict(given)


def remarks(settings: Mapping[str, Any]) -> list[str]:
    """What a simulation says above its table of late rewards and changes."""
    said = []
    delay = settings.get("delay")
    if delay is not None:
        late = (
            f"{delay['rounds']:,} rounds late" if delay["mean"] is None else f"{delay['mean']:g} rounds late on average"
        )
        parts = [f"Rewards come {late}"] if delay["rounds"] or delay["mean"] else []
        if delay["lost"]:
            parts.append(f"{100 * delay['lost']:.3g} % of {'them' if parts else 'rewards'} are lost")
        said.append(f"{', and '.join(parts)}.")
    drift = settings.get("drift")
    if drift is not None:
        rounds = drift["rounds"][1:]
        when = f"in round {rounds[0]:,}" if len(rounds) == 1 else f"{len(rounds):,} times, first in round {rounds[0]:,}"
        said.append(f"The world changes {when}; regret is against the best plan of the moment.")
    return said


def _number(flag: str, text: str, part: str) -> float:
    try:
        number = float(part)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        kinds = f"{GEOMETRIC}:mean" if flag == "--delay" else f"{WINDOW}:rounds"
        raise InvalidInputError(f"{flag} must be a number of rounds or {kinds}, got {text!r}.")
    return number


def _rounds(flag: str, text: str, part: str) -> int:
    number = _number(flag, text, part)
    if number != int(number):
        raise InvalidInputError(f"{flag} must be a whole number of rounds, got {text!r}.")
    return int(number)


def _told(flag: str, make: Callable[[], Made]) -> Made:
    """What was made; an error says which flag it is about."""
    try:
        return make()
    except ArcbanditError as error:
        if str(error).startswith(flag):
            raise
        raise InvalidInputError(f"{flag}: {error}") from error
