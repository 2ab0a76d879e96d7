"""Epochs on a GPU. Where there is none, Numba's simulator runs the same kernels in Python, on fewer rounds."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arcbandit import OLP, OPLP, Instance, Summary, Trace, simulate
from arcbandit import policy as policy_by_name
from arcbandit.compilation import cuda
from arcbandit.errors import InvalidInputError, MissingExtraError
from arcbandit.simulation import device, run
from arcbandit.simulation.device_kernels import TUPLES, entries_of, play_source, tuple_source, tuples_of
from arcbandit.simulation.epoch import Task, bind, find_optimum, make_world
from arcbandit.simulation.loop import rounds
from arcbandit.simulation.metrics import BY_FLOOR, SHARES, SUMS
from tests.long import each_of
from tests.simulation import play_on_device
from tests.simulation.play_on_device import NU, POLICIES, SIMULATOR, SIZES, common, special_cases

ROOT = Path(__file__).resolve().parents[2]
HAS_GPU = cuda.device_available()
SPECIAL_CASES = special_cases(simulated=not HAS_GPU)

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="numba-cuda is not made for macOS")


@pytest.fixture(scope="module")
def played_as(cases):
    """How much is played."""
    return "gpu" if HAS_GPU else cases("simulator", "long simulator")


@pytest.fixture(scope="module")
def sizes(played_as):
    return SIZES[played_as]


@pytest.fixture(scope="module")
def played(tmp_path_factory, played_as):
    """The folder of what the device played."""
    folder = tmp_path_factory.mktemp("device")
    simulator = {} if HAS_GPU else {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, play_on_device.__file__, folder, played_as],
        cwd=ROOT,
        env=os.environ | simulator,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


def same_plays(left, right):
    """The share of rounds of which both have the same reward, and so the same arm."""
    rewards = [np.diff(trace, axis=1, prepend=0.0) for trace in (left, right)]
    return np.isclose(*rewards, rtol=0.0, atol=1e-9).mean()


def assert_agree(found, expected, equal_plays):
    for label in expected.policies:
        share = same_plays(found.realised_revenue[label], expected.realised_revenue[label])
        assert share >= equal_plays
        if share == 1.0:
            assert np.allclose(found.records[label], expected.records[label], rtol=1e-9, atol=1e-9, equal_nan=True)
            assert np.allclose(
                found.floor_records[label], expected.floor_records[label], rtol=1e-9, atol=1e-9, equal_nan=True
            )


@pytest.mark.slow
class TestTheDevicePlaysAsTheCpu:
    @pytest.mark.parametrize("name", POLICIES)
    def test_play_by_play(self, played, sizes, name):
        expected = simulate(NU, [name], **common(sizes))
        assert_agree(Trace.load(played / f"{name}.parquet"), expected, sizes.equal_plays)

    @pytest.mark.parametrize("name", SPECIAL_CASES)
    def test_play_by_play_in_special_cases(self, played, sizes, name):
        expected = simulate(**SPECIAL_CASES[name], **common(sizes))
        assert_agree(Trace.load(played / f"{name}.parquet"), expected, sizes.equal_plays)

    @pytest.mark.parametrize("name", POLICIES if HAS_GPU else each_of(SIMULATOR.means_of, POLICIES))
    def test_means_over_many_epochs(self, played, sizes, name):
        """Within four standard errors of other epochs on the CPU.

        A false alarm has probability 6e-5 for each of the 24 means on a GPU, 0.15 % in all; with the few epochs of the
        simulator, by Student's t, 6e-4 and 1.4 %. The seeds are fixed, so that it comes always or never.
        """
        many = Summary.load(played / f"{name} many.parquet")
        assert many.epochs == sizes.many_epochs
        other = simulate(NU, [name], sizes.many_rounds, sizes.cpu_epochs, seed=1, checkpoints=1, keep="summary")
        for metric in ("regret", "violation", "realised_revenue"):
            errors = np.hypot(many.standard_error(metric, name), other.standard_error(metric, name))
            assert abs(many.mean(metric, name) - other.mean(metric, name))[-1] <= 4.0 * errors[-1]


@pytest.mark.slow
class TestTheSummaryOfTheDevice:
    def test_is_that_of_its_epochs(self, played):
        summary, trace = Summary.load(played / "one chunk.parquet"), Trace.load(played / "epochs.parquet")
        for policy in trace.policies:
            for metric in (*SUMS, *SHARES, *BY_FLOOR):
                assert np.allclose(
                    summary.mean(metric, policy), trace.mean(metric, policy), rtol=1e-12, atol=1e-12, equal_nan=True
                )
                assert np.allclose(
                    summary.variance(metric, policy),
                    trace.variance(metric, policy),
                    rtol=1e-9,
                    atol=1e-9,
                    equal_nan=True,
                )
                assert np.allclose(
                    summary.quantile(metric, policy, 0.95),
                    trace.quantile(metric, policy, 0.95),
                    rtol=0.005,
                    atol=1e-9,
                    equal_nan=True,
                )

    def test_does_not_depend_on_how_many_are_played_at_once(self, played):
        """Bit for bit."""
        whole, parts = (Summary.load(played / f"{name}.parquet") for name in ("one chunk", "chunks"))
        for policy in whole.policies:
            for left, right in zip(whole.folded[policy], parts.folded[policy], strict=True):
                assert np.array_equal(left, right, equal_nan=True)

    def test_says_where_it_comes_from(self, played):
        """`auto` found the device, which keeps the summary unless told otherwise."""
        settings = Summary.load(played / "one chunk.parquet").settings
        assert settings["device"] not in ("", "cpu")
        assert settings["keep"] == "summary"
        assert Trace.load(played / "epochs.parquet").settings["keep"] == "epochs"


class TestWhatIsRefused:
    def test_an_unknown_device(self):
        with pytest.raises(InvalidInputError, match="device must be 'cpu', 'cuda' or 'auto', got 'tpu'"):
            simulate(NU, ["olp"], horizon=10, device="tpu")

    def test_an_unknown_thing_to_keep(self):
        with pytest.raises(InvalidInputError, match="keep must be 'epochs', 'summary' or None, got 'all'"):
            simulate(NU, ["olp"], horizon=10, keep="all")

    def test_a_device_without_the_extra(self, monkeypatch):
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(MissingExtraError, match=r"numba-cuda is not installed; .*'arcbandit\[cuda\]'"):
            simulate(NU, ["olp"], horizon=10, device="cuda")

    def test_a_device_that_is_not_there(self, monkeypatch):
        monkeypatch.setattr(device, "device_available", lambda: False)
        with pytest.raises(InvalidInputError, match=r"needs an NVIDIA GPU .* play with device 'cpu'"):
            simulate(NU, ["olp"], horizon=10, device="cuda")

    def test_a_shape_too_large_for_a_thread(self, monkeypatch):
        """Before anything is played."""
        monkeypatch.setattr(run, "use_cuda", lambda _: True)
        monkeypatch.setattr(device, "largest_state_bytes", lambda: device.LARGEST_STATE)
        n_arms, n_contexts = 40, device.most_contexts(40) + 1
        large = Instance(np.ones((n_arms, n_contexts)), np.zeros(n_arms), np.full(n_contexts, 1 / n_contexts))
        sentence = f"40 arms, {n_contexts} contexts, 40 floors need .* bytes .* which allows 262,144"
        with pytest.raises(InvalidInputError, match=sentence):
            simulate(large, ["olp"], horizon=10, device="cuda")


def test_auto_is_the_cpu_where_there_is_no_device(monkeypatch):
    monkeypatch.setattr(device, "device_available", lambda: False)
    trace = simulate(NU, ["olp"], horizon=10, epochs=2, device="auto")
    assert isinstance(trace, Trace)
    assert trace.settings["device"] == "cpu"


def test_row_stack_is_defined_only_during_the_import(monkeypatch):
    """NumPy 2.5 has none, which numba-cuda looks up."""
    monkeypatch.delattr(np, "row_stack", raising=False)
    with cuda._row_stack_defined():
        assert vars(np)["row_stack"] is np.vstack
    assert not hasattr(np, "row_stack")


def test_what_looks_up_row_stack_is_loaded_with_the_device():
    """Numba would load it later, with the first kernel that is compiled."""
    cuda.import_cuda()
    assert "numba.cuda.np.arrayobj" in sys.modules


@pytest.mark.parametrize("name", ["olp", "doc"])
def test_kernels_pass_what_the_loop_takes(name):
    """They are written out by position: the arguments of the loop, and the fields of each tuple."""
    assert list(inspect.signature(rounds).parameters) == [
        *("world", "learner", "meters", "stream", "first", "last", "record", "draws", "numbers")
    ]
    optimum = find_optimum(NU, None)
    task = Task(NU, name, policy_by_name(name), "gaussian", None, optimum, 0.1, 10, 0, 0, np.array([10]), 5)
    tuples = {"world": make_world(task)} | tuples_of(bind(task, task.policy).learner, window=5)
    entries = entries_of(tuples)
    variables = {field.variable: value for field, value in entries}
    assert len(variables) == len(entries)
    kinds = {kind.__name__: kind for kind in TUPLES}
    fields = tuple(field for field, _ in entries)
    for part, given in tuples.items():
        rebuilt = eval(tuple_source(part, type(given), fields), variables | kinds)
        assert [(field, id(value)) for field, value in entries_of({part: rebuilt})] == [
            (field, id(value)) for field, value in entries_of({part: given})
        ]
    source = play_source(fields)
    written = ", ".join(tuple_source(part, type(given), fields) for part, given in tuples.items())
    assert f"play_rounds({written}, Stream(seed, first_epoch + place, 0), 1, horizon, Record(" in source
    # Neither draws of many rounds nor numbers of the learner.
    assert source.rstrip().endswith("floor_records[place]), (), 0)")


@pytest.mark.parametrize("budget", [1.0, 0.1])
def test_threads_have_no_memory_for_a_second_order(budget):
    """They would have less of everything else, and share what is left of the cache."""
    learner = OPLP(exploration_budget=budget).for_instance(NU, horizon=10).learner
    assert len(learner.planner.orders) > 0
    fields = [field.path for field, _ in entries_of(tuples_of(learner, window=0))]
    assert any(path.endswith("planner.workspace.order") for path in fields)
    assert not any(".orders." in path for path in fields)


@pytest.mark.slow
def test_most_contexts_is_the_last_that_fits():
    for n_arms in (3, 60):
        last = device.most_contexts(n_arms)
        sizes = [device.state_bytes(OLP(np.zeros(n_arms), contexts=count)) for count in (last, last + 1)]
        assert sizes[0] <= device.LARGEST_STATE < sizes[1]
    assert device.most_contexts(200) == 0


def test_chunks_fit_the_memory_that_is_free(monkeypatch):
    class Memory:
        free = 1000

    class Context:
        def get_memory_info(self):
            return Memory

    class Cuda:
        def current_context(self):
            return Context()

    monkeypatch.setattr(device, "import_cuda", Cuda)
    assert device.epochs_of_a_chunk(epochs=100, bytes_of_an_epoch=25) == 10
    assert device.epochs_of_a_chunk(epochs=7, bytes_of_an_epoch=25) == 7
    assert device.epochs_of_a_chunk(epochs=100, bytes_of_an_epoch=5000) == 1
    Memory.free = float("inf")
    assert device.epochs_of_a_chunk(epochs=10**6, bytes_of_an_epoch=50) == device.LARGEST_CHUNK
