import doctest
import subprocess
import sys
import tomllib
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from arcbandit import GroupFloor, Instance, paper_instance
from arcbandit.errors import InvalidInputError, MissingExtraError
from arcbandit.simulation import environment
from arcbandit.simulation.environment import ENVIRONMENT_ID, MabArc
from arcbandit.simulation.rewards import ObservedRewards

ROOT = Path(__file__).parents[2]


def made(**settings):
    return gymnasium.make(ENVIRONMENT_ID, **settings).unwrapped


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"instance": paper_instance("nu"), "horizon": 100},
        {"rewards": "bernoulli"},
    ],
    ids=["default", "nu", "bernoulli"],
)
def test_passes_the_checker_without_a_warning(settings):
    """Warnings are errors here."""
    check_env(made(**settings))


def test_an_episode_is_truncated_at_the_horizon_and_never_terminates():
    """And cannot be played on."""
    rounds = made(horizon=5)
    rounds.reset(seed=1)
    ends = [rounds.step(0)[2:4] for _ in range(5)]
    assert ends == [(False, False)] * 4 + [(False, True)]
    with pytest.raises(InvalidInputError, match="reset"):
        rounds.step(0)


def test_the_seed_decides_everything():
    """Contexts and rewards."""

    def play(seed):
        rounds = made(horizon=50)
        first, _ = rounds.reset(seed=seed)
        return [first, *(rounds.step(number % 2)[:2] for number in range(50))]

    assert play(3) == play(3)
    assert play(3) != play(4)


@pytest.mark.parametrize("rewards", ["gaussian", "bernoulli", "observed"])
def test_contexts_and_rewards_have_their_means(rewards, cases):
    """5,000 seeded rounds, 20,000 in the long version, within five standard errors (false alarm below 1e-5)."""
    horizon = cases(5_000, 20_000)
    observed = ObservedRewards([[[0.0, 1.0], [0.25]], [[1.0], [0.5, 0.5, 0.8]]])
    instance = observed.instance(revenue_floors=[0.1, 0.1], context_probabilities=[0.25, 0.75])
    rounds = MabArc(instance, horizon=horizon, rewards=observed if rewards == "observed" else rewards)
    context, _ = rounds.reset(seed=5)
    seen = [[[], []], [[], []]]
    for number in range(horizon):
        following, reward, _, _, info = rounds.step(number % 2)
        assert info["expected_revenue"] == instance.mean_rewards[number % 2, context]
        seen[number % 2][context].append(reward)
        context = following
    counts = np.array([[len(pair) for pair in row] for row in seen])
    assert counts.sum(axis=0)[0] / horizon == pytest.approx(0.25, abs=5 * np.sqrt(0.25 * 0.75 / horizon))
    deviation = 1.0 if rewards == "gaussian" else 0.5
    for row, means in zip(seen, instance.mean_rewards, strict=True):
        for pair, mean in zip(row, means, strict=True):
            assert np.mean(pair) == pytest.approx(mean, abs=5 * deviation / np.sqrt(len(pair)))


def test_info_counts_revenue_and_what_floors_lack():
    """Arms and groups, from what was really earned."""
    instance = Instance(
        [[1.0], [1.0], [0.0]],
        revenue_floors=[0.5, 0.5, 0.25],
        context_probabilities=[1.0],
        group_floors=[GroupFloor("all", ("1", "2", "3"), 1.5)],
    )
    rounds = MabArc(instance, horizon=10, rewards="bernoulli")
    _, info = rounds.reset(seed=0)
    assert info["shortfall"].tolist() == [0, 0, 0]
    for arm in (0, 0, 1, 2):
        _, _, _, _, info = rounds.step(arm)
    assert info["round_number"] == 4
    assert info["arm_revenue"].tolist() == [2, 1, 0]
    assert info["revenue_floors"].tolist() == [0.5, 0.5, 0.25]
    assert info["shortfall"].tolist() == [0, 1, 1]
    assert info["group_shortfall"].tolist() == [3]


def test_an_instance_may_be_a_file(tmp_path):
    """As for everything that takes an instance."""
    paper_instance("nu").save(tmp_path / "nu.toml")
    assert made(instance=tmp_path / "nu.toml").instance == paper_instance("nu")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"horizon": 0}, "horizon must be"),
        ({"horizon": True}, "horizon must be"),
        ({"render_mode": "human"}, "render_mode must be None"),
        ({"instance": "absent.toml"}, "no such file"),
        ({"rewards": "poisson"}, "rewards must be"),
        ({"instance": paper_instance("nu"), "rewards": "bernoulli"}, "from 0 to 1"),
    ],
)
def test_bad_settings_are_refused(settings, said):
    """By our own error, which says what is wrong."""
    with pytest.raises(InvalidInputError, match=said):
        MabArc(**settings)


@pytest.mark.parametrize("action", [2, -1, 0.5, "1"])
def test_bad_actions_are_refused(action):
    """An arm is an index."""
    rounds = MabArc()
    rounds.reset(seed=0)
    with pytest.raises(InvalidInputError, match="action must be an arm from 0 to 1"):
        rounds.step(action)


def test_a_round_needs_a_reset():
    """There is no context yet."""
    with pytest.raises(InvalidInputError, match="reset"):
        MabArc().step(0)


NAME_WITH_MODULE = f"arcbandit.simulation.environment:{ENVIRONMENT_ID}"
README = ROOT / "README.md"


@pytest.mark.parametrize("page", [README.read_text(encoding="utf-8"), MabArc.__doc__], ids=["readme", "docstring"])
def test_both_ways_to_make_it_are_documented(page):
    assert "import arcbandit.simulation.environment" in page
    assert f'gymnasium.make("{ENVIRONMENT_ID}"' in page
    assert NAME_WITH_MODULE in page


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        f"import gymnasium, arcbandit.simulation.environment; made = gymnasium.make('{ENVIRONMENT_ID}')",
        f"import gymnasium; made = gymnasium.make('{NAME_WITH_MODULE}')",
        f"import gymnasium; made = gymnasium.make_vec('{NAME_WITH_MODULE}', num_envs=2, vectorization_mode='sync')",
    ],
    ids=["import", "name", "vector"],
)
def test_what_is_documented_works_in_a_new_process(script):
    """Where nothing of arcbandit was imported before."""
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{script}; made.reset(seed=1); print('made')"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (finished.returncode, finished.stdout) == (0, "made\n"), finished.stderr


def test_no_entry_point_is_declared_that_nobody_reads():
    """Gymnasium 1 loads no plugins; if it ever does again, the documentation can ask for less."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "entry-points" not in declared
    script = f"import gymnasium; gymnasium.make('{ENVIRONMENT_ID}')"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert finished.returncode != 0
    assert "NamespaceNotFound" in finished.stderr


def test_without_gymnasium_the_extra_is_named(monkeypatch):
    """The message says what to install."""
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "arcbandit.simulation.environment")
    with pytest.raises(MissingExtraError, match=r"arcbandit\[gym\]"):
        __import__("arcbandit.simulation.environment")


def test_docstring_example_gives_what_it_shows():
    """An example is an assertion."""
    failed, attempted = doctest.testmod(environment)
    assert (failed, attempted > 0) == (0, True)
