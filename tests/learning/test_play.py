"""Playing families: what is kept, and going on after an interruption."""

import math

import numpy as np
import pytest

from arcbandit.errors import InvalidInputError
from arcbandit.learning import play as playing
from arcbandit.learning.families import FAMILIES, drawn
from arcbandit.learning.play import Nobody, Plan, play, played
from arcbandit.learning.results import FamilyResults, Row, file_name, opened, read, read_file
from arcbandit.simulation.run import simulate

POLICIES = ("blp", "olp")
TINY = Plan("scored", ("paper", "small"), {name: name for name in POLICIES}, instances=3, epochs=2, horizon=100, jobs=1)


class Interrupting(Nobody):
    """Somebody who has seen enough after some instances."""

    def __init__(self, after):
        self.left = after

    def begin(self, what):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1


class Counting(Nobody):
    """How much work there was, and how much was done."""

    def __init__(self):
        self.ahead = self.done = 0.0
        self.played = []

    def expect(self, work):
        self.ahead += work

    def begin(self, what):
        self.played.append(what)

    def advance(self, work):
        self.done += work


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that nobody interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    play(TINY, folder, "the command")
    return folder


def texts(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def test_rows_are_what_simulate_gives(whole):
    """Means over epochs at the horizon, with their standard errors, and the worst run."""
    one = drawn("small", "scored", 1)
    trace = simulate(one.instance, POLICIES, 100, 2, one.seed, jobs=1, checkpoints=(20, 100))
    row = read(whole, "scored")["small"].of("blp")[1]
    regret, violation = trace.regret["blp"][:, -1], trace.violation["blp"][:, -1]
    assert row.regret == pytest.approx(regret.mean(), rel=1e-6)
    assert row.violation == pytest.approx(violation.mean(), rel=1e-6)
    assert row.regret_error == pytest.approx(abs(regret[1] - regret[0]) / 2, rel=1e-6)
    assert row.worst == pytest.approx((regret + violation).max(), rel=1e-6)
    early, last = trace.regret_plus_violation["blp"].T
    assert row.steep == tuple(np.flatnonzero(np.log(last / early) / math.log(5) > 0.8))


def test_every_family_has_a_file_with_how_it_was_made(whole):
    found = read(whole, "scored")
    assert list(found) == ["paper", "small"]
    assert [one.instances for one in found.values()] == [5, 3]
    assert found["paper"].settings.epochs == 8  # few instances, so four times as many
    assert found["small"].settings == ("scored", "small", 0, 100, 2)
    assert found["small"].commands == ["the command"]
    assert found["small"].policies == ("blp", "olp")
    assert read(whole, "tuning") == {}


@pytest.mark.parametrize("after", [0, 1, 6])
def test_an_interrupted_run_goes_on_where_it_stopped(after, whole, tmp_path):
    """The files are those of one go, to the last letter, and nothing is played twice."""
    with pytest.raises(KeyboardInterrupt):
        play(TINY, tmp_path, "the command", Interrupting(after))
    assert sum(one.instances for one in read(tmp_path, "scored").values()) == after
    counting = Counting()
    play(TINY, tmp_path, "the command", counting)
    assert len(counting.played) == 8 - after
    assert texts(tmp_path) == texts(whole)


def test_all_work_that_was_ahead_is_done(tmp_path):
    """Runs that are played on as well, of which nobody knows at first."""
    counting = Counting()
    play(TINY, tmp_path, "the command", counting)
    assert counting.done == pytest.approx(counting.ahead)


def test_what_is_there_is_not_played_again(whole):
    counting = Counting()
    before = texts(whole)
    play(TINY, whole, "the command", counting)
    assert (counting.played, counting.ahead) == ([], 0.0)
    assert texts(whole) == before


def test_a_rule_that_has_changed_is_played_again(whole, tmp_path):
    """Its rows are replaced, and those of others stay."""
    play(TINY, tmp_path, "the command")
    before = read(tmp_path, "scored")["small"]
    changed = TINY._replace(families=("small",), contestants={"blp": "oplp"})
    play(changed, tmp_path, "the command")
    assert read(tmp_path, "scored")["small"].rows == before.rows
    play(changed._replace(again=True), tmp_path, "the command")
    after = read(tmp_path, "scored")["small"]
    assert after.of("olp") == before.of("olp")
    assert after.of("blp") != before.of("blp")
    assert len(after.rows) == len(before.rows)


@pytest.mark.parametrize("after", [0, 1])
def test_what_is_played_again_is_dropped_first(after, whole, tmp_path):
    """Whoever interrupts it goes on without playing all of it again, and old rows never stand beside new ones."""
    play(TINY, tmp_path, "the command")
    again = TINY._replace(families=("small",), contestants={"blp": "blp"}, again=True)
    with pytest.raises(KeyboardInterrupt):
        play(again, tmp_path, "the command", Interrupting(after))
    there = read(tmp_path, "scored")["small"]
    assert list(there.of("blp")) == list(range(after))
    assert len(there.of("olp")) == 3
    counting = Counting()
    play(again._replace(again=False), tmp_path, "the command", counting)
    assert len(counting.played) == 3 - after
    assert texts(tmp_path) == texts(whole)


def test_a_file_whose_rows_are_all_dropped_is_gone(tmp_path):
    plan = TINY._replace(families=("small",), again=True)
    play(plan, tmp_path, "the command")
    with pytest.raises(KeyboardInterrupt):
        play(plan, tmp_path, "the command", Interrupting(0))
    assert texts(tmp_path) == {}


class Meanwhile(Nobody):
    """Another run, of other policies in the same folder, that ends while this one plays."""

    def __init__(self, plan, folder):
        self.left = [(plan, folder)]

    def begin(self, what):
        while self.left:
            play(*self.left.pop(), "another")


@pytest.mark.parametrize("again", [False, True])
def test_two_runs_in_one_folder_keep_what_the_other_wrote(again, whole, tmp_path):
    """Of the same families, and of the same rows too."""
    other = Meanwhile(TINY._replace(contestants={"olp": "olp"}), tmp_path)
    play(TINY._replace(contestants={"blp": "blp"}, again=again), tmp_path, "the command", other)
    found = read(tmp_path, "scored")
    assert {family: one.rows for family, one in found.items()} == {
        family: one.rows for family, one in read(whole, "scored").items()
    }
    assert found["small"].commands == ["another", "the command"]


def test_rows_that_another_run_has_played_again_stay(tmp_path):
    """A run writes what it has played itself; what it found in the file may have been played again since."""
    settings = TINY.settings("small")
    row = Row(0, "olp", 1.0, 1.0, 0.0, 0.0, 2.0, 3.0)
    FamilyResults(settings, [row, row._replace(number=1)]).save(tmp_path, "of old")
    slow, other = opened(tmp_path, settings), opened(tmp_path, settings)
    other.drop(["olp"])
    other.add([row._replace(regret=5.0)])
    other.save(tmp_path, "another, --again")
    slow.add([row._replace(policy="blp")])
    slow.save(tmp_path, "the command")
    assert read_file(tmp_path / file_name("scored", "small")).of("olp") == {0: row._replace(regret=5.0)}
    assert slow.of("olp") == {0: row._replace(regret=5.0)}


def test_what_is_played_again_takes_all_rows_of_its_policies_along(whole, tmp_path):
    """Of instances that it does not play as well: old rows never stand beside new ones. Then others may add them."""
    play(TINY, tmp_path, "the command")
    fewer = TINY._replace(families=("small",), contestants={"blp": "blp"}, instances=1, again=True)
    play(fewer, tmp_path, "fewer")
    found = read(tmp_path, "scored")["small"]
    assert (list(found.of("blp")), list(found.of("olp"))) == ([0], [0, 1, 2])
    more = fewer._replace(instances=3, again=False)
    play(fewer._replace(instances=2), tmp_path, "fewer", Meanwhile(more, tmp_path))
    assert read(tmp_path, "scored")["small"].rows == read(whole, "scored")["small"].rows


def test_policies_and_instances_can_be_added(whole, tmp_path):
    """The rows do not depend on who else plays, nor on how many instances there are."""
    play(TINY._replace(contestants={"olp": "olp"}, instances=2), tmp_path, "first")
    play(TINY._replace(contestants={"blp": "blp", "olp": "olp"}), tmp_path, "second")
    both = read(tmp_path, "scored")
    for family, found in read(whole, "scored").items():
        assert both[family].rows == found.rows
        assert both[family].commands == ["first", "second"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epochs": 3}, "must have been made with epochs 3 to go on with, but has 2"),
        ({"horizon": 50}, "horizon 50"),
        ({"seed": 1}, "seed 1"),
    ],
)
def test_other_settings_are_refused_before_a_round_is_played(changes, words, whole):
    """Rows of different settings would be averaged as if they were alike."""
    plan = TINY._replace(families=("many", "small"), **changes)
    before = texts(whole)
    with pytest.raises(InvalidInputError, match=words):
        play(plan, whole, "the command")
    assert texts(whole) == before


