"""The files of deploy/ keep what the page of the service says of them; `make lint-deploy` has linters look at them."""

import inspect
import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from arcbandit.cli import serve
from arcbandit.policies.registry import POLICIES

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"


@pytest.fixture(scope="module")
def instructions():
    """The instructions of the Dockerfile, each with its arguments on one line."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


def of(instructions, name):
    return [arguments for instruction, arguments in instructions if instruction == name]


def pinned(image):
    """Whether the tag of an image says which release it is."""
    return re.match(r"\d+(\.\d+)?", image.partition(":")[2]) is not None


def settings(instructions):
    """What ENV sets in the last stage."""
    last = max(place for place, (name, _) in enumerate(instructions) if name == "FROM")
    return dict(pair.split("=", 1) for line in of(instructions[last:], "ENV") for pair in shlex.split(line))


def test_the_image_is_pinned_and_of_two_stages(instructions):
    images = [line.split(" ")[0] for line in of(instructions, "FROM")]
    assert len(images) == 2
    assert all(pinned(image) for image in images)
    assert any(line.startswith("--from=build") for line in of(instructions, "COPY"))


def test_the_image_does_not_run_as_root(instructions):
    """Its user is a number other than 0, set before kernels are compiled, which are its own."""
    (user,) = of(instructions, "USER")
    assert all(int(number) > 1000 for number in user.split(":"))
    names = [name for name, _ in instructions]
    assert names.index("USER") < len(names) - 1 - names[::-1].index("RUN")


def test_the_image_has_compiled_what_it_names(instructions):
    (policies,) = of(instructions, "ARG")
    assert set(shlex.split(policies)[0].removeprefix("POLICIES=").split()) <= set(POLICIES)
    assert of(instructions, "RUN")[-1] == "arcbandit warm-up ${POLICIES}"
    volumes = json.loads(of(instructions, "VOLUME")[0])
    assert settings(instructions)["ARCBANDIT_CACHE_DIR"] in volumes


def test_the_image_is_asked_for_its_health(instructions):
    (check,) = of(instructions, "HEALTHCHECK")
    assert f":{settings(instructions)['ARCBANDIT_PORT']}/healthz" in check


def test_settings_of_the_image_are_settings_of_the_service(instructions):
    found = settings(instructions)
    given = {name.removeprefix("ARCBANDIT_").lower() for name in found if name.startswith("ARCBANDIT_")}
    assert given - {"cache_dir"} == {"store", "host", "port"}
    assert given - {"cache_dir"} <= set(serve.DEFAULTS)
    assert Path(found["ARCBANDIT_STORE"]).parent.as_posix() in json.loads(of(instructions, "VOLUME")[0])
    assert json.loads(of(instructions, "ENTRYPOINT")[0]) == ["arcbandit"]
    assert json.loads(of(instructions, "CMD")[0]) == ["serve"]


def test_only_what_is_copied_is_sent_to_the_builder(instructions):
    sent = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line[0] == "!"}
    copied = {path for line in of(instructions, "COPY") if "--from" not in line for path in line.split()[:-1]}
    assert copied == sent
    assert all((ROOT / path).exists() for path in sent)


def test_two_replicas_share_a_database_behind_a_proxy(compose):
    service, database, proxy = (compose["services"][name] for name in ("service", "database", "proxy"))
    assert service["deploy"]["replicas"] == 2
    assert re.match("postgresql://[^/]*@database/", service["environment"]["ARCBANDIT_STORE"])
    assert database["healthcheck"]["test"][1] == "pg_isready"
    assert service["depends_on"]["database"]["condition"] == "service_healthy"
    assert any(volume.startswith("database:") for volume in database["volumes"])
    assert [name for name, one in compose["services"].items() if "ports" in one] == ["proxy"]
    assert proxy["ports"] == ["${ARCBANDIT_ADDRESS:-127.0.0.1:8080}:8080"]


def test_flags_of_the_replicas_exist(compose):
    """And none of them asks for no tokens."""
    verb, *arguments = compose["services"]["service"]["command"]
    flags = [argument.removeprefix("--").replace("-", "_") for argument in arguments if argument.startswith("--")]
    assert verb == "serve"
    assert flags
    assert set(flags) <= set(inspect.signature(serve.serve).parameters)
    assert "open" not in flags


def test_containers_may_do_little(compose):
    for name in ("service", "proxy"):
        one = compose["services"][name]
        assert one["read_only"] is True
        assert one["cap_drop"] == ["ALL"]
        assert one["security_opt"] == ["no-new-privileges:true"]
        assert one["tmpfs"] == ["/tmp"]
    assert compose["networks"]["inside"] == {"internal": True}


def test_images_are_pinned_and_passwords_are_not_written_down(compose):
    for name, one in compose["services"].items():
        assert "build" in one or pinned(one["image"]), name
        for key, value in one.get("environment", {}).items():
            if "PASSWORD" in key:
                assert value.startswith("${POSTGRES_PASSWORD:?")
            assert re.search(r"://[^@/]*:[^@/]*@", value) is None


def test_the_proxy_knows_the_replicas_and_gives_up_later_than_they_do(compose):
    from arcbandit.service.server import KEEP_ALIVE_SECONDS
    from arcbandit.service.service import ANSWER_TIMEOUT

    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    assert "./nginx.conf:/etc/nginx/nginx.conf:ro" in compose["services"]["proxy"]["volumes"]
    port = compose["services"]["service"]["command"][-1]
    assert f"server service:{port} resolve" in text
    assert "listen 8080;" in text
    assert text.count("{") == text.count("}")
    assert int(re.search(r"keepalive_timeout (\d+)s", text)[1]) < KEEP_ALIVE_SECONDS
    assert int(re.search(r"proxy_read_timeout (\d+)s", text)[1]) > ANSWER_TIMEOUT
