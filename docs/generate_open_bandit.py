"""Write the tables and the picture of the page of the fashion shop: python -m docs.generate_open_bandit."""

from pathlib import Path

from arcbandit import Evaluation, advise, read_log
from arcbandit.examples.open_bandit import BRANDED, BRANDS, COLUMNS, UNIFORM, both_ways, branded, larger
from arcbandit.report.charts import Chart, Line
from arcbandit.report.figures import chart_file

Both = dict[str, tuple[Evaluation, float]]
PAGE = Path(__file__).with_name("open-bandit.md")
PICTURE = Path(__file__).with_name("figures") / "open-bandit-estimates.svg"
NAMES = {"uniform": "uniform, from the log of Thompson sampling", "thompson": "Thompson sampling, from the uniform log"}
METHODS = {"dm": "direct method", "ips": "IPS", "snips": "SNIPS", "dr": "doubly robust"}
TIMES = (1, 3, 10, 20, 30, 100)


def estimates_table(both: Both) -> str:
    """What each policy earns by the other's log."""
    lines = ["| policy | by | clicks per impression | interval | its own log |", "|---|---|---:|---:|---:|"]
    for policy, (found, truth) in both.items():
        for method, title in METHODS.items():
            estimate = found.estimates[method]
            low, high = estimate.interval
            lines.append(
                f"| {NAMES[policy]} | {title} | {estimate.value:.4f} | {low:.4f} to {high:.4f} | {truth:.4f} |"
            )
    return "\n".join(lines)


def rows_table() -> str:
    """What can be promised from more of the same rows."""
    uniform = read_log(branded().slice(0, read_log(UNIFORM, **COLUMNS).rows), **BRANDED)
    logs = {"each item": read_log(UNIFORM, **COLUMNS), f"each of {BRANDS} brands": uniform}
    lines = [f"| impressions | {' | '.join(logs)} |", "|---:|---:|---:|"]
    for times in TIMES:
        shares = [100 * advise(larger(log, times)).largest_scale.low for log in logs.values()]
        lines.append(f"| {uniform.rows * times:,} | {' | '.join(f'{share:.0f} %' for share in shares)} |")
    return "\n".join(lines)


def estimates_chart(both: Both) -> Chart:
    """The estimates with their intervals, and what the logs say."""
    names, dots, ends, truths = [], [], [], []
    for policy, (found, truth) in both.items():
        for method, title in METHODS.items():
            names.append(f"{policy}, {title}")
            dots.append(found.estimates[method].value)
            ends.append(found.estimates[method].interval)
            truths.append(truth)
    rows = list(range(len(names)))
    return Chart(
        "",
        "clicks per impression",
        "",
        (
            Line("estimate from the other log", dots, rows, place=0, marks=True, joined=False),
            Line("what its own log says", truths, rows, place=1, marks=True, joined=False),
        ),
        tuple(Line("", list(one), [row, row]) for row, one in enumerate(ends)),
        y_names=tuple(names),
        zero=True,
        legend_above=True,
        direct_labels=False,
        in_words="; ".join(
            f"{name} {dot:.4f} ({low:.4f} to {high:.4f})"
            for name, dot, (low, high) in zip(names, dots, ends, strict=True)
        ),
        size=(4.6, 2.7),
    )


def with_tables(text: str, both: Both) -> str:
    """The page with its tables as they should be."""
    for name, table in (("estimates", estimates_table(both)), ("rows", rows_table())):
        begin, end = f"<!-- {name}, written by docs/generate_open_bandit.py -->", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"
    return text


def main() -> None:
    """Write the tables and the picture."""
    both = both_ways()
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), both), encoding="utf-8")
    PICTURE.write_bytes(chart_file(estimates_chart(both), ".svg"))
    print(estimates_table(both), rows_table(), sep="\n\n")


if __name__ == "__main__":
    main()
