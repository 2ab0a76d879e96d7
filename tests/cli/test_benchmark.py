"""`arcbandit benchmark`: from options to files, tables and a page."""

import json
import math
import re
import subprocess
import sys

import pytest

from arcbandit.cli import main
from arcbandit.cli.benchmark import LogLines
from arcbandit.learning.contestants import CLAIRVOYANTS, DIALS, JUDGED, PLAYED
from arcbandit.learning.results import FamilyResults, Settings, read
from arcbandit.policies.registry import own_policies
from tests.learning.made_up import results, row

TINY = ["--instances", "2", "--epochs", "1", "--horizon", "100", "--jobs", "1"]
RULES = [word for name in ("blp", "olp", "oplp") for word in ("--policy", name)]


@pytest.fixture(autouse=True)
def no_log(monkeypatch):
    """However long kernels take to compile here."""
    monkeypatch.setattr("arcbandit.cli.benchmark.SECONDS_BETWEEN_LINES", math.inf)


def answer_to(*arguments, capsys):
    code = main(["benchmark", *map(str, arguments)])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    return printed.out


def refused(*arguments, capsys):
    code = main(["benchmark", *map(str, arguments)])
    printed = capsys.readouterr()
    assert printed.out == ""
    return code, printed.err


@pytest.fixture
def folder(tmp_path):
    """Made-up results of every family."""
    for found in results().values():
        found.save(tmp_path, "arcbandit benchmark --seed 0")
    return tmp_path


@pytest.mark.slow
def test_a_small_run_from_options_to_a_page(tmp_path, capsys):
    """Files, tables of at most 80 columns, a page with figures; the same again from the files alone."""
    out, page = tmp_path / "results", tmp_path / "page.md"
    printed = answer_to("small", "paper", *RULES, *TINY, "--out", out, "--page", page, capsys=capsys)
    assert sorted(path.name for path in out.iterdir()) == [
        "relative.svg",
        "scored-paper.csv",
        "scored-small.csv",
        "tails.svg",
    ]
    assert max(map(len, printed.splitlines())) <= 80
    found = read(out, "scored")
    assert found["small"].commands == [
        "arcbandit benchmark small paper --half scored --policy blp --policy olp --policy oplp --instances 2 "
        "--epochs 1 --horizon 100 --seed 0"
    ]
    assert found["small"].instances == 2
    assert "small: 2 instances, 1 epoch of 100 rounds" in printed
    assert "incomplete" in printed
    text = page.read_text(encoding="utf-8")
    assert "](results/relative.svg)" in text
    assert found["small"].commands[0] in text
    again = answer_to("--from", out, "--page", page, capsys=capsys)
    assert again == printed
    assert page.read_text(encoding="utf-8") == text


class TestWhatIsPrinted:
    def test_every_requirement_with_its_figures(self, folder, capsys):
        printed = answer_to("--from", folder, capsys=capsys)
        assert len(re.findall(r"^kept ", printed, re.MULTILINE)) == 7
        assert "600 of 600" in printed
        assert max(map(len, printed.splitlines())) <= 80

    def test_a_document_has_scores_and_requirements(self, folder, capsys):
        document = json.loads(answer_to("--from", folder, "--json", capsys=capsys))
        assert [one["kept"] for one in document["requirements"]] == [True] * 7
        assert document["settings"]["small"]["epochs"] == 8
        first = next(one for one in document["scores"] if (one["family"], one["policy"]) == ("dear", "priced-lp"))
        assert first["to_default"]["mean"] == pytest.approx(0.5)
        assert first["growth"]["largest"] is None

    def test_a_document_is_all_that_is_printed_though_a_page_is_written(self, folder, tmp_path, capsys):
        page = tmp_path / "page.md"
        assert main(["benchmark", "--from", str(folder), "--json", "--page", str(page)]) == 0
        printed = capsys.readouterr()
        assert "scores" in json.loads(printed.out)
        assert printed.err == f"{page}\n"

    def test_a_row_over_fewer_instances_says_so(self, folder, tmp_path, capsys):
        """Its means are not to be compared with those of the others; and so does the page's first sentence."""
        found = read(folder, "scored")["small"]
        found.drop(["oplp", JUDGED])
        found.add([row(number, name) for number in range(7) for name in ("oplp", JUDGED)])
        found.save(folder, "arcbandit benchmark --instances 7")
        page = tmp_path / "page.md"
        printed = answer_to("small", "dear", "--from", folder, "--page", page, capsys=capsys)
        assert [len(re.findall(rf"^{name} \(7 of 100\) ", printed, re.MULTILINE)) for name in ("oplp", JUDGED)] == [
            1,
            1,
        ]
        assert len(re.findall(r"^blp  ", printed, re.MULTILINE)) >= 2
        assert "of 100 instances each, but 7 of `small`)" in page.read_text(encoding="utf-8")

    def test_some_families_alone(self, folder, capsys):
        document = json.loads(answer_to("small", "--from", folder, "--json", capsys=capsys))
        assert list(document["settings"]) == ["small"]

    def test_the_list_of_families(self, capsys):
        assert "probability 0.001" in " ".join(answer_to("--list", capsys=capsys).split())
        names = [one["name"] for one in json.loads(answer_to("--list", "--json", capsys=capsys))["families"]]
        assert names == ["paper", "small", "large", "dear", "rare", "many"]


