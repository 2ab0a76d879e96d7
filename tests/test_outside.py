"""A package from outside the tree brings a policy of its own, and it is used everywhere without a line of ours."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import arcbandit
from arcbandit.compilation import cuda

OUTSIDE = Path(__file__).parent / "outside"
PAGE = Path(__file__).parents[1] / "docs" / "write-your-own-policy.md"

USE_EVERYWHERE = """
import json, pickle, sys
import arcbandit
from arcbandit import checks, paper_instance, policy, restore, simulate
from arcbandit_examples.bernstein import BernsteinOLP
from arcbandit_examples.epsilon_greedy import EpsilonGreedyLP

assert arcbandit.policies.registry.POLICIES["bernstein-olp"] is BernsteinOLP
nu = paper_instance("nu")
trace = simulate(nu, ["olp", "bernstein-olp", BernsteinOLP(scale=0.1), EpsilonGreedyLP()], 400, epochs=2)
print(*trace.policies, sep=";")
print(*(trace.regret[name][0, -1] > 0 for name in trace.policies))
decider = policy("bernstein-olp", nu.revenue_floors, nu.context_probabilities, noise_scale=1.0, seed=4)
for t in range(50):
    decision = decider.decide(t % 3)
    decider.update(t % 3, decision.arm, 1.0)
twin = restore(json.loads(json.dumps(decider.snapshot())))
assert [twin.decide(t % 3) for t in range(9)] == [decider.decide(t % 3) for t in range(9)]
if sys.argv[1:] == ["check"]:
    checks.check_policy(BernsteinOLP)
    checks.check_policy(EpsilonGreedyLP())
decide = twin._state.kernels.decide
print(sum(decide.stats.cache_hits.values()), sum(decide.stats.cache_misses.values()))
"""

PLAY_ON_A_DEVICE = """
import numpy as np
from arcbandit import paper_instance, simulate
from arcbandit_examples.bernstein import BernsteinOLP

run = {"horizon": 24, "epochs": 2, "checkpoints": range(1, 25), "keep": "epochs"}
played, expected = (
    simulate(paper_instance("nu"), [BernsteinOLP(scale=0.1)], **run, device=device) for device in ("cuda", "cpu")
)
(label,) = played.policies
assert np.allclose(played.realised_revenue[label], expected.realised_revenue[label], rtol=0.0, atol=1e-9)
assert np.allclose(played.records[label], expected.records[label], rtol=1e-9, atol=1e-9, equal_nan=True)
print(played.records[label].shape[0])
"""


def environment(folder):
    """That of a process which finds the installed package, and ours where it is now."""
    ours = Path(arcbandit.__file__).parents[1]
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ours)])}


def run(arguments, **settings):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder into which the package was installed, as a user installs it."""
    source = tmp_path_factory.mktemp("source")
    shutil.copytree(OUTSIDE, source / "package")
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--no-deps", "--no-build-isolation", "--target", str(target), str(source / "package")])
    return target


@pytest.mark.system
def test_a_policy_from_outside_is_used_everywhere(installed, tmp_path):
    """By name, class and object; in simulations, online, in snapshots; its code is found on disk the second time."""
    for arguments in (["check"], []):
        lines = run([sys.executable, "-c", USE_EVERYWHERE, *arguments], env=environment(installed), cwd=tmp_path)
        names, grows, counts = lines.splitlines()
        assert names == "olp;bernstein-olp;bernstein-olp(scale=0.1);epsilon-greedy-lp"
        assert grows == "True True True True"
    assert counts == "1 0"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "darwin", reason="numba-cuda is not made for macOS")
def test_a_gpu_plays_it_as_the_cpu_does(tmp_path):
    """Round by round, with every metric; where there is no GPU, Numba's simulator runs its kernels in Python."""
    simulator = {} if cuda.device_available() else {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    told = run([sys.executable, "-c", PLAY_ON_A_DEVICE], env=environment(OUTSIDE) | simulator, cwd=tmp_path)
    assert told == "2\n"


@pytest.mark.slow
def test_the_command_line_knows_it(installed, tmp_path):
    """It is listed with its dials, and simulated by name."""
    simulated = ["simulate", "nu", "--policy", "bernstein-olp:scale=0.5", "--horizon", "200", "--json"]
    script = f"""
from arcbandit.cli import main
for arguments in (["policies", "--json"], {simulated}):
    assert main(arguments) == 0
    print("=====")
"""
    told = run([sys.executable, "-c", script], env=environment(installed), cwd=tmp_path)
    listed, played, _ = told.split("=====\n")
    (found,) = [entry for entry in json.loads(listed)["policies"] if entry["name"] == "bernstein-olp"]
    assert [dial["name"] for dial in found["dials"]] == ["scale"]
    assert "bernstein-olp:scale=0.5" in played


@pytest.mark.slow
def test_what_cannot_be_loaded_says_so(tmp_path):
    """An entry point that leads nowhere is named when its policy is asked for, and harms nobody else."""
    metadata = tmp_path / "broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[arcbandit.policies]\nlost = nowhere:Lost\nodd = json:dumps\n")
    script = """
from arcbandit import policy
policy("olp")
for name in ("lost", "odd"):
    try:
        policy(name)
    except Exception as error:
        print(type(error).__name__, error)
"""
    lines = run([sys.executable, "-c", script], env=environment(tmp_path), cwd=tmp_path).splitlines()
    assert lines[0].startswith("InvalidInputError Policy 'lost' cannot be loaded by the entry point 'lost'")
    assert "must be a subclass of Policy" in lines[1]


@pytest.mark.parametrize("name", ["bernstein", "epsilon_greedy"])
def test_the_page_shows_the_package_as_it_is(name):
    """Every line of code on the page is one of the package, in its order."""
    source = (OUTSIDE / "arcbandit_examples" / f"{name}.py").read_text()
    shown = re.findall(rf"<!-- {name} -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert shown
    place = 0
    for part in shown:
        found = source.find(part, place)
        assert found >= 0, part
        place = found + len(part)
