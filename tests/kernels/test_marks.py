import numpy as np
import pytest

from arcbandit.kernels.marks import CHANGED, MOST_NAMED, ONE_ARM, UNCHANGED, make_marks
from tests.kernels.marking import mark_pair


@pytest.mark.parametrize("arm", [0, 1, MOST_NAMED - 1])
def test_a_pair_that_changed_alone_is_named_however_often_it_did(arm):
    marks = make_marks(3)
    for _ in range(3):
        mark_pair(marks, arm, 1)
        assert marks.tolist() == [UNCHANGED, arm + ONE_ARM, UNCHANGED]


@pytest.mark.parametrize("arms", [(0, 1), (1, 0), (0, 1, 0), (7, 7, 8), (MOST_NAMED, 3), (3, MOST_NAMED), (5, 6, 7)])
def test_of_several_pairs_none_is_named(arms):
    marks = make_marks(2)
    for arm in arms:
        mark_pair(marks, arm, 0)
    assert marks.tolist() == [CHANGED, UNCHANGED]


def test_an_arm_beyond_a_byte_is_not_named():
    marks = make_marks(1)
    mark_pair(marks, MOST_NAMED, 0)
    assert marks.tolist() == [CHANGED]


def test_true_marks_the_whole_context():
    """So that a rule of somebody's own may write it."""
    marks = make_marks(1)
    marks[0] = True
    assert marks[0] == CHANGED
    mark_pair(marks, 4, 0)
    assert marks[0] == CHANGED


def test_marks_take_a_byte_per_context():
    """Threads of a GPU have no memory to spare."""
    assert make_marks(7).nbytes == 7
    assert np.iinfo(make_marks(1).dtype).max == MOST_NAMED - 1 + ONE_ARM
