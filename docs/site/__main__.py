"""Build the site: python -m docs.site [folder]."""

import sys
import time
from pathlib import Path

from docs.site.building import SiteError, build
from docs.site.checking import external_links, problems_of
from docs.site.contents import ROOT
from docs.site.staging import DeadLinkError


def main(arguments: list[str]) -> int:
    """Build, check, and say where it is."""
    target = Path(arguments[0]) if arguments else ROOT / "site"
    began = time.monotonic()
    try:
        build(target)
    except (SiteError, DeadLinkError) as error:
        print(error, file=sys.stderr)
        return 1
    problems = problems_of(target)
    for problem in problems:
        print(problem, file=sys.stderr)
    pages = sum(1 for _ in target.rglob("*.html"))
    elsewhere = len(external_links(target))
    print(f"{pages} pages in {time.monotonic() - began:.0f} s, with {elsewhere} links to other sites, not followed.")
    print(target / "index.html")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