def test_halves_are_in_files_of_their_own(tmp_path):
    plan = TINY._replace(families=("small",), instances=1)
    play(plan._replace(part="tuning"), tmp_path, "the command")
    play(plan, tmp_path, "the command")
    tuning, scored = (read(tmp_path, part)["small"].rows for part in ("tuning", "scored"))
    assert [row.regret for row in tuning] != [row.regret for row in scored]


def test_a_frontier_is_of_the_tuning_half(tmp_path):
    """What is tuned by it has not seen the scored half."""
    plan = TINY._replace(families=("small",), instances=1)
    play(plan._replace(part="tuning"), tmp_path, "the command")
    play(plan._replace(part="frontier"), tmp_path, "the command")
    assert read(tmp_path, "tuning")["small"].rows == read(tmp_path, "frontier")["small"].rows


def test_steep_runs_are_played_on_with_the_same_draws(monkeypatch):
    """To ten times the horizon, and their exponents are of the last five times."""
    monkeypatch.setattr(playing, "STEEP", 0.3)
    one = drawn("small", "scored", 0)
    policies = {name: name for name in ("blp", "clairvoyant", "greedy")}
    found = {row.policy: row for row in played(one, policies, 100, 4, 1, Nobody())}
    trace = simulate(one.instance, ["blp"], 1000, 4, one.seed, jobs=1, checkpoints=(20, 100, 200, 1000))
    sums = trace.regret_plus_violation["blp"]
    steep = np.flatnonzero(np.log(sums[:, 1] / sums[:, 0]) / math.log(5) > 0.3)
    assert found["blp"].steep == tuple(steep)
    assert len(steep) > 0
    late = np.log(sums[steep, 3] / sums[steep, 2]) / math.log(5)
    assert found["blp"].late == pytest.approx(late)
    assert len(found["clairvoyant"].late) == len(found["clairvoyant"].steep) > 0
    assert found["greedy"].steep
    assert found["greedy"].late == ()  # a baseline


