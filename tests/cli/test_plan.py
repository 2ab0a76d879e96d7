import json
import math
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from arcbandit import GroupFloor, Instance, __version__, analyse, paper_instance, plan
from arcbandit.cli import main
from arcbandit.cli.documents import Answer, plan_document
from arcbandit.cli.wording import figures, label, percent
from arcbandit.experiments.paper_instances import PAPER_INSTANCES
from tests.patience import PATIENCE, rest_of

PLAN_FIELDS = [
    "allocation",
    "value",
    "arm_revenue",
    "revenue_floors",
    "floor_prices",
    "context_values",
    "active_floors",
    "idle_pairs",
    "shortfall",
    "group_revenue",
    "group_floors",
    "group_prices",
    "active_group_floors",
    "group_shortfall",
    "total_shortfall",
]
ANALYSIS_FIELDS = [
    "regime",
    "revenue_without_floors",
    "price_of_guarantees",
    "feasibility_margin",
    "performance_sensitivity",
    "degenerate",
    "candidate_count",
    "candidate_limit",
]


def answer_to(*arguments, capsys):
    """What the command prints, once it is known to have answered."""
    code = main(list(arguments))
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    return printed.out


def document_of(*arguments, capsys):
    def refuse(token):
        raise AssertionError(f"{token} is not JSON")

    return json.loads(answer_to(*arguments, "--json", capsys=capsys), parse_constant=refuse)


def cells(output, title):
    """The rows, header first, of the table under a title."""
    section = next(block for block in output.split("\n\n") if block.startswith(title))
    return [line.split() for line in section.splitlines()[1:]]


@pytest.fixture
def infeasible_file(tmp_path):
    file = tmp_path / "infeasible.toml"
    Instance(
        [[4, 1], [1, 2], [3, 3]],
        revenue_floors=[3, 1.5, 0.5],
        context_probabilities=[0.75, 0.25],
        arms=["house", "guest", "new"],
        contexts=["weekday", "weekend"],
        group_floors=[GroupFloor("small", ("guest", "new"), 2.2)],
    ).save(file)
    return str(file)


@pytest.fixture
def group_file(tmp_path):
    file = tmp_path / "groups.json"
    Instance(
        [[9, 3], [0, 4], [2, 2]],
        revenue_floors=[0, 0, 0],
        context_probabilities=[0.5, 0.5],
        arms=["house", "guest", "new"],
        group_floors=[GroupFloor("others", ("guest", "new"), 2.5)],
    ).save(file)
    return str(file)


@pytest.fixture
def wide_file(tmp_path):
    rng = np.random.default_rng(3)
    file = tmp_path / "wide.json"
    Instance(
        100 * rng.random((50, 60)),
        revenue_floors=rng.random(50),
        context_probabilities=np.full(60, 1 / 60),
        arms=[f"supplier number {number:03d} of the region" for number in range(50)],
        contexts=[f"region {number}" for number in range(60)],
        group_floors=[GroupFloor("newcomers of the year", tuple(range(10)), 25)],
    ).save(file)
    return str(file)


@pytest.fixture
def program():
    return [sys.executable, "-c", "import sys; from arcbandit.cli import main; sys.exit(main())"]


