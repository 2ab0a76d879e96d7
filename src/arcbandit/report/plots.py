"""Plots of a metric over rounds, on anybody's axes or on new ones."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import choice, instance_of, items, known_name, shown, truth
from arcbandit.report.charts import Chart, Line
from arcbandit.report.drawing import draw_chart_on
from arcbandit.report.figures import draw_chart
from arcbandit.report.look import check_matplotlib
from arcbandit.report.metric_charts import guides, interval_line, limit_guides, metric_line, metric_text
from arcbandit.simulation.metrics import SHARES, SUMS
from arcbandit.simulation.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Shade = Literal["interval", "quantiles"]


def plot(
    results: Results,
    metric: str = "regret_plus_violation",
    *,
    ax: "Axes | None" = None,
    policies: Sequence[str] | None = None,
    logarithmic: bool = False,
    shade: Shade | None = "interval",
    style: Mapping[str, Mapping[str, Any]] | None = None,
    guide: bool = False,
) -> "Axes":
    """Draw a metric of a simulation over rounds, and return the axes; needs the extra `plots`.

    On `ax`, in the style that it was made with and without a legend, or on the axes of a new figure in the style of our
    pages (`plot(...).figure` is the figure). `policies` are those to draw, in order. The shade is the 95 % "interval"
    of the mean, the range from the 5 % to the 95 % "quantiles" of epochs, or None. `style` gives for a policy what
    matplotlib calls the properties of its line, as in ``{"blp": {"color": "black", "linewidth": 3}}``. With `guide`,
    lines to compare growth with are drawn too; `logarithmic` axes show growth as slopes. Beside R + V, a dashed line
    is the least that learning leaves any policy, where that is known (`results.learning_limit()`).

    >>> from arcbandit import paper_instance, simulate
    >>> axes = plot(simulate(paper_instance("nu"), ["olp", "blp"], 100, 2), "regret", style={"blp": {"linewidth": 3}})
    >>> axes.get_xlabel()
    'round t'
    """
    check_matplotlib()
    from matplotlib.axes import Axes

    instance_of("results", results, Results, " of simulate")
    if ax is not None:
        instance_of("ax", ax, Axes, " of matplotlib")
    known_name("metric", metric, [*SUMS, *SHARES])
    choice("shade", shade, (*get_args(Shade), None))
    logarithmic, guide = truth("logarithmic", logarithmic), truth("guide", guide)
    chosen = list(results.policies) if policies is None else items("policies", policies, "names")
    for policy in chosen:
        known_name("policy", policy, results.policies, " here")
    if not chosen:
        raise InvalidInputError("policies must hold at least one policy, got none.")
    properties = _checked_style(style, chosen)
    lines = tuple(_line(results, metric, policy, shade) for policy in chosen)
    compared = guides(results, metric, lines, logarithmic=logarithmic) if guide else limit_guides(results, metric)
    # The names at the ends of lines need room at the right, and have the colours of our pages.
    chart = Chart(
        *metric_text(metric),
        lines,
        compared,
        x_log=logarithmic,
        y_log=logarithmic,
        direct_labels=ax is None and not properties,
    )
    shades_before = 0 if ax is None else len(ax.collections)
    if ax is None:
        axes = draw_chart(chart).axes[0]
    else:
        axes = ax
        draw_chart_on(axes, chart, "plot")
    shaded = [line.label for line in lines if line.low is not None]
    shades = dict(zip(shaded, axes.collections[shades_before:], strict=True))
    for policy, own in properties.items():
        line = next(line for line in axes.get_lines()[::-1] if line.get_label() == policy)
        line.set(**own)
        if policy in shades:
            shades[policy].set_color(line.get_color())
    if ax is None and properties:
        axes.legend(frameon=False)
    return axes


def _line(results: Results, metric: str, policy: str, shade: str | None) -> Line:
    if shade is None:
        return Line(policy, results.rounds, results.mean(metric, policy))
    return (metric_line if shade == "quantiles" else interval_line)(results, metric, policy)


def _checked_style(style: Any, policies: Sequence[str]) -> dict[str, dict[str, Any]]:
    if style is None:
        return {}
    if not isinstance(style, Mapping):
        raise InvalidInputError(f"style must map policies to properties of lines, got {shown(style)}.")
    for policy, own in style.items():
        known_name("policy", policy, policies, " here")
        if not isinstance(own, Mapping):
            raise InvalidInputError(f"style[{policy!r}] must map properties to values, got {shown(own)}.")
    return {policy: dict(own) for policy, own in style.items()}
