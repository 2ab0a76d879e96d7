"""Which pages the site has, in which order, and where each comes from."""

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HOME = "index"


class Page(NamedTuple):
    """A page of the site: its address without the suffix, its name in the navigation, and its source."""

    address: str
    name: str
    source: str | None = None  # in the repository; by default docs/, and None for what is written by a program

    @property
    def path(self) -> Path:
        """The source in the repository."""
        return ROOT / (self.source or f"docs/{self.address}.md")


class Section(NamedTuple):
    """Pages under one heading of the navigation."""

    heading: str
    pages: tuple[Page, ...]


WRITTEN = "written"  # the source of pages that are made for the site alone

SECTIONS = (
    Section(
        "Learn",
        (
            Page("tutorial", "Tutorial"),
            Page("notebooks/the-paper", "The paper in ten minutes", WRITTEN),
            Page("notebooks/log-to-service", "A platform, from log to service", WRITTEN),
            Page("notebooks/new-policy", "A new policy, from idea to figure", WRITTEN),
        ),
    ),
    Section(
        "How to",
        (
            Page("plan-a-promise", "Plan and price a promise"),
            Page("simulate-and-compare", "Simulate and compare"),
            Page("write-your-own-policy", "Write a policy"),
            Page("in-production", "In production"),
            Page("service", "The service"),
            Page("from-a-log", "From a log to a promise"),
            Page("films", "Example: a film platform"),
            Page("open-bandit", "Example: a fashion shop"),
            Page("on-a-cluster", "On a cluster"),
            Page("many-epochs", "On a GPU"),
            Page("reproduce", "Reproduce the paper"),
        ),
    ),
    Section(
        "Explanation",
        (
            Page("theory", "Theory"),
            Page("differences", "Differences from the paper"),
            Page("notation", "Notation"),
            Page("learning", "Who learns fastest"),
            Page("priced-lp", "PricedLP and its guards"),
            Page("what-each-costs", "What each feature costs"),
            Page("performance", "Performance"),
            Page("architecture", "Architecture", "ARCHITECTURE.md"),
            Page("how-it-works", "How it works"),
        ),
    ),
    Section(
        "Reference",
        (
            Page("reference/index", "Python", WRITTEN),
            Page("cli", "Command line"),
            Page("http-api", "HTTP API"),
            Page("metrics", "Metrics"),
            Page("references", "Literature", WRITTEN),
        ),
    ),
    Section(
        "Project",
        (
            Page("contributing", "Contributing", "CONTRIBUTING.md"),
            Page("changelog", "Changelog", "CHANGELOG.md"),
        ),
    ),
)

PAGES = tuple(page for section in SECTIONS for page in section.pages)