class TestThePlanOfNu:
    def test_shares_are_percentages_and_zero_shares_dots(self, capsys):
        """The allocation reads as the paper prints it."""
        rows = cells(answer_to("plan", "nu", capsys=capsys), "Plan")
        assert rows[1:4] == [["1", "100%", "50%", "50%"], ["2", "·", "50%", "·"], ["3", "·", "·", "50%"]]

    def test_each_arm_is_shown_against_its_floor(self, capsys):
        """Revenue, floor, slack, price, and whether the floor is active."""
        rows = cells(answer_to("plan", "nu", capsys=capsys), "Arms")
        assert rows[1:] == [
            ["1", "4.50", "1.00", "3.50", "0", "slack"],
            ["2", "0.25", "0.25", "0", "1", "active"],
            ["3", "0.50", "0.50", "0", "1", "active"],
        ]

    def test_summary_says_what_the_guarantees_cost(self, capsys):
        """Value, regime, revenue without floors and their difference."""
        summary = answer_to("plan", "nu", capsys=capsys).split("\n\n")[1].splitlines()
        assert [line.split("  ")[0] for line in summary] == [
            "floors",
            "revenue per round",
            "revenue without floors",
            "price of the guarantees",
        ]
        values = [next(part for part in line.split("  ")[1:] if part).split()[0] for line in summary]
        assert values == ["costly", "5.25", "6.00", "0.75"]
        assert "12.5%" in summary[3]

    @pytest.mark.slow
    def test_analysis_gives_every_constant(self, capsys):
        """gamma*, S_gamma*, I*, rho* and the candidate that attains it, with its s, L and P."""
        output = answer_to("plan", "nu", "--analyse", capsys=capsys)
        numbers = {row[0]: row[1] for row in cells(output, "What makes it hard")}
        expected = {
            "γ*": "0.25",
            "S_γ*": "2",
            "I*": "6",
            "ρ*": "0.083333",
            "s(I)": "0",
            "L(I)": "1",
            "P(I)": "0.083333",
        }
        assert expected.items() <= numbers.items()
        assert "{2, 3, (2,1), (2,3), (3,1), (3,2)}" in output
        assert "{3, (1,2), (2,1), (2,3), (3,1), (3,2)}" in output
        assert "not degenerate" in output

    @pytest.mark.slow
    def test_analysis_adds_the_largest_floor_of_each_arm(self, capsys):
        """They stand beside the floors, and only when asked for."""
        header, *rows = cells(answer_to("plan", "nu", "--analyse", capsys=capsys), "Arms")[:4]
        column = header.index("could")
        assert [row[column] for row in rows] == ["4.50", "0.50", "1.00"]
        assert "could be" not in answer_to("plan", "nu", capsys=capsys)


class TestJson:
    @pytest.mark.parametrize("name", PAPER_INSTANCES)
    def test_holds_the_fields_of_the_plan(self, name, capsys):
        """Keys are the Python fields and so are the values."""
        document = document_of("plan", name, capsys=capsys)
        found = plan(paper_instance(name))
        assert (document["instance"], document["status"]) == (name, "optimal")
        for field in PLAN_FIELDS:
            np.testing.assert_array_equal(document[field], getattr(found, field), err_msg=field)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", PAPER_INSTANCES)
    def test_holds_the_fields_of_the_analysis(self, name, capsys):
        """What is said without --analyse agrees with the analysis too."""
        analysis = analyse(paper_instance(name))
        document = document_of("plan", name, "--analyse", capsys=capsys)
        for field in ANALYSIS_FIELDS:
            assert document[field] == getattr(analysis, field), field
        np.testing.assert_array_equal(document["largest_floors"], analysis.largest_floors)
        briefly = document_of("plan", name, capsys=capsys)
        for field in ("regime", "revenue_without_floors", "price_of_guarantees"):
            assert briefly[field] == getattr(analysis, field), field

    @pytest.mark.slow
    def test_names_the_members_of_sets(self, capsys):
        """Floors by arm, pairs by arm and context."""
        document = document_of("plan", "nu", "--analyse", capsys=capsys)
        assert document["active_set"] == {
            "floors": ["2", "3"],
            "pairs": [["2", "1"], ["2", "3"], ["3", "1"], ["3", "2"]],
        }
        nearest = analyse(paper_instance("nu")).nearest_candidate
        shown = document["nearest_candidate"]
        assert shown.pop("active_set")["floors"] == ["3"]
        assert shown == {key: value for key, value in nearest._asdict().items() if key != "active_set"}
        assert document["suboptimality_gap"] == nearest.suboptimality_gap
        assert document["suboptimality_gap_reason"] is None

    def test_says_why_a_gap_is_missing(self, capsys):
        """A gap that would need too many candidates is null, with the reason beside it."""
        document = document_of("plan", "figure-1", "--analyse", capsys=capsys)
        assert document["suboptimality_gap"] is None
        assert document["nearest_candidate"] is None
        assert "646,646" in document["suboptimality_gap_reason"]
        assert "100,000" in document["suboptimality_gap_reason"]

    @pytest.mark.slow
    def test_keys_depend_on_the_options_only(self, infeasible_file, capsys):
        """A reader finds the same keys whether or not the floors can be met."""
        for options in ([], ["--analyse"]):
            feasible = document_of("plan", "nu", *options, capsys=capsys)
            infeasible = document_of("plan", infeasible_file, *options, capsys=capsys)
            assert list(feasible) == list(infeasible)

    def test_holds_group_floors(self, group_file, capsys):
        """Groups are named, and their numbers stand in the same order."""
        document = document_of("plan", group_file, capsys=capsys)
        found = plan(Instance.load(group_file))
        assert document["groups"] == [{"name": "others", "arms": ["guest", "new"]}]
        np.testing.assert_array_equal(document["group_revenue"], found.group_revenue)
        np.testing.assert_array_equal(document["group_prices"], found.group_prices)

    def test_a_count_that_no_reader_could_hold_is_null(self):
        """A JSON number beyond the largest float would be read as infinite."""
        many = Instance(np.ones((100, 100)), np.zeros(100), np.full(100, 1 / 100))
        analysis = replace(analyse(paper_instance("nu")), instance=many)
        assert analysis.candidate_count > 10**308
        document = plan_document(Answer("many", paper_instance("nu"), analysis.plan, analysis, analysed=True))
        assert document["candidate_count"] is None
        assert re.match(r"it needs each of about 10\^\d{3} candidate sets", document["suboptimality_gap_reason"])


