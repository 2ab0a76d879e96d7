"""Write the page of what delays, old plans and drift cost: python -m docs.generate_costs.

The simulations of all its tables take some minutes. With the argument `time` it prints instead what a round of each
takes, against a plain round of the same run.
"""

import csv
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from arcbandit import (
    BLP,
    KNOWN_AFTER,
    OLP,
    OPLP,
    Delay,
    Drift,
    Instance,
    ThompsonLP,
    Window,
    analyse,
    paper_instance,
    plan,
    simulate,
)
from arcbandit.estimates import estimate
from arcbandit.examples.files import data_file
from arcbandit.report.tables import written

PAGE = Path(__file__).with_name("what-each-costs.md")
DATA = data_file("providers-by-genre.csv")
HORIZON = 50_000
EPOCHS = 20
KINDS = {"BLP": BLP, "OLP": OLP, "OPLP": OPLP}
DELAYS: dict[str, Delay | None] = {
    "none": None,
    "10": Delay(10),
    "100": Delay(100),
    "1,000": Delay(1000),
    "geometric, mean 100": Delay(mean=100),
    "geometric, mean 100, 20 % lost": Delay(mean=100, lost=0.2),
}
CADENCES: dict[str, int | str] = {"1": 1, "10": 10, "100": 100, "1,000": 1000, "doubling": "doubling"}
MEMORIES: dict[str, float | Window | None] = {
    "none": None,
    "half-life T / 5": HORIZON / 5,
    "half-life T / 20": HORIZON / 20,
    "half-life T / 80": HORIZON / 80,
    "window T / 2": Window(HORIZON // 2),
    "window T / 8": Window(HORIZON // 8),
    "window T / 32": Window(HORIZON // 32),
}
BUDGETS: dict[str, float] = {"1 (none)": 1.0, "0.3": 0.3, "0.1": 0.1, "0.02": 0.02}
COUNTS: dict[str, int] = {"30": 30, "100": 100, "200 (default)": KNOWN_AFTER, "400": 400}
GUESSING = {"BLP": BLP, "OLP": OLP, "ThompsonLP": ThompsonLP}
EPOCHS_OF_GUESSING = 100  # the difference is small, and known better by the same epochs
PLATFORMS = ["ν", "ν, no floor binds", "ν⁽⁰⁾", "margin 0.1", "films"]

PAGE_TEXT = """\
# What each costs

This page is written by `python -m docs.generate_costs`. Every number is R + V, regret and violation together, as a mean
of {epochs} epochs of {horizon:,} rounds with its 95 % interval; lower is better. ν is the paper's instance, whose best
plan earns {nu_value:.2f} per round; *films* is the platform of the [tutorial](tutorial.md), 6 providers by 6 genres
with a floor of 0.06 each, whose best plan earns {films_value:.3f} per round. All rows meet the same contexts and the
same noise. The least that learning leaves any policy near the instance, to the order of √T, is
{nu_limit:.1f} on ν and {films_limit:.2f} on films (`analyse(instance).learning_limit({horizon:_})`,
[theory](theory.md)), if rewards come at once and nothing jumps.

## Rewards that come late

`simulate(..., delay=100)`: the policy hears of a reward so many rounds after its decision. Revenue counts when it is
earned.

{delays}

A delay costs about what it takes to learn nothing for that long, once: while the first rewards are on their way, pairs
are played at random. Later it hardly matters. A fifth of the rewards lost costs a tenth to a fifth more.

## Planning less often

`OLP(replan=100)`: a plan in every 100th round, once every pair was played.

{cadences}

A plan every 10 rounds costs nothing that these epochs could show, one every 100 rounds at most a third more. One every
1,000 rounds costs up to six times as much, and doubling mostly more still, with wide intervals on ν: a bad plan of an
early round is kept for as long as all rounds before it, and in some epochs there is one.

## A jump, with and without memory

Half-way, at T / 2, the contexts exchange their means, the first with the last and so on:
`simulate(..., drift=Drift([(T // 2 + 1, means[:, ::-1])]))`. `BLP(memory=half_life)` lets a reward count half after so
many rounds, `BLP(memory=Window(rounds))` count for so many and no longer. The table has the second half alone, from the
jump on.

{jumps}

And the same second half if nothing jumps, which is what forgetting costs in a world that stands still (of the limit,
{nu_later:.1f} on ν and {films_later:.2f} on films are of this half):

{stills}

After the jump, half-lives of T / 5 and T / 20 and windows of T / 2 and T / 8 lose less than no memory in every column
(for OLP on films, the half-life of T / 20 by less than the interval). The least in each column is that of a window: a
jump leaves it whole, while of a half-life some of the old world stays for long. If nothing jumps, each loses more than
none, mostly several times as much: what is forgotten must be learnt again, in every pair, for ever. So memory is for
worlds that are known to move. It must leave a pair enough rewards to tell it from the others: for OLP on films, where
pairs are many and alike, a half-life of T / 80 or a window of T / 32 is too short even after the jump.

## Exploration within a budget

`BLP(exploration_budget=0.1)`: pairs seen fewer than {known_after} times get together at most a tenth of each context in
which others are known. Here everything is new at first, which is the dearest case: as soon as one pair of a context is
known, all others wait for their share of it.

{budgets}

And with a budget of 0.1, by the count after which a pair is known (`known_after`):

{counts}

A cold start within a budget of 0.3 costs up to a third more on ν and up to three times as much on films; within 0.1, up
to three and eight times as much, which is 5 % of what the best plan of films earns. A lower count makes it cheaper, and
lets newcomers out of the budget sooner. So a platform on which everything is new starts without a budget, or from a
log. One that is known pays only for what is new, and at most the budget of it.

## Noise that nobody told

`BLP(noise_scale="estimate")`: what R + V is more than with σ given, in percent, over the same {guessing_epochs} epochs.

{guessing}

Below 5 % everywhere, and mostly less than these epochs can show. The cost is that of the first rounds, in which what
differs between pairs counts as noise.
"""


def films() -> Instance:
    """The platform of the tutorial, with a floor of 0.06."""
    with DATA.open(encoding="utf-8") as file:
        table = {(row["provider"], row["genre"]): row for row in csv.DictReader(file)}
    providers, genres = (sorted({key[place] for key in table}) for place in (0, 1))
    means = np.array([[float(table[p, g]["mean_imdb_rating"]) / 10 for g in genres] for p in providers])
    counts = np.array([[int(table[p, g]["films"]) for g in genres] for p in providers])
    floors = np.full(len(providers), 0.06)
    return Instance(means, floors, counts.sum(axis=0) / counts.sum(), arms=providers, contexts=genres, noise_scale=0.12)


def instances() -> dict[str, Instance]:
    """The two platforms, by the name they have on the page."""
    return {"ν": paper_instance("nu"), "films": films()}


def table_of(first: str, rows: Sequence[str], cell: Callable[[str, Instance, str], str]) -> str:
    """A table with a column per instance and rule."""
    columns = [(name, instance, rule) for name, instance in instances().items() for rule in KINDS]
    lines = [[first, *(f"{name}, {rule}" for name, _, rule in columns)], ["---", *("---:" for _ in columns)]]
    lines += [[row, *(cell(row, instance, rule) for _, instance, rule in columns)] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def lost(instance: Instance, policy: Any, first: int = 0, **settings: Any) -> str:
    """R + V of the rounds after `first`, a checkpoint."""
    places = [first, HORIZON] if first else [HORIZON]
    trace = simulate(instance, {"it": policy}, HORIZON, EPOCHS, checkpoints=places, **settings)
    sums = trace.regret_plus_violation["it"]
    return written(estimate(sums[:, -1] - (sums[:, 0] if first else 0.0)))


def cost_of_delay(row: str, instance: Instance, rule: str) -> str:
    """A cell of the first table."""
    return lost(instance, KINDS[rule](), delay=DELAYS[row])


def cost_of_cadence(row: str, instance: Instance, rule: str) -> str:
    """A cell of the second table."""
    return lost(instance, KINDS[rule](replan=CADENCES[row]))


def cost_of_jump(row: str, instance: Instance, rule: str, *, jumps: bool) -> str:
    """A cell of the last two tables."""
    drift = Drift([(HORIZON // 2 + 1, instance.mean_rewards[:, ::-1])]) if jumps else None
    return lost(instance, KINDS[rule](memory=MEMORIES[row]), HORIZON // 2, drift=drift)


def cost_of_budget(row: str, instance: Instance, rule: str) -> str:
    """A cell of the table of budgets."""
    return lost(instance, KINDS[rule](exploration_budget=BUDGETS[row]))


def cost_of_count(row: str, instance: Instance, rule: str) -> str:
    """A cell of the table of counts."""
    return lost(instance, KINDS[rule](exploration_budget=0.1, known_after=COUNTS[row]))


def cost_of_guessing(row: str, rule: str) -> str:
    """A cell of the last table."""
    names = dict(zip(PLATFORMS, ("nu", "nu-nonsaturating", "nu-nominal", "nu-margin:0.1"), strict=False))
    instance = paper_instance(names[row]) if row in names else films()
    kind = GUESSING[rule]
    trace = simulate(
        instance,
        {"told": kind(), "estimated": kind(noise_scale="estimate")},
        HORIZON,
        EPOCHS_OF_GUESSING,
        checkpoints=[HORIZON],
        keep="epochs",
    )
    told, estimated = (trace.regret_plus_violation[name][:, -1] for name in ("told", "estimated"))
    return written(estimate(100.0 * (estimated - told) / told.mean()))


def guessing_table() -> str:
    """What estimating sigma costs."""
    lines = [["", *GUESSING], ["---", *("---:" for _ in GUESSING)]]
    lines += [[row, *(cost_of_guessing(row, rule) for rule in GUESSING)] for row in PLATFORMS]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def facts() -> dict[str, float]:
    """The numbers of the page that take no simulation."""
    found: dict[str, float] = {
        "epochs": EPOCHS,
        "horizon": HORIZON,
        "known_after": KNOWN_AFTER,
        "guessing_epochs": EPOCHS_OF_GUESSING,
    }
    for name, instance in zip(("nu", "films"), instances().values(), strict=True):
        known = analyse(instance)
        limit = known.learning_limit(HORIZON).total
        found[f"{name}_value"] = plan(instance).value
        found[f"{name}_limit"] = limit
        found[f"{name}_later"] = limit - known.learning_limit(HORIZON // 2).total
    return found


def costs_page() -> str:
    """The page as the simulations have it."""
    return PAGE_TEXT.format(
        **facts(),
        delays=table_of("rounds late", list(DELAYS), cost_of_delay),
        cadences=table_of("a plan every", list(CADENCES), cost_of_cadence),
        jumps=table_of("memory", list(MEMORIES), partial(cost_of_jump, jumps=True)),
        stills=table_of("memory", list(MEMORIES), partial(cost_of_jump, jumps=False)),
        guessing=guessing_table(),
        budgets=table_of("budget", list(BUDGETS), cost_of_budget),
        counts=table_of("known after", list(COUNTS), cost_of_count),
    )


def print_times(rounds: int = 20_000, turns: int = 7) -> None:
    """Print the least time of a round, over some turns, plain and with each feature."""
    for name, instance in instances().items():
        for rule, kind in KINDS.items():
            runs: dict[str, tuple[Any, dict[str, Any]]] = {
                "plain": (kind(), {}),
                "memory": (kind(memory=rounds), {}),
                "window": (kind(memory=Window(rounds)), {}),
                "delay 100": (kind(), {"delay": 100}),
                "replan 10": (kind(replan=10), {}),
                "budget 0.1": (kind(exploration_budget=0.1), {}),
            }
            least = dict.fromkeys(runs, float("inf"))
            for _ in range(turns):
                for run, (policy, settings) in runs.items():
                    start = time.process_time()
                    simulate(instance, {"it": policy}, rounds, 4, checkpoints=1, jobs=1, **settings)
                    least[run] = min(least[run], time.process_time() - start)
            shown = ", ".join(
                f"{run} {seconds / 4 / rounds * 1e9:.0f} ns ({seconds / least['plain']:.2f})"
                for run, seconds in least.items()
            )
            print(f"{name}, {rule}: {shown}")


if __name__ == "__main__":
    if sys.argv[1:] == ["time"]:
        print_times()
    else:
        PAGE.write_text(costs_page(), encoding="utf-8")
