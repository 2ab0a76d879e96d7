"""What the newcomer's path runs is what the pages print."""

import re

from tests.docstrings import ROOT
from tests.release.environments import blocks_of, commands_of
from tests.release.test_newcomer import BASE, COMMAND_LINE, INSTALL, PYTHON, TUTORIAL, WITH_EXTRAS

PAGE = """
Text.

    pip install thing             # a comment
    thing do --it 'all of it'

- a list
  goes on

```python
    not a command
```
"""


def test_commands_are_indented_lines_without_their_comments():
    assert commands_of(PAGE) == ["pip install thing", "thing do --it 'all of it'"]
    assert blocks_of(PAGE, "python") == ["    not a command\n"]


def test_the_readme_and_the_tutorial_have_commands_and_code():
    """Otherwise the path would pass by doing nothing."""
    assert len(BASE) == 3
    assert WITH_EXTRAS[-1] == "arcbandit demo"
    assert commands_of(INSTALL)
    assert len(commands_of(COMMAND_LINE)) >= 4
    assert len(blocks_of(PYTHON, "python")) >= 6
    assert len(blocks_of(TUTORIAL, "python")) >= 10


def test_what_pages_tell_users_of_a_clone_to_make_is_there():
    """The home page and the README name targets that the Makefile has."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in ("README.md", "docs/index.md", "CONTRIBUTING.md"):
        named = re.findall(r"(?:`| {4})make ([a-z-]+)", (ROOT / page).read_text("utf-8"))
        assert named, page
        assert set(named) <= targets, page