class TestInfeasibleFloors:
    def test_are_an_answer(self, infeasible_file, capsys):
        """Which floors conflict, the least shortfall, the margin, and the plan that comes nearest."""
        output = answer_to("plan", infeasible_file, capsys=capsys)
        found = plan(Instance.load(infeasible_file), on_infeasible="least_shortfall")
        assert "Floors that cannot be met together  house, guest\n" in output
        assert f"{found.total_shortfall:.4f}" in output
        assert "-0.98667" in output
        rows = cells(output, "Arms")
        assert rows[2] == ["guest", "0.1667", "1.5000", "1.3333", "missed"]
        assert cells(output, "Groups")[1][-2:] == ["1.5333", "missed"]
        assert "Plan of least shortfall" in output

    def test_are_an_answer_in_json(self, infeasible_file, capsys):
        """Nothing that needs feasible floors is made up."""
        document = document_of("plan", infeasible_file, "--analyse", capsys=capsys)
        assert (document["status"], document["regime"]) == ("infeasible", "infeasible")
        assert document["conflicting_floors"] == ["house", "guest"]
        assert document["feasibility_margin"] < 0
        assert document["total_shortfall"] == pytest.approx(sum(document["shortfall"] + document["group_shortfall"]))
        for field in ("price_of_guarantees", "active_set", "degenerate", "suboptimality_gap", "largest_floors"):
            assert document[field] is None

    def test_are_analysed_as_far_as_possible(self, infeasible_file, capsys):
        """The margin says by how much every floor must fall."""
        output = answer_to("plan", infeasible_file, "--analyse", capsys=capsys)
        assert "all floors must fall by this much at once" in output
        assert "ρ*" not in output


