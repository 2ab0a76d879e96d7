"""The verbs of the service: serve, token, backup, restore, export."""

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from arcbandit import evaluate, fit, read_log, restore
from arcbandit.cli import main
from arcbandit.cli.serve import settings_of
from arcbandit.errors import InvalidInputError
from arcbandit.service.sqlite_store import SQLiteReader, SQLiteStore
from arcbandit.service.sqlite_transactions import opened
from arcbandit.service.store import DecisionDraft, RewardDraft
from arcbandit.service.tokens import digest_of
from tests.patience import PATIENCE, killed, line_of, rest_of, within
from tests.service.processes import ROOT, made_store


@pytest.fixture
def store(tmp_path):
    """A store with 400 decisions, of which 300 have a reward."""
    path = made_store(tmp_path)

    async def play():
        store = SQLiteStore(path)
        rng = random.Random(1)
        drafts = []
        for _ in range(400):
            arm, context = rng.randrange(2), rng.randrange(2)
            drafts.append(DecisionDraft(1, context, arm, 0.5, rng.random() / 2 + arm / 2, 1))
        made = [one for one, _ in await asyncio.gather(*map(store.record_decision, drafts))]
        rewards = [
            RewardDraft(one.sequence, 500_000 + 100_000 * (one.arm == one.context))
            for number, one in enumerate(made)
            if number % 4
        ]
        await store.record_rewards(1, rewards)
        await store.close()

    asyncio.run(play())
    return path


def test_settings_come_from_flags_environment_and_file(tmp_path):
    """In this order; what nobody set has its default."""
    file = tmp_path / "service.toml"
    file.write_text('port = 1\nstore = "file.db"\nopen = true\n')
    environment = {"ARCBANDIT_PORT": "2", "ARCBANDIT_STORE": "environment.db"}
    found = settings_of({"port": 3}, str(file), environment)
    assert (found["port"], found["store"], found["open"], found["host"]) == (3, "environment.db", True, "127.0.0.1")


@pytest.mark.parametrize(
    ("text", "environment", "message"),
    [
        ("ports = 1", {}, "no setting 'ports'"),
        ('port = "1"', {}, "port must be a int"),
        ("port = 70000", {}, "port must be from 0"),
        ("port", {}, "not valid TOML"),
        ("", {"ARCBANDIT_PORT": "many"}, "ARCBANDIT_PORT must be a whole number"),
        ("", {"ARCBANDIT_OPEN": "perhaps"}, "ARCBANDIT_OPEN must be true or false"),
    ],
)
def test_a_wrong_setting_is_refused(tmp_path, text, environment, message):
    """By its name, wherever it comes from."""
    file = tmp_path / "service.toml"
    file.write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        settings_of({}, str(file), environment)


def test_a_service_without_tokens_is_for_this_machine_alone(tmp_path, capsys):
    """Everybody else on the network could decide and pay."""
    assert main(["serve", "--open", "--host", "0.0.0.0", "--store", str(tmp_path / "s.db")]) == 2
    assert "--open needs a host of this machine" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("[1, 2]", "films", "must be a policy that `arcbandit fit` wrote"),
        ('"films"', "films", "must be a policy that `arcbandit fit` wrote"),
        ("{}", "a/b", "--campaign must be letters"),
        ("{}", "films\n", "--campaign must be letters"),
        ("{}", "", "--campaign must be letters"),
        ("{", "films", "is not valid JSON"),
    ],
)
def test_a_first_campaign_that_cannot_be_is_refused(tmp_path, capsys, text, name, message):
    """Before there is a store."""
    policy, store = tmp_path / "policy.json", tmp_path / "s.db"
    policy.write_text(text)
    arguments = ["--store", str(store), "--from", str(policy), "--campaign", name]
    assert main(["serve", "--open", "--port", "0", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not store.exists()


def test_tokens_are_made_and_forgotten(store, capsys):
    """The token is shown once; the store has its hash."""
    assert main(["token", "shop", "decide", "reward", "--store", store]) == 0
    token = capsys.readouterr().out.strip()
    reader = SQLiteReader(store)
    (record,) = reader.tokens()
    assert (record.name, record.digest, record.scopes) == ("shop", digest_of(token), ("decide", "reward"))
    for wrong in (["shop", "read"], ["other", "write"], ["other"]):
        assert main(["token", *wrong, "--store", store]) != 0
        assert capsys.readouterr().err.endswith(".\n")
    assert main(["token", "shop", "--revoke", "--store", store]) == 0
    assert reader.tokens() == []
    reader.close()
    assert main(["token", "shop", "--revoke", "--store", store]) == 2


def test_a_backup_is_verified_when_it_is_restored(store, tmp_path, capsys):
    """One in which anything differs is refused, and no store is left behind."""
    copy, back = str(tmp_path / "copy.db"), str(tmp_path / "back.db")
    assert main(["backup", copy, "--store", store]) == 0
    assert main(["restore", copy, "--store", back, "--verify"]) == 0
    assert "Verified 1 campaigns, 400 decisions, 300 rewards." in capsys.readouterr().out
    one, two = SQLiteReader(store), SQLiteReader(back)
    assert one.statistics(1) == two.statistics(1)
    one.close()
    two.close()
    assert main(["restore", copy, "--store", back]) == 1  # it is there already
    for number, harm in enumerate(
        (
            "UPDATE rewards SET micro = micro + 1 WHERE arrival = 7",
            "DELETE FROM decisions WHERE sequence = 4",
            "UPDATE decisions SET probability = 0.6 WHERE sequence = 9",
            "UPDATE statistics SET rewards = rewards + 1",
        )
    ):
        connection = opened(copy)
        connection.execute("BEGIN")
        connection.execute(harm)
        connection.execute("COMMIT")
        connection.close()
        target = tmp_path / f"never-{number}.db"
        assert main(["restore", copy, "--store", str(target), "--verify"]) == 1
        assert "is not sound" in capsys.readouterr().err
        assert not target.exists()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".ndjson", ".parquet"])
