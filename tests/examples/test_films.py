"""The film platform is made of the films that the file has, and its page tells what its command prints."""

import importlib

import numpy as np
import pytest

from arcbandit import read_log
from arcbandit.errors import InvalidInputError
from arcbandit.examples.films import COLUMNS, EPOCHS, FLOOR, ROUNDS, Platform, films
from tests.long import each_of

generate = importlib.import_module("docs.generate_films")


@pytest.fixture(scope="module")
def platform():
    return Platform()


def test_every_film_belongs_to_a_pair(platform):
    every = films()
    by_pair = [film for p in platform.providers for g in platform.genres for film in platform.of(p, g)]
    assert sorted(by_pair) == sorted(every)
    assert len(every) == 1336
    assert all(1.0 <= film.rating <= 10.0 and film.gross >= 0.0 for film in every)
    assert platform.asked_for.sum() == pytest.approx(1.0)


def test_likings_are_those_of_real_films(platform):
    """A row names a film, and has its provider, genre and rating."""
    known = {(film.title, film.provider, film.genre, film.rating / 10) for film in films()}
    log = platform.log(500, seed=3)
    rows = zip(*(log[name].to_pylist() for name in ("title", "provider", "genre", "liking")), strict=True)
    assert set(rows) <= known


@pytest.mark.slow
def test_the_log_has_the_means_of_the_films(platform):
    """By the standard errors of 36 means; a deviation of five of one of them comes once in 50,000 logs."""
    statistics = read_log(platform.log(), **COLUMNS)
    assert (statistics.arms, statistics.contexts) == (platform.providers, platform.genres)
    errors = statistics.noise_scale * 1.5 / np.sqrt(statistics.counts)
    assert (np.abs(statistics.means - platform.rewards.means) < 5.0 * errors).all()


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        (lambda platform: platform.log(0), "rows must be a whole number"),
        (lambda platform: platform.log(10, seed=-1), "seed must be a whole number"),
        (lambda platform: platform.instance(-1.0), "floor must be"),
        (lambda platform: platform.instance(float("nan")), "floor must be"),
    ],
)
def test_what_makes_no_platform_is_refused(platform, asked, match):
    with pytest.raises(InvalidInputError, match=match):
        asked(platform)


def table():
    """The rows of the page by policy."""
    text = generate.PAGE.read_text(encoding="utf-8")
    _, begun, rest = text.partition(generate.BEGIN)
    inside, ended, _ = rest.partition(generate.END)
    assert begun
    assert ended
    return {line.split(" | ")[0].strip("| "): line for line in inside.strip().splitlines()[2:]}


def test_the_page_has_a_row_for_each_policy():
    assert sorted(table()) == sorted(generate.policies())


def test_what_the_page_says_of_the_best_policy_is_in_its_table():
    """The shares of the promises, and its first round to the nearest ten."""
    cells = [cell.strip().split(" ± ") for cell in table()["priced-lp"].strip("| ").split("|")]
    lacked, promised, half = float(cells[2][0]), 27_000, int(cells[4][0])
    share = f"{100 * lacked / promised:.2f} %"
    text = " ".join(generate.PAGE.read_text(encoding="utf-8").split())
    assert f"they lack {lacked:.0f} of {promised:,}, that is {share}, and after some {round(half, -1)} visits" in text


@pytest.mark.slow
@pytest.mark.parametrize("policy", each_of(["blp"], generate.policies()))
def test_numbers_of_the_page_are_those_of_the_simulation(platform, policy):
    assert (FLOOR, ROUNDS, EPOCHS) == (0.09, 50_000, 40)  # as the page says
    assert generate.row_of(platform.play([policy]), policy) == table()[policy]
