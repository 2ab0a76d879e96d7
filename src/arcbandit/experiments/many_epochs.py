"""The paper's main experiment over enough epochs for means with three digits and the distribution over epochs."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.estimates import NOT_A_NUMBER, Estimate, estimate, written
from arcbandit.experiments import regret_and_violation
from arcbandit.experiments.experiment import Experiment, Recorded, Run, Settings, named
from arcbandit.experiments.growth import late_exponents
from arcbandit.report.charts import Sheet
from arcbandit.report.epoch_charts import NAMED_SHARES, band_chart, density_chart, quantiles, share_at_zero
from arcbandit.report.tables import LIMIT, NumberTable, written_limit, written_quantile, written_share
from arcbandit.simulation.fold import QUANTILE_ERROR
from arcbandit.simulation.metrics import METRICS
from arcbandit.simulation.summary import Summary

Floats = NDArray[np.float64]

NAME = "many-epochs"
INSTANCE = "nu"
POLICIES = named("olp", "oplp", "blp")
EPOCHS = 65_536
CHECKPOINTS = 120
# An exponent is fitted to a single epoch, but a summary keeps none: these are played again and kept.
FITTED_EPOCHS = 4_096
FITTED_CHECKPOINTS = 31
SMALLEST_POWER = 0.0001  # a smaller one is not written out
# The metrics of the figure, and those of the table.
DRAWN = ("regret", "violation")
TABLED = (*DRAWN, "regret_plus_violation")
UNKNOWN = (NOT_A_NUMBER,) * (len(NAMED_SHARES) + 1)  # the quantiles and the power of the limit, which has none


class Exponent(NamedTuple):
    """The mean over epochs of the late log-log slope of a sum."""

    estimate: Estimate
    left_out: int  # epochs without one, as their sum was still 0 in the last decade of rounds


def _runs(settings: Settings) -> tuple[Run, ...]:
    late = np.ceil(np.geomspace(max(settings.horizon / 10, 1.0), settings.horizon, FITTED_CHECKPOINTS))
    places = tuple(late.clip(max=settings.horizon).astype(np.int64).tolist())
    fitted = min(settings.epochs, FITTED_EPOCHS)
    return (
        Run("all", INSTANCE, POLICIES, settings.horizon, settings.epochs, CHECKPOINTS, keep="summary"),
        Run("fitted", INSTANCE, POLICIES, settings.horizon, fitted, places),
    )


def _exponents(recorded: Recorded) -> dict[str, Any]:
    trace = recorded.traces["fitted"]
    exponents = {
        policy: {metric: exponent_of(late_exponents(trace, metric, policy)) for metric in TABLED}
        for policy in trace.policies
    }
    return {"exponents": exponents}


def summary_of(recorded: Recorded) -> Summary:
    """The summary of all epochs."""
    return recorded.summaries["all"]


def exponents_of(recorded: Recorded) -> dict[str, dict[str, Exponent]]:
    """The exponents of the first epochs, by policy and metric."""
    exponents: dict[str, dict[str, Exponent]] = recorded.findings["exponents"]
    return exponents


def fitted_epochs(recorded: Recorded) -> int:
    """To how many epochs the exponents are fitted."""
    return recorded.traces["fitted"].epochs


def exponent_of(slopes: Floats) -> Exponent:
    """The mean of the slopes of those epochs that have one."""
    found = slopes[np.isfinite(slopes)]
    mean = estimate(found) if found.size else Estimate(math.nan, math.nan)
    return Exponent(mean, len(slopes) - len(found))


def _title(recorded: Recorded) -> str:
    return f"Over {summary_of(recorded).epochs:,} epochs"


def _figure(recorded: Recorded) -> Sheet:
    """Where the epochs end, and the means over rounds with the band of the epochs."""
    summary = summary_of(recorded)
    ends = (density_chart(summary, metric, summary.policies) for metric in DRAWN)
    bands = (band_chart(summary, metric, summary.policies) for metric in DRAWN)
    return Sheet(_title(recorded), (*(chart for chart in ends if chart is not None), *bands))


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    """Means with their intervals, quantiles and exponents."""
    summary = summary_of(recorded)
    rows = []
    for policy, by_metric in exponents_of(recorded).items():
        for metric, exponent in by_metric.items():
            rows.append(
                (
                    f"{policy}, {METRICS[metric].heading}",
                    written(summary.estimate(metric, policy)),
                    *map(written_quantile, quantiles(summary, metric, policy).values()),
                    _written_power(exponent.estimate),
                )
            )
    if limit := written_limit(summary):
        rows.append((f"{LIMIT}, {METRICS['regret_plus_violation'].heading}", limit, *UNKNOWN))
    header = ("sum", "mean", *NAMED_SHARES, "power of T")
    return (NumberTable(f"After {summary.horizon:,} rounds", header, tuple(rows)),)


def _written_power(one: Estimate) -> str:
    """The power of a sum; one that is constant in nearly all epochs would have more zeros than digits."""
    return f"below {SMALLEST_POWER:g}" if one.mean < SMALLEST_POWER else written(one)


def _about(recorded: Recorded) -> str:
    """What was played, and how to read it."""
    summary = summary_of(recorded)
    *first, last = summary.policies
    return (
        f"{', '.join(first)} and {last} on ν as above, over {summary.epochs:,} epochs. The first charts show where the "
        f"epochs end, with their {', '.join(NAMED_SHARES)} quantiles below; the others the means over rounds, shaded "
        "from the 5 % to the 95 % quantile of the epochs. In the table ± is the half width of a 95 % interval of the "
        f"mean; quantiles are within {100 * QUANTILE_ERROR:g} %. The power of T is the log-log slope over the last "
        f"decade of rounds, fitted to each of the first {fitted_epochs(recorded):,} epochs; its mean is shown."
        f"{_left_out(recorded)}"
    )


def _left_out(recorded: Recorded) -> str:
    """What the charts and the powers cannot show, if anything."""
    at_zero, unfitted = [], []
    for policy, by_metric in exponents_of(recorded).items():
        for metric, found in by_metric.items():
            share = share_at_zero(summary_of(recorded), metric, policy)
            if share and metric in DRAWN:
                at_zero.append(f"{written_share(Estimate(share, math.nan))} of {policy}'s {METRICS[metric].heading}")
            if found.left_out:
                unfitted.append(f"{found.left_out:,} of {policy}'s {METRICS[metric].heading}")
    texts = []
    if at_zero:
        texts.append(f" Epochs that end at 0 cannot be shown on a logarithmic axis: {', '.join(at_zero)}.")
    if unfitted:
        texts.append(f" Those whose sum was 0 at the start of that decade have no slope: {', '.join(unfitted)}.")
    return "".join(texts)


def _settings(recorded: Recorded) -> dict[str, str]:
    """How it was run."""
    summary = summary_of(recorded)
    return {
        "device": str(summary.settings["device"]),
        "instance": INSTANCE,
        "policies": ", ".join(summary.policies),
        "horizon": f"{summary.horizon:,}",
        "epochs": f"{summary.epochs:,}, and {fitted_epochs(recorded):,} again for the powers",
        "rounds in all": f"{EXPERIMENT.rounds(recorded.settings):,}",
    }


EXPERIMENT = Experiment(
    name=NAME,
    title="The main experiment over many epochs",
    about="OLP, OPLP and BLP on ν over enough epochs for means with three digits and the distribution over epochs.",
    source="",
    horizon=regret_and_violation.EXPERIMENT.horizon,
    epochs=EPOCHS,
    claims=(),
    runs=_runs,
    derive=_exponents,
    figure=_figure,
    tables=_tables,
    told_title=_title,
    told_about=_about,
    told_settings=_settings,
    on_device_after=regret_and_violation.EXPERIMENT.name,
)