def test_the_export_is_a_log(store, tmp_path, capsys, suffix):
    """read_log, evaluate and fit take it as it is, with its probabilities."""
    out = str(tmp_path / f"films{suffix}")
    assert main(["export", "films", out, "--store", store]) == 0
    assert "300 decisions of films" in capsys.readouterr().out
    statistics = read_log(out)
    assert statistics.rows == 300
    assert statistics.has_probabilities
    assert statistics.arms == ("guest", "house")
    reader = SQLiteReader(store)
    total = sum(pair.total for pair in reader.statistics(1).pairs.values())
    reader.close()
    assert statistics.sums.sum() == pytest.approx(total / 1e6, rel=1e-12)
    fitted = fit(statistics, {"guest": 0.1})
    assert evaluate(out, fitted).arms == ("guest", "house")
    every = str(tmp_path / f"every{suffix}")
    assert main(["export", "films", every, "--every", "--store", store]) == 0
    assert "400 decisions" in capsys.readouterr().out
    assert main(["export", "songs", every, "--store", store]) == 2
    assert main(["export", "films", "films.xlsx", "--store", store]) == 2


@pytest.mark.slow
def test_serve_starts_from_a_fitted_policy_plans_and_ends(store, tmp_path):
    """The circle: export, fit, serve --from; a token shown once, plans that come by themselves, an orderly end."""
    log, fitted, served = tmp_path / "films.parquet", tmp_path / "policy.json", tmp_path / "new.db"
    assert main(["export", "films", str(log), "--store", store]) == 0
    assert main(["fit", str(log), "--out", str(fitted), "--floor", "guest=0.1"]) == 0
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    process = subprocess.Popen(
        [sys.executable, "-m", "arcbandit", "serve", "--store", str(served), "--port", "0", "--from", str(fitted)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        line = line_of(process)
        port = re.search(r":(\d+) ", line)
        assert port is not None, "the service did not start"
        # The token is told before the service listens, so that its line is there.
        token = within(
            PATIENCE,
            "no token was told",
            lambda: next(word for text in process.stderr for word in text.split() if word.startswith("arcb_")),
        )
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port[1]}/v1/campaigns/default", headers=headers) as client:
            assert client.get("/plan", headers={"authorization": "Bearer wrong"}).status_code == 401
            deadline = time.monotonic() + 60
            while client.get("/plan").json()["how"] != "planned":
                assert time.monotonic() < deadline
                time.sleep(0.1)
            plan = client.get("/plan").json()
            assert plan["certificate"]["kind"] == "bounded"
            assert plan["certificate"]["holds"]
            assert plan["rewards"] == 0  # what the log knew is in the policy
            assert client.post("/decide", json={"context": "tv"}).json()["how"] == "planned"
            kept = client.get("/decisions").text.splitlines()
            assert json.loads(kept[0])["context"] == "tv"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        errors = rest_of(process.stderr)
        assert "Traceback" not in errors
        assert token not in errors
    finally:
        killed(process)
        process.stdout.close()
        process.stderr.close()
    assert restore(json.loads(Path(fitted).read_text())).arms == ("guest", "house")
