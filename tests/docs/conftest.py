"""The site, built once for all tests of a run; what `make site` left is used if it is that of the files as they are."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from docs.site.building import is_current
from docs.site.contents import ROOT
from tests.experiments.chromium import Chromium, find_chromium


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site."""
    made = ROOT / "site"
    if is_current(made):
        return made.resolve()
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base  # the workers of one run build it once
    target = Path(shared).resolve() / "site"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_current(target):
            # In a process of its own, as `make site` does: here every warning of a library would be an error.
            done = subprocess.run(
                [sys.executable, "-m", "docs.site", str(target)], cwd=ROOT, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Chromium, with one tab."""
    tab = Chromium(find_chromium(), tmp_path_factory.mktemp("profile"))
    yield tab
    tab.close()
