"""The paper's main experiment over so many epochs that means have a third digit, and the spread of epochs a shape."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.estimates import Estimate, estimate
from arcbandit.experiments import regret_and_violation
from arcbandit.experiments.experiment import Settings, named
from arcbandit.experiments.growth import late_exponents
from arcbandit.experiments.paper_instances import paper_instance
from arcbandit.report.charts import Sheet
from arcbandit.report.epoch_charts import NAMED_SHARES, band_chart, density_chart, quantiles, share_at_zero
from arcbandit.report.tables import NumberTable, written, written_quantile, written_share
from arcbandit.simulation.fold import QUANTILE_ERROR
from arcbandit.simulation.metrics import METRICS
from arcbandit.simulation.run import simulate
from arcbandit.simulation.summary import Summary

Floats = NDArray[np.float64]

EXPERIMENT = regret_and_violation.EXPERIMENT
NAME = "many-epochs"
INSTANCE = "nu"
POLICIES = named("olp", "oplp", "blp")
EPOCHS = 65_536
CHECKPOINTS = 120
# An exponent is fitted to a single epoch, and a summary keeps none: these are played again, and kept.
FITTED_EPOCHS = 4_096
FITTED_CHECKPOINTS = 31
SMALLEST_POWER = 0.0001  # that is written out
# Those of the figure, and those of the table.
DRAWN = ("regret", "violation")
TABLED = (*DRAWN, "regret_plus_violation")

Progress = Callable[[float], None]  # called with work since the last call, in the unit of `work`


class Exponent(NamedTuple):
    """The mean over epochs of the late log-log slope of a sum."""

    estimate: Estimate
    left_out: int  # epochs without one, as their sum was still 0 in the last decade of rounds


@dataclass(frozen=True)
class ManyEpochs:
    """What the epochs came to."""

    summary: Summary
    exponents: dict[str, dict[str, Exponent]]  # by policy and metric
    fitted_epochs: int
    seconds: float

    @property
    def rounds(self) -> int:
        """Rounds in all."""
        return self.summary.horizon * (self.summary.epochs + self.fitted_epochs) * len(self.summary.policies)


def work(settings: Settings) -> int:
    """How much of a progress bar it is: a GPU plays many epochs in about the time of a few, and so they count."""
    return 2 * settings.horizon * settings.epochs * len(POLICIES)


def record(settings: Settings, epochs: int = EPOCHS, progress: Progress | None = None) -> ManyEpochs:
    """Play it from scratch, on the device of the settings."""
    start = time.perf_counter()
    instance = paper_instance(INSTANCE)
    summary = simulate(
        instance,
        POLICIES,
        settings.horizon,
        epochs,
        settings.seed,
        jobs=settings.jobs,
        checkpoints=CHECKPOINTS,
        progress=_counted(progress, settings, epochs),
        device=settings.device,
        keep="summary",
    )
    fitted = min(epochs, FITTED_EPOCHS)
    late = np.ceil(np.geomspace(max(settings.horizon / 10, 1.0), settings.horizon, FITTED_CHECKPOINTS))
    trace = simulate(
        instance,
        POLICIES,
        settings.horizon,
        fitted,
        settings.seed,
        jobs=settings.jobs,
        checkpoints=late.clip(max=settings.horizon).astype(np.int64).tolist(),
        progress=_counted(progress, settings, fitted),
        device=settings.device,
        keep="epochs",
    )
    exponents = {
        policy: {metric: exponent_of(late_exponents(trace, metric, policy)) for metric in TABLED} for policy in POLICIES
    }
    return ManyEpochs(summary, exponents, fitted, time.perf_counter() - start)


def _counted(progress: Progress | None, settings: Settings, epochs: int) -> Callable[[int], None] | None:
    """Progress in rounds, counted as `work` counts them."""
    return None if progress is None else lambda rounds: progress(rounds * settings.epochs / epochs)


def exponent_of(slopes: Floats) -> Exponent:
    """The mean of the slopes of those epochs that have one."""
    found = slopes[np.isfinite(slopes)]
    mean = estimate(found) if found.size else Estimate(math.nan, math.nan)
    return Exponent(mean, len(slopes) - len(found))


def figure(many: ManyEpochs) -> Sheet:
    """Where the epochs end, and the means with the band of the epochs on the way there."""
    summary = many.summary
    ends = (density_chart(summary, metric, summary.policies) for metric in DRAWN)
    bands = (band_chart(summary, metric, summary.policies) for metric in DRAWN)
    charts = (*(chart for chart in ends if chart is not None), *bands)
    return Sheet(figure_title(many), charts)


def figure_title(many: ManyEpochs) -> str:
    """Which is also that of the section."""
    return f"Over {many.summary.epochs:,} epochs"


def table(many: ManyEpochs) -> NumberTable:
    """Means with their intervals, quantiles and exponents."""
    summary = many.summary
    rows = []
    for policy in summary.policies:
        for metric in TABLED:
            rows.append(
                (
                    f"{policy}, {METRICS[metric].heading}",
                    written(summary.estimate(metric, policy)),
                    *map(written_quantile, quantiles(summary, metric, policy).values()),
                    _written_power(many.exponents[policy][metric].estimate),
                )
            )
    header = ("sum", "mean", *NAMED_SHARES, "power of T")
    return NumberTable(f"After {summary.horizon:,} rounds", header, tuple(rows))


def _written_power(one: Estimate) -> str:
    """A sum that stands still in nearly all epochs would have more zeros than digits."""
    return f"below {SMALLEST_POWER:g}" if one.mean < SMALLEST_POWER else written(one)


def about(many: ManyEpochs) -> str:
    """What was played and how to read it."""
    summary = many.summary
    *first, last = summary.policies
    return (
        f"{', '.join(first)} and {last} on ν as above, over {summary.epochs:,} epochs. The first charts show where the "
        f"epochs end, with their {', '.join(NAMED_SHARES)} quantiles below; the others the means over rounds, shaded "
        "from the 5 % to the 95 % quantile of the epochs. In the table ± is the half width of a 95 % interval of the "
        f"mean; quantiles are within {100 * QUANTILE_ERROR:g} %. The power of T is the log-log slope over the last "
        f"decade of rounds, fitted to each of the first {many.fitted_epochs:,} epochs; its mean is shown."
        f"{_left_out(many)}"
    )


def _left_out(many: ManyEpochs) -> str:
    """What the charts and the powers cannot show, if there is any."""
    at_zero, unfitted = [], []
    for policy, by_metric in many.exponents.items():
        for metric, found in by_metric.items():
            share = share_at_zero(many.summary, metric, policy)
            if share and metric in DRAWN:
                at_zero.append(f"{written_share(Estimate(share, math.nan))} of {policy}'s {METRICS[metric].heading}")
            if found.left_out:
                unfitted.append(f"{found.left_out:,} of {policy}'s {METRICS[metric].heading}")
    texts = []
    if at_zero:
        texts.append(f" Epochs that end at 0 have no place on a logarithmic axis: {', '.join(at_zero)}.")
    if unfitted:
        texts.append(f" Those whose sum was 0 at the start of that decade have no slope: {', '.join(unfitted)}.")
    return "".join(texts)


def played(many: ManyEpochs) -> dict[str, str]:
    """How it was run."""
    summary = many.summary
    return {
        "device": str(summary.settings["device"]),
        "instance": INSTANCE,
        "policies": ", ".join(summary.policies),
        "horizon": f"{summary.horizon:,}",
        "epochs": f"{summary.epochs:,}, and {many.fitted_epochs:,} again for the powers",
        "rounds in all": f"{many.rounds:,}",
        "seconds": f"{many.seconds:.1f}",
    }
