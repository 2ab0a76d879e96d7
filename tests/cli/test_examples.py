"""`arcbandit examples` writes data that the other verbs read."""

import json
import tomllib

import pytest

from arcbandit.cli import main
from arcbandit.examples.files import DATA, EXAMPLES


def test_lists_every_example(capsys):
    assert main(["examples"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    for name, example in EXAMPLES.items():
        assert name in words
        assert example.summary in words
    assert main(["examples", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["examples"]] == list(EXAMPLES)


@pytest.mark.slow
def test_films_can_be_advised_on(tmp_path, capsys):
    folder = tmp_path / "a" / "b"
    assert main(["examples", "films", "--out", str(folder)]) == 0
    assert capsys.readouterr().out.split() == [
        str(folder / file) for file in ("README.md", "films.csv", "providers-by-genre.csv", "log.csv", "floors.toml")
    ]
    assert (folder / "films.csv").read_bytes() == (DATA / "films.csv").read_bytes()
    assert len(tomllib.loads((folder / "floors.toml").read_text())["revenue_floors"]) == 6
    columns = ["--context", "genre", "--arm", "provider", "--reward", "liking"]
    floors = ["--floors", str(folder / "floors.toml"), "--no-learning", "--json"]
    assert main(["advise", str(folder / "log.csv"), *columns, *floors]) == 0
    advice = json.loads(capsys.readouterr().out)
    assert (advice["rows"], advice["verdict"]) == (20_000, "feasible")


def test_the_logs_of_the_shop_can_be_read(tmp_path, capsys):
    assert main(["examples", "open-bandit", "--out", str(tmp_path), "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    names = ["README.md", "obd-men-random.csv.gz", "obd-men-bts.csv.gz", "LICENSE.Apache-2.0.txt"]
    assert [file.rpartition("/")[2] for file in files] == names
    columns = ["--context", "position", "--arm", "item", "--reward", "click"]
    assert main(["evaluate", files[1], "--policy", "uniform", *columns, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["logged_value"] == pytest.approx(0.0046)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["flims", "--out", "x"], "There is no example 'flims' (did you mean 'films'?)"),
        (["films"], "--out must name the folder"),
        (["--out", "x"], "--out must be given only with the name of an example"),
        (["open-bandit", "--out", "file/in"], "--out must be a folder that can be written to"),
    ],
)
def test_what_cannot_be_written_is_refused(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert main(["examples", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_each_data_file_says_where_it_is_from():
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    for example in EXAMPLES.values():
        for file in example.files:
            assert file in readme
    assert readme.count("- Licence:") == readme.count("- Cite:") == len(EXAMPLES)
    assert sum(file.stat().st_size for file in DATA.iterdir()) < 600_000
