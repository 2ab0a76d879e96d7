"""What type checkers are told of policies is what the policies take."""

import inspect
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from arcbandit.policies import settings
from arcbandit.policies.base import Policy
from arcbandit.policies.registry import own_policies
from arcbandit.simulation.clairvoyant import CLAIRVOYANTS, ClairvoyantName

ROOT = Path(__file__).parents[2]
PROBLEM = ("revenue_floors", "context_probabilities")


def test_every_keyword_of_a_policy_is_among_the_settings():
    """A parameter that is added to `Policy` must be shown to type checkers too."""
    taken = [name for name in inspect.signature(Policy.__init__).parameters if name not in ("self", "dials", *PROBLEM)]
    assert taken == list(settings.Settings.__annotations__)


def test_the_names_are_those_of_the_policies_in_their_order():
    assert get_args(settings.PolicyName) == tuple(own_policies())
    assert get_args(ClairvoyantName) == tuple(CLAIRVOYANTS)


def settings_of(kind):
    """The class of settings that the source of a policy names; it is there for type checkers alone."""
    source = inspect.getsource(import_module(kind.__module__))
    return getattr(settings, source.partition("**settings: Unpack[")[2].partition("]")[0])


@pytest.mark.parametrize("kind", own_policies().values(), ids=lambda kind: kind.__name__)
def test_every_dial_is_typed(kind):
    typed = settings_of(kind)
    common = set(settings.Settings.__annotations__)
    assert set(typed.__annotations__) - common == {dial.name for dial in kind.dials}
    hints = get_type_hints(typed, localns={"Table": object})
    for dial in kind.dials:
        if dial.choices:
            assert get_args(hints[dial.name]) == dial.choices
        else:
            assert hints[dial.name] is (int if dial.whole else float)


WRONG = {
    "BLP(cautoin=1.0)": 'Unexpected keyword argument "cautoin" for "BLP"',
    "BLP(sigma=0.1)": 'Unexpected keyword argument "sigma" for "BLP"',
    "OLP([1.0], [1.0], nose_scale=1.0)": 'Unexpected keyword argument "nose_scale" for "OLP"',
    "LinearProgramRule(cautoin=1.0)": 'Unexpected keyword argument "cautoin" for "LinearProgramRule"',
    'BLP(replan="allways")': 'Argument "replan" to "BLP" has incompatible type',
    'Optimistic3(dual="expectd")': 'Argument "dual" to "Optimistic3" has incompatible type',
    'ThompsonLP(redraws="3")': 'Argument "redraws" to "ThompsonLP" has incompatible type',
    "Instance([[1.0]], [1.0], [1.0], sigma=0.1)": 'expected "Never"',
    'simulate(NU, ["blp"], 100, device="cudo")': "No overload variant",
    'simulate(NU, ["blp"], 100, epoch=3)': 'Unexpected keyword argument "epoch"',
    'simulate(NU, ["blp"], 100, keep="sumary")': "No overload variant",
    'simulate(NU, ["blp"], 100, rewards="gausian")': "No overload variant",
    'simulate(NU, ["bpl"], 100)': 'incompatible type "Literal',
    'compare(NU, {"mine": "thomson-lp"}, 100)': "incompatible type",
}
RIGHT = [
    'BLP([1.0], {"x": 1.0}, arms=["a"], noise_scale=1, replan=10, seed=None, horizon=1e5).decide("x")',
    'LinearProgramRule(optimism=1, caution=-0.5, replan="doubling")',
    "ThompsonLP(redraws=3, share=0.5)",
    'Optimistic3(alpha=1, dual="realised")',
    'simulate(NU, ["blp"], 1e5, 1e2, device="auto", keep="summary").quantile("regret", "blp", 0.5)',
    'simulate(NU, ["blp", policy("mine"), "clairvoyant"], 100)',
    'policy("blp", sigma=3)',  # by name, anything goes
]


@pytest.mark.slow
def test_a_misspelt_keyword_is_found_by_mypy(tmp_path):
    pytest.importorskip("mypy", reason="mypy comes with the extra `lint`")
    opening = """
        from arcbandit import BLP, OLP, Instance, LinearProgramRule, Optimistic3, ThompsonLP
        from arcbandit import compare, paper_instance, policy, simulate

        NU = paper_instance("nu")
    """
    lines = [*textwrap.dedent(opening).strip().splitlines(), *WRONG, *RIGHT]
    snippet = tmp_path / "snippet.py"
    snippet.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--hide-error-context", str(snippet)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    by_line = {}
    for line in found.splitlines():
        place, error, said = line.partition(": error: ")
        if error:
            by_line.setdefault(lines[int(place.rpartition(":")[2]) - 1], said)
    assert set(by_line) == set(WRONG), found
    for call, said in WRONG.items():
        assert said in by_line[call]
