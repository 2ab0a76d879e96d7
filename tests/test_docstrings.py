"""The check that docstrings agree with signatures finds what it is for."""

import pytest

from tests.docstrings import Sources, findings

RIGHT = '''
class Box:
    """A box of so much `width`."""

    def __init__(self, width):
        self.width = width

    def grow(self, by=1.0):
        """Add to the `width`, `by` so much."""

def pack(things, *, size=1, strict=False):
    """Pack `things` into a `Box`; with `strict`, of this `size`, as `unpack` takes it."""

def unpack(box, size=1):
    """What is in a box of that size."""
'''
PUBLIC = {"Box": "boxes", "pack": "boxes", "unpack": "boxes"}


def found_in(text):
    return [str(finding) for finding in findings(Sources({"boxes": text}, PUBLIC))]


def test_what_agrees_passes():
    """Arguments, members of the class, other public names."""
    assert found_in(RIGHT) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("def pack(things,", "def pack(parts,", "`things`"),
        ("def grow(self, by=1.0)", "def grow(self, amount=1.0)", "`by`"),
        ("def __init__(self, width):\n        self.width = width", "def __init__(self):\n        pass", "`width`"),
        ("size=1, strict=False", "size=1, strict=False, tape=None", "'tape'"),
        ("def unpack(box, size=1)", "def unpack(box, size=1, knife=None)", "'knife'"),
    ],
)
def test_what_does_not_agree_is_named(old, new, problem):
    """An argument that was renamed, removed, or added without a word."""
    assert old in RIGHT
    (finding, *_) = found_in(RIGHT.replace(old, new))
    assert problem in finding


@pytest.mark.slow
def test_the_package_agrees():
    """What `make lint` asks, here too."""
    sources = Sources.of_the_package()
    assert findings(sources) == []
    assert len(sources.functions) >= 20
