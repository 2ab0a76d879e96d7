"""The files of the examples, which are installed with the package."""

from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data"
PAGES = "https://github.com/arcbandit/arcbandit/blob/main/docs"
README = "README.md"  # where the data are from, under which licence, and whom to cite


class Example(NamedTuple):
    """An example on real data."""

    summary: str
    files: tuple[str, ...]
    page: str


EXAMPLES = {
    "films": Example(
        "1,336 films of six providers in six genres: what a film platform can promise",
        ("films.csv", "providers-by-genre.csv"),
        f"{PAGES}/films.md",
    ),
    "open-bandit": Example(
        "20,000 impressions of a fashion shop, half by a uniform policy and half by Thompson sampling",
        ("obd-men-random.csv.gz", "obd-men-bts.csv.gz", "LICENSE.Apache-2.0.txt"),
        f"{PAGES}/open-bandit.md",
    ),
}


def files_of(name: str) -> dict[str, bytes]:
    """The files of an example by name, with what they are and where they are from.

    >>> list(files_of("open-bandit"))
    ['README.md', 'obd-men-random.csv.gz', 'obd-men-bts.csv.gz', 'LICENSE.Apache-2.0.txt']
    """
    files = {file: data_file(file).read_bytes() for file in (README, *EXAMPLES[name].files)}
    if name == "films":
        from arcbandit.examples.films import floors_file, log_file

        files |= {"log.csv": log_file(), "floors.toml": floors_file()}
    return files


def data_file(name: str) -> Path:
    """The path of a file.

    >>> data_file("films.csv").name
    'films.csv'
    """
    return DATA / name
