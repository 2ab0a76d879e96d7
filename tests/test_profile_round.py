"""The profile of a round calls kernels of many rooms by hand: it must still know how."""

import pytest

from arcbandit.experiments.paper_instances import nu
from benchmarks.learning import steady_learner
from benchmarks.profile_round import STEPS, profile


@pytest.mark.system
def test_every_step_is_timed():
    steps, planning, whole = profile(steady_learner(nu(), "olp"), rounds=50)
    assert len(steps) == len(STEPS)
    assert min(*steps, planning, whole) > 0.0