class TestReading:
    @pytest.mark.parametrize("width", [80, 100, 140])
    @pytest.mark.parametrize("name", ["nu", "nu-plus:0.1", "figure-1", "figure-1:0.9", "infeasible", "wide"])
    def test_no_line_is_wider_than_the_terminal(self, name, width, infeasible_file, wide_file, monkeypatch, capsys):
        """Nor does any number lose its end."""
        monkeypatch.setenv("COLUMNS", str(width))
        output = answer_to("plan", {"infeasible": infeasible_file, "wide": wide_file}.get(name, name), capsys=capsys)
        lines = output.splitlines()
        assert max(len(line) for line in lines) <= width
        assert not [line for line in lines if re.search(r"\d…|…\d|…$", line) and "supplier" not in line]
        assert "\x1b" not in output

    def test_wide_problems_list_the_arms_played_in_each_context(self, wide_file, capsys):
        """Sixty columns of mostly zeros are not a table that anyone reads."""
        output = answer_to("plan", wide_file, capsys=capsys)
        assert len([row for row in cells(output, "Plan") if row[0] == "region"]) == 40
        assert "... and 20 more contexts; --json has all" in output
        assert "... and 10 less tight arms; --json has all" in output

    def test_too_many_candidates_are_said_in_words(self, capsys):
        """The count and the limit stand where the gap would."""
        output = " ".join(answer_to("plan", "figure-1", "--analyse", capsys=capsys).split())
        assert "not computed: it needs each of 646,646 candidate sets, more than the limit of 100,000" in output

    def test_names_cannot_break_the_table(self, tmp_path, capsys):
        """Markup, line breaks and control characters in a name are only letters."""
        file = tmp_path / "odd.json"
        Instance([[1.0], [2.0]], [0, 0], [1], arms=["[bold]x[/]", "a\nb\x1b[31m"]).save(file)
        output = answer_to("plan", str(file), "--analyse", capsys=capsys)
        assert "[bold]x[/]" in output
        assert "a\\nb\\x1b[31m" in output
        assert "\x1b" not in output

    def test_a_file_comes_before_a_name_of_the_paper(self, tmp_path, monkeypatch, capsys):
        """An argument that names an existing file is a file, even without a known ending."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "nu").write_text("")
        assert main(["plan", "nu"]) == 2
        assert "must end in .toml or .json" in capsys.readouterr().err

    @pytest.mark.slow
    def test_both_solvers_give_the_same_answer(self, capsys):
        """The reference solver is another way to the same plan."""
        ours = document_of("plan", "nu", "--analyse", capsys=capsys)
        theirs = document_of("plan", "nu", "--analyse", "--solver", "highs", capsys=capsys)
        assert theirs["active_set"] == ours["active_set"]
        np.testing.assert_allclose(theirs["allocation"], ours["allocation"], atol=1e-9)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([5.25, 6, 0.75], ["5.25", "6.00", "0.75"]),
        ([1, 2, 0], ["1", "2", "0"]),
        ([0, 0], ["0", "0"]),
        ([1234567.0, 0.25], ["1,234,567", "2e-01"]),
        ([1.0, 1e-9], ["1", "1e-09"]),
        ([3e-7], ["3e-07"]),
        ([-0.48], ["-0.48"]),
    ],
)
def test_numbers_of_a_column_are_written_alike(values, texts):
    """Five digits of the largest, and nothing but zero reads as zero."""
    assert figures(values) == texts


def test_shares_near_nothing_and_everything_say_so():
    """0% and 100% mean exactly that."""
    assert percent(0.0001, decimals=1) == "<0.1%"
    assert percent(0.99999, decimals=1) == ">99.9%"
    assert (percent(1.0, decimals=1), percent(1 / 3, decimals=1), percent(0.5, decimals=0)) == ("100%", "33.3%", "50%")


def test_long_names_are_cut():
    """A column keeps its width, and the name its end."""
    assert label("supplier number 017", 16) == "supplier n…r 017"


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["plan"], ["INSTANCE"]),
            (["plan", "nope"], ["neither a file nor one of the paper's instances", "nu-plus"]),
            (["plan", "absent.toml"], ["absent.toml", "neither a file nor"]),
            (["plan", "nu-plus:7"], ["epsilon must be in (0, 1/4)"]),
            (["plan", "nu:3"], ["without a parameter"]),
            (["plan", "nu", "--frob"], ["Unknown option", "--frob"]),
            (["plan", "nu", "--solver", "magic"], ["magic", "simplex", "highs"]),
            (["plan", "nu", "--solver"], ["--solver"]),
            (["plan", "nu", "more"], ["Unexpected argument 'more'"]),
            (["frobnicate"], ["frobnicate", "plan, instances"]),
            (["plam", "nu"], ["plam", "plan, instances"]),
        ],
        ids=" ".join,
    )
    def test_is_one_sentence_and_exit_code_2(self, arguments, said, capsys):
        """Nothing on standard output, no traceback, one line that says what is wrong."""
        assert main(arguments) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        assert printed.err.endswith((".\n", "?\n"))
        for words in said:
            assert words in printed.err

    @pytest.mark.parametrize("text", ["x = [", "", 'arms = ["a"]', "mean_rewards = 3", "\x00"])
    def test_malformed_files_are_named(self, text, tmp_path, capsys):
        """The sentence starts with the file."""
        file = tmp_path / "bad.toml"
        file.write_text(text)
        assert main(["plan", str(file)]) == 2
        printed = capsys.readouterr()
        assert printed.err.startswith(str(file))
        assert printed.err.count("\n") == 1


@pytest.mark.slow
class TestTheProgram:
    def test_answers_and_refuses(self, program):
        """Exit codes and streams are those of a real process."""
        good = subprocess.run([*program, "plan", "nu"], capture_output=True, text=True, encoding="utf-8", check=False)
        assert (good.returncode, good.stderr) == (0, "")
        assert "\x1b" not in good.stdout
        bad = subprocess.run([*program, "plan", "nope"], capture_output=True, text=True, check=False)
        assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)

    @pytest.mark.parametrize("options", [["plan", "nu", "--json"], ["instances"], ["--help"]])
    def test_a_closed_pipe_is_silent(self, program, options):
        """`| head` ends the output, not the reader's patience."""
        process = subprocess.Popen([*program, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        assert rest_of(process.stderr) == b""
        process.stderr.close()
        assert process.wait(PATIENCE) == 141

    def test_help_needs_nothing_heavy(self):
        """A command that only prints help must not wait for a compiler."""
        script = (
            "import sys; from arcbandit.cli import main; main(['plan', '--help']); "
            "print(sorted({'numba', 'numpy', 'highspy'} & set(sys.modules)))"
        )
        finished = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
        assert finished.stdout.splitlines()[-1] == "[]"

    def test_a_terminal_without_greek_gets_an_answer(self, program, monkeypatch):
        """Letters that cannot be shown are replaced."""
        monkeypatch.setenv("PYTHONIOENCODING", "ascii")
        finished = subprocess.run([*program, "plan", "nu", "--analyse"], capture_output=True, check=False)
        assert (finished.returncode, finished.stderr) == (0, b"")


def test_version(capsys):
    """Name and number."""
    assert answer_to("--version", capsys=capsys) == f"arcbandit {__version__}\n"


def test_help_lists_the_verbs(capsys):
    """Each with a line about it; no argument at all is a question for help."""
    output = answer_to("--help", capsys=capsys)
    assert output == answer_to(capsys=capsys)
    assert "instances    List" in output
    assert "plan         Print" in output


def test_help_of_plan_lists_its_options(capsys):
    """Options with what they do, and no negative twins."""
    output = answer_to("plan", "--help", capsys=capsys)
    for option in ("INSTANCE", "--analyse", "--json", "--solver"):
        assert option in output
    assert "--no-" not in output


def test_the_learning_limit_stands_beside_the_constants(capsys, tmp_path):
    """In the table and in the document; where it is not known, the reason does."""
    floor_of_two_fifths = tmp_path / "two-arms.toml"
    Instance([[4, 2], [1, 1]], [0, 0.4], [0.5, 0.5]).save(floor_of_two_fifths)
    document = document_of("plan", str(floor_of_two_fifths), "--analyse", capsys=capsys)
    limit = document["learning_limit"]
    # A price of 1 and two fifths of the rounds: 2 sigma (1 + 1) phi(0) sqrt(2/5 T).
    assert limit["total"] == pytest.approx(4 * math.sqrt(0.4 * 50_000 / (2 * math.pi)))
    assert (limit["horizon"], limit["violation_weight"]) == (50_000, 1.0)
    assert document["learning_limit_reason"] is None
    assert f"{limit['total']:.2f}  learning limit" in answer_to(
        "plan", str(floor_of_two_fifths), "--analyse", capsys=capsys
    )
    exactly_met = tmp_path / "exactly-met.toml"
    Instance([[2, 1], [1, 2]], [1.0, 0.5], [0.5, 0.5]).save(exactly_met)
    document = document_of("plan", str(exactly_met), "--analyse", capsys=capsys)
    assert document["learning_limit"] is None
    assert "not degenerate" in document["learning_limit_reason"]
    assert "not known: The learning limit" in answer_to("plan", str(exactly_met), "--analyse", capsys=capsys)
