"""A newcomer's path, in order and as printed: the README's commands and code, the tutorial, the demo, their own tests.

One environment goes through all of it, so these tests depend on their order.
"""

import re
import signal
import urllib.request

import pytest

from tests.docstrings import ROOT
from tests.patience import PATIENCE, killed, line_of
from tests.release.environments import PLAYING, VERSION, blocks_of, commands_of

pytestmark = pytest.mark.slow

README = (ROOT / "README.md").read_text("utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
FIRST, REST = README.split("## Install", 1)
INSTALL, REST = REST.split("## In Python", 1)
PYTHON, COMMAND_LINE = REST.split("## On the command line", 1)
# Those of a clone are gates of their own: .ci/run has `make run`, `make test` and `make test-system`.
TYPED = [command for command in commands_of(FIRST) if not command.startswith("make ")]
BASE = TYPED[: TYPED.index("pip install 'arcbandit[all]'")]
WITH_EXTRAS = TYPED[len(BASE) :]

# The selection of the package's own tests that is run on what was installed.
OWN_TESTS = [
    "tests/test_errors.py",
    "tests/test_floors.py",
    "tests/test_instance.py",
    "tests/test_limits.py",
    "tests/test_oracle.py",
    "tests/test_planner.py",
    "tests/test_public_names.py",
    "tests/test_release.py",
    "tests/cli/test_examples.py",
    "tests/cli/test_instances.py",
    "tests/cli/test_plan.py",
    "tests/cli/test_policies.py",
    "tests/inputs",
]
TEST_TOOLS = "pytest pytest-timeout pytest-xdist hypothesis scipy 'readme-renderer[md]'"

PLAN_SIMULATE_DECIDE = """
import sys
import arcbandit
assert not {"numpy", "numba"} & set(sys.modules)
from arcbandit import BLP, paper_instance, plan, simulate
nu = paper_instance("nu")
print(plan(nu).value)
print(simulate(nu, "blp", horizon=100, epochs=2).policies)
policy = BLP(nu.revenue_floors, nu.context_probabilities, noise_scale=1.0)
policy.update(0, policy.decide(0).arm, 1.0)
print(policy.round_number)
print(arcbandit.__version__, arcbandit.__file__)
"""


def test_the_first_commands_of_the_readme(environment, desk):
    """`pip install arcbandit`, and then a plan and a simulation."""
    assert BASE[0] == "pip install arcbandit"
    printed = [environment.run(command, desk) for command in BASE]
    assert "5.25" in printed[1]
    assert "priced-lp" in printed[2]


def test_the_base_alone_plans_simulates_and_decides(environment, desk):
    """Without any extra, and importing loads neither NumPy nor Numba."""
    value, policies, rounds, version = environment.python(PLAN_SIMULATE_DECIDE, desk).splitlines()
    assert (value, policies, rounds) == ("5.25", "('blp',)", "2")
    assert version.startswith(f"{VERSION} {environment.home.parent}")
    installed = environment.run("pip list --format=freeze", desk).lower()
    for heavy in ("polars", "pandas", "duckdb", "matplotlib", "starlette", "pyarrow", "scipy"):
        assert f"\n{heavy}==" not in f"\n{installed}"


def test_the_base_alone_has_the_command_line(environment, desk):
    """Also as `python -m arcbandit`; what an extra is missing for is said with the command that brings it."""
    assert environment.run("python -m arcbandit --version", desk).strip() == f"arcbandit {VERSION}"
    for command in ("arcbandit --help", "arcbandit policies", "arcbandit instances", "arcbandit examples"):
        assert environment.run(command, desk).strip()
    environment.run("arcbandit examples films --out data", desk)
    refused = environment.tried("arcbandit advise data/log.csv --context genre --arm provider --reward liking", desk)
    assert refused.returncode != 0
    assert "pip install 'arcbandit[logs]'" in " ".join(refused.stderr.split())


@pytest.mark.parametrize("command", WITH_EXTRAS[:-1])
def test_the_commands_that_need_extras(environment, desk, command):
    """Each as printed: the whole of it is installed, the paper reproduced, a log advised on."""
    printed = environment.run(command, desk)
    if "reproduce" in command:
        assert (desk / "reproduction" / "index.html").is_file()
    if "advise" in command:
        assert "promise" in printed


def test_the_demo(environment, desk):
    """It says where its dashboard is, the dashboard is there, and Ctrl-C ends it."""
    assert WITH_EXTRAS[-1] == "arcbandit demo"
    process = environment.started(WITH_EXTRAS[-1], desk)
    try:
        said = line_of(process, PLAYING)
        address = re.search(r"http://\S+/", said)
        assert address, said
        with urllib.request.urlopen(address.group(), timeout=PATIENCE) as page:
            assert b"<title>" in page.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) in (0, 130)
    finally:
        killed(process)
        process.stdout.close()


def test_the_install_section(environment, desk):
    """Its commands, again as printed: what is there already is not installed twice."""
    commands = commands_of(INSTALL)
    assert commands == ["pip install arcbandit", "pip install 'arcbandit[all]'"]
    for command in commands:
        environment.run(command, desk)


@pytest.mark.parametrize("place", range(len(blocks_of(PYTHON, "python"))))
def test_the_code_of_the_readme(environment, desk, place):
    """Every block runs by itself, and prints something."""
    assert environment.python(blocks_of(PYTHON, "python")[place], desk).strip()


def test_the_commands_of_the_readme(environment, desk):
    """With the file that it shows."""
    (instance,) = blocks_of(COMMAND_LINE, "toml")
    (desk / "my-instance.toml").write_text(instance, encoding="utf-8")
    commands = commands_of(COMMAND_LINE)
    assert "arcbandit plan my-instance.toml" in commands
    for command in commands:
        assert environment.run(command, desk).strip()
    assert (desk / "page.html").is_file()


def test_the_tutorial(environment, desk):
    """Its code gives what it shows, and its commands find the file that the code has saved."""
    (desk / "tutorial.md").write_text(TUTORIAL, encoding="utf-8")
    environment.run("python -m doctest tutorial.md", desk)
    commands = commands_of(TUTORIAL)
    assert len(commands) >= 2
    for command in commands:
        assert environment.run(command, desk).strip()


def test_the_quick_tests_of_the_sdist_on_the_installed_wheel(environment, unpacked, capsys):
    """A selection, from the unpacked sdist, of the tests that `make quick` runs."""
    environment.run(f"pip install {TEST_TOOLS}", unpacked)
    told = "python -m pytest -p no:cacheprovider -q -n 2 --dist worksteal"
    printed = environment.run(
        f"{told} -m 'not slow and not long and not system' {' '.join(OWN_TESTS)}", unpacked, patience=570
    )
    passed = int(re.search(r"(\d+) passed", printed).group(1))
    assert passed > 500
    with capsys.disabled():
        print(f"\n{passed} tests of the sdist passed on the installed wheel.")


def test_the_sdist_installs_too(environment, dist, unpacked, tmp_path):
    """As pip does where there is no wheel: built, installed, and the same."""
    environment.run("pip install hatchling editables", tmp_path)
    build = f"pip install --no-deps --no-build-isolation --target {tmp_path / 'built'}"
    environment.run(f"{build} {dist / f'arcbandit-{VERSION}.tar.gz'}", tmp_path)
    built = tmp_path / "built" / "arcbandit"
    for file in (unpacked / "src" / "arcbandit").rglob("*.py"):
        assert (built / file.relative_to(unpacked / "src" / "arcbandit")).read_bytes() == file.read_bytes()
