import pytest


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    """The width and colours of whoever runs the tests do not matter."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("TTY_COMPATIBLE", raising=False)
