"""How answers look in a terminal."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console
from rich.table import Table
from rich.text import Text

from arcbandit.cli.wide_tables import natural_width, print_in_parts, print_whole
from arcbandit.cli.wording import SHORT_NAME, decimals_of, figure, figures, label, percent, same_decimals

if TYPE_CHECKING:
    from arcbandit.cli.documents import Answer
    from arcbandit.planning import ActiveSet, PlannedFloors

MOST_CONTEXTS_AS_COLUMNS = 12
MOST_ROWS = 40
LONG_NAME = 40
MOST_NAMES_IN_A_LINE = 12
MOST_MEMBERS = 24


class Terminal(Console):
    """A console that leaves handling a closed pipe to the caller."""

    def on_broken_pipe(self) -> NoReturn:
        """Raise the error again; the default would end the process."""
        raise BrokenPipeError


def terminal() -> Terminal:
    """Standard output: styled for a person, plain for a file or a pipe."""
    return Terminal(highlight=False, markup=False, emoji=False)


@contextlib.contextmanager
def printing() -> Iterator[Console]:
    """A console whose output is written at the end, without trailing blanks."""
    console = terminal()
    with console.capture() as captured:
        yield console
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def print_answer(answer: "Answer") -> None:
    """Print a plan with the revenue of every arm and, if asked for, the constants."""
    with printing() as console:
        _print_summary(console, answer)
        _print_allocation(console, answer)
        _print_floors(console, answer)
        _print_group_floors(console, answer)
        if answer.analysed:
            _print_constants(console, answer)


def _listed(names: Sequence[str]) -> str:
    shown = [label(name) for name in names[:MOST_NAMES_IN_A_LINE]]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def _table(*columns: str, left: tuple[str, ...] = ()) -> Table:
    """A table without rules, numbers to the right."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right", no_wrap=True, overflow="ellipsis")
    return table


def _heading(console: Console, title: str, remark: str = "") -> None:
    console.print()
    console.print(Text(title, style="bold").append(f"  {remark}" if remark else "", style="not bold dim"))


