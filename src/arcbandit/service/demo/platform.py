"""The film platform of the paper's introduction: providers are arms, genres are contexts, engagement is revenue.

`providers-by-genre.csv` is the table of the tutorial, which tells where it comes from. A recommendation earns a tenth
of the rating of a film, drawn with the mean and the deviation of its provider and genre.
"""

import csv
import random
from importlib.resources import files
from itertools import accumulate
from typing import Any

CAMPAIGN = "films"
# What every provider was promised, in engagement per visit: by the true means the best plan earns 0.634, and 0.648
# without promises.
FLOORS = {
    "20th Century Fox": 0.14,
    "Paramount Pictures": 0.05,
    "Sony Pictures": 0.16,
    "Universal": 0.05,
    "Walt Disney Pictures": 0.06,
    "Warner Bros.": 0.12,
}
VIOLATION_WEIGHT = 10.0  # what a unit that a promise lacks is worth, in units of engagement
RATING = 10.0
DEVIATION = 1.0  # of ratings where there is a single film


class Platform:
    """What is true of the platform, which the service has to learn.

    >>> platform = Platform()
    >>> len(platform.providers), len(platform.genres)
    (6, 6)
    """

    def __init__(self) -> None:
        text = (files(__package__) / "providers-by-genre.csv").read_text(encoding="utf-8")
        rows = {(row["provider"], row["genre"]): row for row in csv.DictReader(text.splitlines())}
        self.providers = sorted({provider for provider, _ in rows})
        self.genres = sorted({genre for _, genre in rows})
        self._ratings = {
            pair: (float(row["mean_imdb_rating"]), float(row["imdb_rating_deviation"] or DEVIATION))
            for pair, row in rows.items()
        }
        films = [sum(int(rows[provider, genre]["films"]) for provider in self.providers) for genre in self.genres]
        self._until = list(accumulate(films))

    def campaign(self) -> dict[str, Any]:
        """The body of the request that makes the campaign."""
        return {
            "name": CAMPAIGN,
            "floors": FLOORS,
            "contexts": self.genres,
            "policy": "priced-lp",
            "dials": {"violation_weight": VIOLATION_WEIGHT},
        }

    def genre(self, chance: random.Random) -> str:
        """What a visitor asks for: genres are asked for as often as there are films of them."""
        return chance.choices(self.genres, cum_weights=self._until)[0]

    def engagement(self, provider: str, genre: str, chance: random.Random) -> float:
        """What showing a film of this provider earns, from 0 to 1."""
        rating = chance.gauss(*self._ratings[provider, genre])
        return min(max(rating, 0.0), RATING) / RATING
