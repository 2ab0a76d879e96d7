"""Draw the picture of the home page: python -m docs.generate_home."""

import csv
import io
from pathlib import Path

import numpy as np

from arcbandit import Instance, plan
from arcbandit.examples.files import data_file
from arcbandit.report.look import COLOURS, GUIDE_COLOUR, QUIET_COLOUR, house_style

PICTURE = Path(__file__).with_name("figures") / "home.svg"
TABLE = data_file("providers-by-genre.csv")
FLOOR = 0.06


def platform(floor: float) -> Instance:
    """The film platform of the tutorial, with the same floor for every provider."""
    with TABLE.open(encoding="utf-8") as file:
        rows = {(row["provider"], row["genre"]): row for row in csv.DictReader(file)}
    providers, genres = (sorted({pair[place] for pair in rows}) for place in (0, 1))
    ratings = [[float(rows[arm, genre]["mean_imdb_rating"]) / 10 for genre in genres] for arm in providers]
    films = np.array([[int(rows[arm, genre]["films"]) for genre in genres] for arm in providers])
    mix = films.sum(axis=0) / films.sum()
    return Instance(ratings, np.full(len(providers), floor), mix, arms=providers, contexts=genres)


def picture() -> bytes:
    """What each provider earns by the best plan, without promises and with them."""
    plans = {
        "Without promises": plan(platform(0.0)),
        f"Everyone is promised {FLOOR:g}": plan(platform(FLOOR)),
    }
    names = platform(FLOOR).arms
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8.4, 2.9), layout="constrained")
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        for ax, (title, best) in zip(axes, plans.items(), strict=True):
            earned = best.arm_revenue
            colours = [COLOURS[0] if amount >= FLOOR * (1 - 1e-9) else COLOURS[1] for amount in earned]
            ax.barh(range(len(names)), np.maximum(earned, 0.0015), color=colours, height=0.65)
            ax.axvline(FLOOR, color=GUIDE_COLOUR, linestyle="--", linewidth=1)
            ax.set_title(f"{title}: {best.value:.4f} in all")
            ax.set_yticks(range(len(names)), names)
            ax.grid(axis="y", visible=False)
            ax.set_xlabel("engagement per visit")
        axes[0].invert_yaxis()
        axes[0].annotate("0.06", (FLOOR, -0.42), (4, 0), textcoords="offset points", color=QUIET_COLOUR, va="center")
        drawn = io.BytesIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    return drawn.getvalue()


if __name__ == "__main__":
    PICTURE.write_bytes(picture())
