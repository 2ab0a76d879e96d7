"""A film platform, made of 1,336 real films: providers are arms, genres are contexts, ratings are rewards.

A visitor asks for a genre, the platform shows a film of one provider, and earns a tenth of its rating, which stands for
how much the visitor liked it. Genres are asked for as often as there are films of them. The film is drawn from those
that the provider really has in the genre, so that rewards are those of real films and not of a formula.

docs/films.md tells what follows; everything here is a call that a user of the library could make.
"""

import csv
import io
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tomli_w

from arcbandit.examples.files import data_file
from arcbandit.inputs.values import non_negative, whole
from arcbandit.instance import Instance
from arcbandit.simulation.playable import Policies
from arcbandit.simulation.rewards import ObservedRewards
from arcbandit.simulation.run import simulate
from arcbandit.simulation.trace import Trace

if TYPE_CHECKING:
    import pyarrow

COLUMNS: dict[str, Any] = {"context": "genre", "arm": "provider", "reward": "liking"}
ROWS = 20_000
RATING = 10.0  # the best there is
NOISE = 0.12  # the spread of likings within a pair, rounded up
FLOOR = 0.09  # what docs/films.md promises to each provider
ROUNDS, EPOCHS = 50_000, 40
TOLERANCE = 0.05  # the part of all promises that may lack on average


class Film(NamedTuple):
    """A row of the data."""

    title: str
    provider: str
    genre: str
    rating: float  # from 0 to 10
    gross: float  # dollars, worldwide


def films() -> list[Film]:
    """All films, in the order of the file.

    >>> len(films()), films()[0].title
    (1336, '12 Rounds')
    """
    with data_file("films.csv").open(encoding="utf-8", newline="") as file:
        return [
            Film(
                row["title"],
                row["provider"],
                row["genre"],
                float(row["imdb_rating"]),
                float(row["worldwide_gross_usd"]),
            )
            for row in csv.DictReader(file)
        ]


class Platform:
    """The films by provider and genre.

    >>> platform = Platform()
    >>> platform.providers[0], platform.genres[0], len(platform.of("Universal", "Drama"))
    ('20th Century Fox', 'Action', 46)
    >>> platform.rewards.means.shape, platform.instance(0.06).revenue_floors.tolist()
    ((6, 6), [0.06, 0.06, 0.06, 0.06, 0.06, 0.06])
    """

    def __init__(self) -> None:
        every = films()
        self.providers = tuple(sorted({film.provider for film in every}))
        self.genres = tuple(sorted({film.genre for film in every}))
        self._films: dict[tuple[str, str], list[Film]] = {}
        for film in every:
            self._films.setdefault((film.provider, film.genre), []).append(film)
        # Every provider has films of every genre, so that there is no pair which cannot be played.
        self.rewards = ObservedRewards(
            [[[film.rating / RATING for film in self.of(p, g)] for g in self.genres] for p in self.providers]
        )
        counts = np.array([sum(film.genre == genre for film in every) for genre in self.genres])
        self.asked_for = counts / counts.sum()

    def of(self, provider: str, genre: str) -> list[Film]:
        """The films of a provider in a genre."""
        return self._films.get((provider, genre), [])

    def instance(self, floor: float, noise_scale: float = NOISE) -> Instance:
        """The platform with the same floor for each provider, as policies play it with `rewards`."""
        floors = np.full(len(self.providers), non_negative("floor", floor))
        return self.rewards.instance(
            floors, self.asked_for, arms=self.providers, contexts=self.genres, noise_scale=noise_scale
        )

    def log(self, rows: int = ROWS, seed: int = 1) -> "pyarrow.Table":
        """The log of a platform that chose providers at random, all with the same probability."""
        import pyarrow

        return pyarrow.table(self.columns(rows, seed))

    def columns(self, rows: int = ROWS, seed: int = 1) -> dict[str, list[Any]]:
        """The same by column."""
        rows, random = whole("rows", rows, 1), np.random.default_rng(whole("seed", seed, 0))
        genres = random.choice(len(self.genres), size=rows, p=self.asked_for)
        providers = random.integers(len(self.providers), size=rows)
        shown = []
        for provider, genre, draw in zip(providers, genres, random.random(rows).tolist(), strict=True):
            there = self.of(self.providers[provider], self.genres[genre])
            shown.append(there[int(draw * len(there))])
        return {
            "decision_id": list(range(1, rows + 1)),
            "genre": [film.genre for film in shown],
            "provider": [film.provider for film in shown],
            "title": [film.title for film in shown],
            "liking": [film.rating / RATING for film in shown],
            "probability": [1.0 / len(self.providers)] * rows,
        }

    def play(self, policies: Policies, floor: float = FLOOR, rounds: int = ROUNDS, epochs: int = EPOCHS) -> Trace:
        """Policies that start from nothing, with likings drawn from those of real films."""
        return simulate(self.instance(floor), policies, rounds, epochs, seed=1, rewards=self.rewards, checkpoints=400)


def log_file() -> bytes:
    """The log as a CSV file."""
    columns = Platform().columns()
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def floors_file() -> bytes:
    """The promises of docs/films.md as a file of floors, for `arcbandit advise` and its like."""
    return tomli_w.dumps({"revenue_floors": dict.fromkeys(Platform().providers, FLOOR)}).encode()