class TestBadOptions:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["smal"], "There is no family 'smal' (did you mean 'small'?)"),
            (["--half", "third"], "--half"),
            (["--policy", "pricedlp"], "did you mean 'priced-lp'"),
            (["--policy", "blp", "--policy", "blp"], "--policy blp must be given only once."),
            (
                ["--policy", "priced-lp:violation_weight=10.0", "--policy", "priced-lp:violation_weight=10"],
                "--policy priced-lp:violation_weight=10.0 must be given only once, but "
                "priced-lp:violation_weight=10 is the same policy",
            ),
            (["--policy", "clairvoyant", "--policy", "clairvoyant"], "--policy clairvoyant must be given only once"),
            (["--policy", "blp", "--frontier"], "--policy must not be given with --frontier"),
            (["--instances", "0"], "--instances must be a whole number from 1"),
            (["--epochs", "-1"], "--epochs must be a whole number from 1"),
            (["--horizon", "9"], "--horizon must be a whole number from 10"),
            (["--seed", "-1"], "--seed must be a whole number"),
            (["--jobs", "0"], "--jobs must be a whole number from 1"),
            (["--frontier", "--half", "scored"], "--half must not be given with --frontier"),
            (["--from", "nowhere", "--seed", "3"], "--seed must not be given with --from, which plays nothing"),
            (["--from", "nowhere", "--seed", "0"], "--seed must not be given with --from"),
            (["--from", "nowhere", "--jobs", "0"], "--jobs must not be given with --from"),
            (["--from", "nowhere", "--again"], "--again must not be given with --from"),
            (["--from", ""], "--from must be a folder, got ''"),
            (["--out", ""], "--out must be a folder, got ''"),
            (["--list", "--seed", "3"], "--seed must not be given with --list"),
            (["--list", "--half", "scored"], "--half must not be given with --list"),
            (["--list", "--from", "nowhere"], "--from must not be given with --list"),
            (["small", "--list"], "families must not be given with --list, which has all of them, got 'small'"),
            (["--full", "--quick"], "--full must not be given with --quick"),
            (["--page", "page.html"], "page.html: must end in .md"),
            (["--from", "nowhere"], "--from must be a folder of results, got 'nowhere'"),
        ],
    )
    def test_each_is_named_before_any_work(self, options, words, capsys, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        code, sentence = refused(*options, capsys=capsys)
        assert code == 2
        assert words in sentence
        assert list(tmp_path.iterdir()) == []

    def test_results_that_are_not_there_are_named(self, folder, capsys):
        code, sentence = refused("--from", folder, "--half", "tuning", capsys=capsys)
        assert code == 2
        assert "there are no results of the part 'tuning' yet. There are others: --half scored." in sentence

    def test_results_of_other_settings_are_refused(self, folder, capsys):
        code, sentence = refused("small", *RULES, *TINY, "--out", folder, capsys=capsys)
        assert code == 2
        assert "must have been made with horizon 100 to go on with, but has 50000" in sentence


@pytest.mark.slow
def test_a_page_says_what_was_tuned_on_what(folder, capsys, tmp_path):
    """Figures of the frontier too, and the half of the data that each part is of."""
    labels = [dial.label_at(value) for dial in DIALS for value in dial.values]
    rows = [row(0, "blp", 10.0 * place, 5.0)._replace(policy=label) for place, label in enumerate(labels, start=1)]
    FamilyResults(Settings("frontier", "small", 0, 50_000, 8), rows).save(folder, "arcbandit benchmark --frontier")
    page = tmp_path / "page.md"
    answer_to("--from", folder, "--page", page, capsys=capsys)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(
        "# How fast policies learn\n\n**Over 5 families of random instances, the regret and violation"
    )
    assert "0.50 of BLP's, and 0.62 of ThompsonLP's" in text
    assert "for a single run, after everything is fixed; what came out is above." in text
    assert "of 100 instances each)" in text
    assert "Better than PricedLP" not in text
    assert "frontier-small.svg" in text
    assert (folder / "frontier-small.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert "`arcbandit benchmark --frontier`" in text
    for image in re.findall(r"\]\((.*?\.svg)\)", text):
        assert (tmp_path / image).is_file()


def test_a_log_says_how_far_it_is_and_how_long_the_rest_takes():
    """By the work that is done, of which more may turn up."""
    lines = LogLines()
    began = lines._began
    lines.expect(100.0)
    lines.begin("small 1/20")
    assert lines.line(began + 3.0) == "small 1/20: 0% after 3 s"
    lines.advance(10.0)
    lines._first = (began + 10.0, 10.0)
    lines.advance(20.0)
    assert lines.line(began + 30.0) == "small 1/20: 30% after 30 s, about 1.2 min left"
    lines.expect(20.0)
    assert lines.line(began + 30.0) == "small 1/20: 25% after 30 s, about 1.5 min left"


@pytest.mark.slow
def test_everybody_takes_part_unless_told_otherwise(tmp_path, capsys):
    """Every policy of the library, and both clairvoyants: all lines can be measured on such a family."""
    size = ["--instances", "1", "--epochs", "1", "--horizon", "60"]
    document = json.loads(answer_to("small", *size, "--out", tmp_path, "--json", capsys=capsys))
    played = {one["policy"] for one in document["scores"]}
    assert played == set(PLAYED)
    assert played >= set(own_policies()) - {"linear-program"}  # of which blp, olp and oplp are cases
    assert all(one["figures"] != "nothing was played" for one in document["requirements"])
    judged = next(one for one in document["scores"] if one["policy"] == JUDGED)
    assert all(judged["to_clairvoyants"][name] for name in CLAIRVOYANTS)
    command = read(tmp_path, "scored")["small"].commands
    assert command == ["arcbandit benchmark small --half scored --instances 1 --epochs 1 --horizon 60 --seed 0"]


def test_a_quick_run_does_not_touch_the_scored_half(tmp_path, capsys, monkeypatch):
    """Whoever tries the command must not spend the half that is to be judged once."""
    monkeypatch.chdir(tmp_path)
    tiny = ["paper", "--quick", "--policy", "olp", "--horizon", "10", "--jobs", "1"]
    answer_to(*tiny, capsys=capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["learning-quick"]  # where nobody's results are in the way
    assert [path.name for path in (tmp_path / "learning-quick").iterdir()] == ["tuning-paper.csv"]
    answer_to(*tiny, "--half", "scored", capsys=capsys)
    assert len(list((tmp_path / "learning-quick").iterdir())) == 2


def test_a_run_that_has_nothing_to_play_says_so(tmp_path, capsys):
    tiny = ["benchmark", "paper", "--policy", "olp", "--half", "tuning", *TINY, "--out", str(tmp_path)]
    assert main(tiny) == 0
    assert "already" not in capsys.readouterr().err
    assert main(tiny) == 0
    assert "has all of this already; --again plays it again" in capsys.readouterr().err


def test_an_interrupted_run_says_how_it_goes_on(tmp_path, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("arcbandit.learning.play.play", interrupted)
    tiny = ["benchmark", "paper", "--policy", "olp", *TINY, "--out", str(tmp_path)]
    assert main(tiny) == main([*tiny, "--again"]) == 130
    assert capsys.readouterr().err.splitlines() == [
        f"{tmp_path} keeps what was played; the same command plays the rest.",
        "Interrupted.",
        f"{tmp_path} keeps what was played; the same command without --again plays the rest.",
        "Interrupted.",
    ]


def test_a_policy_in_other_words_has_the_label_that_is_read(tmp_path, capsys):
    """Tables and requirements look for rows by label: 10.0 must not be another policy than 10."""
    tiny = ["paper", "--policy", "priced-lp:violation_weight=10.0", *TINY, "--out", tmp_path, "--json"]
    document = json.loads(answer_to(*tiny, capsys=capsys))
    assert [one["policy"] for one in document["scores"]] == ["priced-lp:violation_weight=10"]


def test_a_page_names_who_is_better(tmp_path, folder, capsys):
    """A baseline that is better than PricedLP somewhere has marks as well."""
    found = read(folder, "scored")["dear"]
    found.add([row(number, "blp", 5.0, 5.0)._replace(policy="greedy") for number in range(100)])
    found.save(folder, "arcbandit benchmark --policy greedy")
    page = tmp_path / "page.md"
    answer_to("--from", folder, "--page", page, capsys=capsys)
    text = page.read_text(encoding="utf-8")
    assert "Better than PricedLP is greedy on `dear` (0.20 of its R + V)." in text
    assert "greedy: dear 0.10" in text  # in the words of the picture


@pytest.mark.slow
def test_the_command_runs_from_a_source_tree():
    """Without being installed: python -m arcbandit."""
    found = subprocess.run(
        [sys.executable, "-m", "arcbandit", "benchmark", "--list"], capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith("family")
