import numpy as np
import polars
import pytest


@pytest.fixture(scope="session")
def postgres(postgres_server):
    """The URL of a PostgreSQL server."""
    return postgres_server.uri


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
