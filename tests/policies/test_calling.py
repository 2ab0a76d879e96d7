"""Rules that are much to compile are compiled once for all that calls them."""

import pytest

from arcbandit import BLP, PricedLP, paper_instance, simulate
from arcbandit.compilation.fingerprint import fingerprint
from arcbandit.compilation.packing import kind_of
from arcbandit.compilation.shared_code import loaded
from arcbandit.policies.calling import calling, kind_to_share
from arcbandit.policies.learner import Stream
from arcbandit.policies.rounds import make_work

NU = paper_instance("nu")


@pytest.mark.slow
def test_the_loop_and_a_policy_at_work_call_the_same_code():
    simulate(NU, [PricedLP(), PricedLP(replan=5)], 50, 1, jobs=1)
    online = PricedLP().for_instance(NU, seed=1)
    online.decide(0)
    called = calling(PricedLP.allocate, kind_to_share(online.learner))
    allocate = called.allocate_elsewhere.py_func.__globals__["shared_allocate"]
    assert len([symbol for symbol in loaded if fingerprint(allocate.py_func) in symbol]) == 1


def test_small_rules_are_part_of_what_calls_them():
    assert kind_to_share(BLP().for_instance(NU, seed=1).learner) is None


def test_rules_are_compiled_once_whether_sigma_is_given_or_estimated():
    """What a rule is compiled for does not tell the two apart."""
    given, estimated = (
        BLP(NU.revenue_floors, NU.context_probabilities, **told).learner for told in ({"noise_scale": 1.0}, {})
    )
    assert kind_of(given) != kind_of(estimated)
    shown = [make_work(learner, Stream(0, 0, 0)).learner for learner in (given, estimated)]
    assert kind_of(shown[0]) == kind_of(shown[1])