class TestFiles:
    def test_numbers_are_read_as_they_were_added(self, tmp_path):
        """Also those that are infinite or not there."""
        results = opened(tmp_path, TINY.settings("small"))
        results.add([Row(0, "a, b", 1 / 3, 0.0, math.nan, 2e-9, 1e6, math.nan, (0, 1), (math.inf, 0.25))])
        results.save(tmp_path, "the command")
        again = read_file(tmp_path / file_name("scored", "small"))
        assert str(again.rows) == str(results.rows)
        assert again.rows[0].regret == 0.3333333
        assert again.rows[0].late == (math.inf, 0.25)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("arcbandit benchmark", "another"),
            ('"version": 1', '"version": 2'),
            ("# {", "{{"),
            ("number,policy", "policy,number"),
            ("0,blp,", "x,blp,"),
            ("0,blp,", "0,blp,nan,"),
            ("0,blp,", "0,blp,-"),
            ("0,blp,", "-1,blp,"),
            ("0,olp,", "0,blp,"),
            ("number,policy", "number"),
            ('"horizon": 100,', ""),
            ('"family": "small"', '"family": "large"'),
            ('"part": "scored"', '"part": "tuning"'),
            ('"horizon": 100', '"horizon": "100"'),
            ('"horizon": 100', '"horizon": null'),
            ('"epochs": 2', '"epochs": 2.0'),
            ('"epochs": 2', '"epochs": 0'),
            ('"seed": 0', '"seed": true'),
            ('"commands": ["the command"]', '"commands": "the command"'),
            ('"commands": ["the command"]', '"commands": [1]'),
            ("# {", "# " + "[" * 100_000 + "{"),
            ("0,blp,", "0,,"),
            ("0,blp,", "0,\0blp,"),
            ("0,blp,", "0,blp" + "p" * 200_000 + ","),
        ],
        ids=lambda text: text[:30],
    )
    def test_a_damaged_file_is_refused_by_name(self, old, new, whole, tmp_path):
        text = (whole / "scored-small.csv").read_text(encoding="utf-8")
        assert old in text
        (tmp_path / "scored-small.csv").write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(InvalidInputError, match=r"scored-small\.csv: must be a file of version 1 of the benchmark"):
            read(tmp_path, "scored")

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"steep": (2,)}, "steep runs must be among the 2 epochs"),
            ({"steep": (-1,)}, "steep runs must be among"),
            ({"steep": (0, 1), "late": (0.5,)}, "an exponent for each steep run"),
            ({"steep": (1,), "late": (math.nan,)}, "an exponent for each steep run"),
            ({"regret_error": -1.0}, "standard errors and the limit"),
            ({"violation_error": -1.0}, "standard errors and the limit"),
            ({"limit": -1.0}, "standard errors and the limit"),
        ],
        ids=str,
    )
    def test_a_row_that_no_run_has_is_refused(self, changes, words):
        usual = Row(0, "blp", 1.0, 1.0, math.nan, math.nan, 2.0, math.nan, (1,), (0.5,))
        results = FamilyResults(TINY.settings("small"))
        results.add([usual])
        with pytest.raises(ValueError, match=words):
            results.add([usual._replace(late=())._replace(**changes)])

    @pytest.mark.parametrize("kept", [1, 2, 5])
    def test_a_line_that_was_cut_off_is_named(self, kept, whole, tmp_path):
        """As of a file that was copied in part."""
        lines = (whole / "scored-small.csv").read_text(encoding="utf-8").splitlines()
        cut = [*lines[:kept], lines[kept][: len(lines[kept]) // 2]]
        (tmp_path / "scored-small.csv").write_text("\n".join(cut), encoding="utf-8")
        words = f"line {kept + 1}: there must be 10 columns" if kept > 1 else "its columns must be number, policy"
        with pytest.raises(InvalidInputError, match=words):
            read(tmp_path, "scored")

    def test_an_empty_file_is_refused(self, tmp_path):
        (tmp_path / "scored-small.csv").write_text("", encoding="utf-8")
        with pytest.raises(InvalidInputError, match="must be a file"):
            read(tmp_path, "scored")

    def test_a_folder_that_cannot_be_written_is_named(self, tmp_path):
        (tmp_path / "taken").write_text("", encoding="utf-8")
        for folder in (tmp_path / "taken", tmp_path / "taken" / "within"):
            with pytest.raises(InvalidInputError, match=r"taken.*: must be a folder, but it, or a part"):
                play(TINY, folder, "the command", Interrupting(0))  # before the first round

    def test_a_folder_without_permission_is_named(self, tmp_path, monkeypatch):
        """Before anything is played in vain."""
        monkeypatch.setattr("os.access", lambda path, mode: False)
        with pytest.raises(InvalidInputError, match="cannot be written to"):
            play(TINY, tmp_path, "the command", Interrupting(0))


def test_families_differ_in_how_much_of_them_is_played():
    """The paper's instances are five; rounds with many pairs take long."""
    assert [FAMILIES["paper"].size(count) for count in (1, 50)] == [5, 5]
    assert [FAMILIES["small"].size(count) for count in (1, 50)] == [1, 50]
    assert [FAMILIES["many"].size(count) for count in (1, 3, 20, 50)] == [1, 1, 5, 12]
    assert [FAMILIES[family].epochs(8) for family in ("paper", "small", "many")] == [32, 8, 4]
    assert FAMILIES["many"].epochs(1) == 1
