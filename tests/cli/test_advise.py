import json

import numpy as np
import polars
import pytest

from arcbandit.cli import main
from arcbandit.cli.advice_tables import rounded_down


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Two films on two devices, of which one is rarely seen on a watch."""
    random = np.random.default_rng(3)
    devices = random.choice(["phone", "tv"], size=3000, p=[0.7, 0.3])
    films = random.choice(["guest", "house"], size=3000)
    means = 0.3 + 0.3 * (films == "house") + 0.2 * ((films == "guest") & (devices == "tv"))
    frame = polars.DataFrame({"device": devices, "film": films, "euros": means + 0.2 * random.normal(size=3000)})
    path = tmp_path_factory.mktemp("log") / "log.csv"
    frame.write_csv(path)
    return path


COLUMNS = ["--context", "device", "--arm", "film", "--reward", "euros"]


def advised(log, *more):
    return main(["advise", str(log), *COLUMNS, *more])


def test_it_says_what_can_be_promised(log, capsys):
    assert advised(log, "--floor", "guest=0.15", "--no-learning") == 0
    shown = capsys.readouterr().out
    assert "The floors can be kept, with 95% confidence" in shown
    assert "more than 99.99% sure" in shown
    assert "Plan, pessimistic" in shown
    _, *lines = shown.splitlines()  # the first has the name of the log, which may be cut
    assert max(map(len, lines)) <= 80
    assert "…" not in " ".join(lines)


def test_without_floors_it_is_about_what_arms_earn_now(log, capsys):
    assert advised(log) == 0
    shown = capsys.readouterr().out
    assert "every arm can be promised" in shown
    assert "price" not in shown


def test_names_that_are_cut_alike_keep_their_columns(tmp_path, capsys):
    contexts = [f"a context with a long name {place}, in short" for place in range(9)] + ["revenue"]
    arms = [f"a provider with a long name {place}, in short" for place in range(3)]
    random = np.random.default_rng(4)
    rows = [(context, arm, 1e6 * random.random()) for context in contexts for arm in arms for _ in range(30)]
    polars.DataFrame(rows, schema=["context", "arm", "reward"], orient="row").write_csv(tmp_path / "log.csv")
    assert main(["advise", str(tmp_path / "log.csv")]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    tables = "\n".join(lines).partition("Plan, pessimistic")[2]
    assert tables.count("100%") == 10
    assert all(line.startswith(("arm", "a provi", "  ")) for line in tables.splitlines() if line)


@pytest.mark.slow
def test_learning_is_simulated(log, capsys):
    assert advised(log, "--floor", "guest=0.15", "--policy", "blp", "--rounds", "2e3", "--json") == 0
    [found] = json.loads(capsys.readouterr().out)["learning"]
    assert found["policy"] == "blp"
    assert 0 < found["half"] <= found["most"] <= 2000


def test_the_document_has_everything(log, capsys):
    assert advised(log, "--floor", "guest=0.15", "--floor", "house=0.1", "--no-learning", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert [floor["name"] for floor in document["floors"]] == ["guest", "house"]
    assert document["verdict"] == "feasible"
    for floor in document["floors"]:
        for number in ("earns_now", "could_earn", "largest_floor", "price"):
            assert floor[number]["low"] <= floor[number]["plain"] <= floor[number]["high"]
    assert document["plans"]["pessimistic"]["revenue"][0]["low"] >= 0.15 - 1e-9
    assert document["learning"] is None
    assert len(document["curve"]["scales"]) == len(document["curve"]["high"])


def test_floors_out_of_reach_are_an_answer(log, capsys):
    assert advised(log, "--floor", "guest=0.35", "--floor", "house=0.4") == 0
    shown = capsys.readouterr().out
    assert "The floors of guest, house cannot be kept together, with 95% confidence" in shown
    assert "cannot be kept" in shown
    assert "Learning" not in shown


def test_a_promise_is_never_rounded_up():
    assert rounded_down([0.123456, 12.34567]) == [0.123, 12.345]
    assert rounded_down([0.0, -np.inf]) == [0.0, -np.inf]


@pytest.mark.slow
def test_the_page_is_written(log, tmp_path, capsys):
    page = tmp_path / "advice.html"
    assert advised(log, "--floor", "guest=0.15", "--no-learning", "--page", str(page)) == 0
    assert f"The page is {page}." in " ".join(capsys.readouterr().out.split("\n"))
    assert "can be kept" in page.read_text()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--floor", "Guest=0.1"], "There is no arm 'Guest' in the log (did you mean 'guest'?)"),
        (["--floor", "guest=-1"], "revenue_floors of 'guest' must be non-negative, got -1.0."),
        (["--floor", "guest=nan"], "revenue_floors of 'guest' must be finite, got nan."),
        (["--confidence", "1"], "confidence must be a number between 0 and 1, got 1.0."),
        (["--confidence", "0"], "confidence must be a number between 0 and 1, got 0.0."),
        (["--least-rows", "1e6"], "at least 1000000 rewards of some arm in some context"),
        (["--reward-bounds", "0", "0.1"], "reward_bounds must hold every reward"),
        (["--tolerance", "0"], "--tolerance must be positive, got 0.0."),
        (["--policy", "bpl"], "There is no policy 'bpl'"),
        (["--page", "advice.pdf"], "must end in .html"),
        (["--page", "nowhere/advice.html"], "there is no folder 'nowhere'"),
    ],
)
def test_wrong_options_are_one_sentence(log, more, message, capsys):
    assert advised(log, *more) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