def _facts(*, values_right: bool = False) -> Table:
    """Rows of a name, a value and a remark; only the remark may wrap."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right" if values_right else "left")
    table.add_column()
    return table


def _print_summary(console: Console, answer: "Answer") -> None:
    instance, found = answer.instance, answer.plan
    shape = [_counted(instance.n_arms, "arm"), _counted(instance.n_contexts, "context")]
    if instance.group_floors:
        shape.append(_counted(len(instance.group_floors), "group floor"))
    console.print(Text(answer.name, style="bold").append(f"  {', '.join(shape)}", style="not bold dim"))
    console.print()
    facts = _facts()
    if not answer.feasible:
        missing = figure(found.total_shortfall)
        margin = "-" if answer.analysis is None else figure(answer.analysis.feasibility_margin)
        facts.add_row("floors", "infeasible", "no plan meets every floor")
        if found.floor_share is None:
            facts.add_row("least total shortfall", missing, "what the plan below lacks in total")
        else:
            share = percent(found.floor_share, decimals=1)
            facts.add_row("share of every floor", share, "the largest that all floors can get")
            facts.add_row("total shortfall", missing, "what the plan below lacks in total")
        facts.add_row("feasibility margin", margin, "moving all floors by this makes them feasible")
        facts.add_row("revenue per round", figure(found.value), "of the plan below")
        facts.add_row("revenue without floors", figure(answer.revenue_without_floors), "")
        console.print(facts)
        _heading(console, "Floors that cannot be met together", _listed(answer.conflicting_floors))
        return
    price = answer.price_of_guarantees
    assert price is not None
    effect = {"free": "the best plan meets them anyway", "costly": "the guarantees cost revenue"}[answer.regime]
    revenue, without, cost = figures([found.value, answer.revenue_without_floors, price])
    without_floors = answer.revenue_without_floors
    part = f"{percent(price / without_floors, decimals=1)} of the revenue without floors" if without_floors > 0 else ""
    facts.add_row("floors", str(answer.regime), effect)
    facts.add_row("revenue per round", revenue, "")
    facts.add_row("revenue without floors", without, "")
    facts.add_row("price of the guarantees", cost, part)
    console.print(facts)


def _print_allocation(console: Console, answer: "Answer") -> None:
    instance = answer.instance
    title = "Plan" if answer.feasible else "Plan of least shortfall"
    if not answer.feasible and answer.plan.floor_share is not None:
        title = "Plan of the same share"
    if instance.n_contexts <= MOST_CONTEXTS_AS_COLUMNS and instance.n_arms <= MOST_ROWS:
        matrix = _allocation_matrix(answer)
        if natural_width(console, matrix) <= console.width:
            _heading(console, title, "share of each context (column) given to each arm (row)")
            console.print(matrix)
            return
    _heading(console, title, "arms played in each context, with their shares")
    print_whole(console, _allocation_list(answer, console.width))
    if instance.n_contexts > MOST_ROWS:
        _print_remainder(console, instance.n_contexts - MOST_ROWS, "more context")


def _print_remainder(console: Console, count: int, thing: str) -> None:
    console.print(Text(f"... and {_counted(count, thing)}; --json has all", style="dim"))


def _allocation_matrix(answer: "Answer") -> Table:
    instance, found = answer.instance, answer.plan
    decimals = decimals_of(found.allocation.ravel().tolist())
    table = _table("arm", left=("arm",))
    for context in instance.contexts:
        table.add_column(label(context), justify="right", no_wrap=True)
    for arm, shares, idle in zip(instance.arms, found.allocation.tolist(), found.idle_pairs.tolist(), strict=True):
        shown = (_share(0.0 if never else share, decimals) for share, never in zip(shares, idle, strict=True))
        table.add_row(label(arm), *shown)
    probabilities = instance.context_probabilities.tolist()
    wide = decimals_of(probabilities)
    table.add_row("of rounds", *(percent(one, decimals=wide) for one in probabilities), style="dim")
    return table


def _share(share: float, decimals: int) -> Text:
    return Text(percent(share, decimals=decimals)) if share > 0 else Text("·", style="dim")


def _allocation_list(answer: "Answer", width: int) -> Table:
    instance, found = answer.instance, answer.plan
    decimals = decimals_of(found.allocation.ravel().tolist())
    wide = decimals_of(instance.context_probabilities.tolist())
    table = _table("context", "of rounds", "arms", left=("context", "arms"))
    contexts = [label(context) for context in instance.contexts[:MOST_ROWS]]
    room = width - max(map(len, ["context", *contexts])) - len("of rounds") - 4
    for column, context in enumerate(contexts):
        shares = found.allocation[:, column].tolist()
        in_use = [arm for arm, idle in enumerate(found.idle_pairs[:, column].tolist()) if not idle]
        played = sorted(in_use, key=lambda arm: -shares[arm])
        named = [f"{label(instance.arms[arm], LONG_NAME)} {percent(shares[arm], decimals=decimals)}" for arm in played]
        probability = percent(float(instance.context_probabilities[column]), decimals=wide)
        table.add_row(context, probability, _packed(named, room))
    return table


def _packed(items: Sequence[str], room: int) -> Text:
    """Items separated by commas, with line breaks only between items."""
    lines = [items[0]]
    for item in items[1:]:
        if len(lines[-1]) + len(item) + 3 <= room:
            lines[-1] += f", {item}"
        else:
            lines[-1] += ","
            lines.append(item)
    return Text("\n".join(lines))


def _print_floors(console: Console, answer: "Answer") -> None:
    instance, floors = answer.instance, answer.plan.floors
    largest = answer.analysis.largest_floors if answer.analysed and answer.analysis is not None else None
    remark = "slack is revenue above the floor; floor price is what its last unit costs"
    _heading(console, "Arms", remark if answer.feasible else "revenue per round against each floor")
    extra = {} if largest is None else {"could be": largest.tolist()}
    _print_floor_table(console, "arm", instance.arms, floors, extra, feasible=answer.feasible)
    if instance.n_arms > MOST_ROWS:
        _print_remainder(console, instance.n_arms - MOST_ROWS, "less tight arm")
    if extra:
        console.print(Text("could be: the largest feasible floor of an arm, the others fixed", style="dim"))


def _print_group_floors(console: Console, answer: "Answer") -> None:
    groups, floors = answer.instance.group_floors, answer.plan.floors
    if not groups:
        return
    names = [f"{group.name} ({_counted(len(group.arms), 'arm')})" for group in groups]
    _heading(console, "Groups", "floors on what several arms earn together")
    _print_floor_table(console, "group", names, floors, {}, feasible=answer.feasible)
    if len(groups) > MOST_ROWS:
        _print_remainder(console, len(groups) - MOST_ROWS, "less tight group")


def _print_floor_table(
    console: Console,
    kind: str,
    names: Sequence[str],
    floors: "PlannedFloors",
    extra: dict[str, list[float]],
    *,
    feasible: bool,
) -> None:
    """The floors of one kind by name; `extra` has further columns."""
    rows = floors.rows_of(kind)
    revenue, prices, active = (column[rows].tolist() for column in (floors.revenue, floors.prices, floors.active))
    shortfall = floors.shortfall[rows].tolist()
    slack = [0.0 if met else spare for met, spare in zip(active, floors.slack[rows].tolist(), strict=True)]
    gap = {"slack": slack} if feasible else {"shortfall": shortfall}
    columns = same_decimals({"revenue": revenue, "floor": floors.amounts[rows].tolist()} | gap | extra)
    if feasible:
        columns["floor price"] = figures(prices)
        columns["the floor is"] = [
            ("active" if price > 0 else "active, free") if met else "slack"
            for met, price in zip(active, prices, strict=True)
        ]
    else:
        columns["the floor is"] = ["missed" if missing else "met" for missing in shortfall]
    # A reader looks for the tightest floors.
    tightest = sorted(range(len(names)), key=lambda row: (slack[row], -prices[row]))[:MOST_ROWS]

    def table_of(headings: Sequence[str]) -> Table:
        table = _table(kind, *headings, left=(kind, "the floor is"))
        taken = sum(2 + max(map(len, [heading, *columns[heading]])) for heading in headings)
        room = min(max(console.width - taken, SHORT_NAME), LONG_NAME)
        for row in sorted(tightest):
            table.add_row(label(names[row], room), *(columns[heading][row] for heading in headings))
        return table

    print_in_parts(console, table_of, list(columns))


def _print_constants(console: Console, answer: "Answer") -> None:
    analysis = answer.analysis
    assert analysis is not None
    _heading(console, "What makes it hard", "the constants of the paper's bounds")
    facts = _facts(values_right=True)
    margin = figure(analysis.feasibility_margin)
    if not answer.feasible:
        facts.add_row("γ*", margin, "feasibility margin: all floors must fall by this much at once")
        facts.add_row("", "", "the other constants are defined for feasible floors only")
        console.print(facts)
        return
    assert analysis.performance_sensitivity is not None
    assert analysis.active_set is not None
    facts.add_row("γ*", margin, "feasibility margin: all floors can rise by this much at once")
    facts.add_row(
        "S_γ*",
        figure(analysis.performance_sensitivity),
        "performance sensitivity: what the last unit of that rise costs",
    )
    facts.add_row(
        "I*",
        str(len(analysis.active_set)),
        Text("active set: floors met exactly, (arm,context) never played\n").append(
            _set_notation(answer, analysis.active_set), style="bold"
        ),
    )
    needed = answer.instance.n_pairs - answer.instance.n_contexts
    facts.add_row(
        "",
        "",
        f"degenerate, which the paper excludes: more than the {needed:,} constraints that fix a plan"
        if analysis.degenerate
        else f"not degenerate: at most the {needed:,} constraints that fix a plan",
    )
    _add_gap(facts, answer)
    _add_limit(facts, answer)
    console.print(facts)


def _add_gap(facts: Table, answer: "Answer") -> None:
    nearest, reason = answer.nearest_candidate()
    meaning = "suboptimality gap: how well means must be known to tell I* from every other candidate set"
    if nearest is None:
        facts.add_row("ρ*", "-", meaning)
        facts.add_row("", "", Text("not computed: ", style="bold").append(reason or "", style="not bold"))
        return
    facts.add_row("ρ*", figure(nearest.suboptimality_gap), f"{meaning}; the larger of s(I) and P(I) below")
    facts.add_row(
        "I",
        str(len(nearest.active_set)),
        Text("the candidate set that attains ρ*\n").append(_set_notation(answer, nearest.active_set), style="bold"),
    )
    facts.add_row("s(I)", figure(nearest.feasibility_gap), "feasibility gap: slack in the floors that makes I feasible")
    facts.add_row(
        "L(I)",
        figure(nearest.performance_sensitivity),
        "sensitivity of I: what the first unit of further slack earns",
    )
    facts.add_row(
        "P(I)",
        figure(nearest.performance_gap),
        "performance gap: revenue lost with I, over max(1, S_γ*) + L(I)",
    )


def _add_limit(facts: Table, answer: "Answer") -> None:
    limit, reason = answer.learning_limit()
    meaning = "learning limit: the least R + V that learning leaves any policy near the instance, to the order of √T"
    if limit is None:
        facts.add_row("R + V", "-", meaning)
        facts.add_row("", "", Text("not known: ", style="bold").append(reason or "", style="not bold"))
        return
    after = f"after {limit.horizon:,} rounds; of these R {figure(limit.regret)} and V {figure(limit.violation)}"
    facts.add_row("R + V", figure(limit.total), f"{meaning}, {after}")


def _set_notation(answer: "Answer", active_set: "ActiveSet") -> str:
    """{2, 3, (2,1)}: floors by arm or group, then idle pairs; long sets are cut and counted."""
    from arcbandit.cli.documents import named_members

    floors, pairs = named_members(answer, active_set)
    members = [label(floor) for floor in floors] + [f"({label(arm)},{label(context)})" for arm, context in pairs]
    shown = ", ".join(members[:MOST_MEMBERS])
    if len(members) > MOST_MEMBERS:
        counts = f"{_counted(len(floors), 'floor')}, {_counted(len(pairs), 'idle pair')}"
        return f"{{{shown}, ...}}: {counts}"
    return f"{{{shown}}}"
