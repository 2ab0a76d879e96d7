"""The examples of the clients' docstrings, run against a service as `arcbandit serve` starts it."""

import doctest
import importlib
import os
import re
import subprocess
import sys

import pytest

from arcbandit.client import AsyncClient, Client
from tests.patience import line_of
from tests.service.served import FILMS
from tests.test_examples import NEED_A_SERVICE, SOURCES


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A client of a service with the campaign that the docstrings speak of."""
    store = tmp_path_factory.mktemp("examples") / "store.db"
    serve = [sys.executable, "-m", "arcbandit", "serve", "--open", "--port", "0", "--store", str(store)]
    with subprocess.Popen(
        serve, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(SOURCES)}
    ) as process:
        try:
            said = line_of(process)
            address = re.search(r"http://\S+:\d+", said)
            assert address, f"the service did not start: {said!r}"
            with Client(address.group()) as made:
                made.create(**FILMS)
                yield made
        finally:
            process.terminate()


@pytest.mark.slow
@pytest.mark.parametrize("name", NEED_A_SERVICE)
def test_examples_of_the_clients_give_what_they_show(client, name):
    """What a docstring shows of a service is what a service answers."""
    failed, attempted = doctest.testmod(importlib.import_module(name), extraglobs={"client": client})
    assert attempted
    assert not failed


def public_methods(kind):
    return {name for name, value in vars(kind).items() if callable(value) and not name.startswith("_")}


def test_both_clients_have_the_same_methods():
    """The examples of one are those of the other, awaited."""
    assert public_methods(AsyncClient) == public_methods(Client)
