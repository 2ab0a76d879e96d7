"""`arcbandit serve`, `token`, `backup`, `restore`, `export` and `tidy`: the decision service and its store."""

import os
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from arcbandit.errors import InvalidInputError, MissingExtraError, NameTakenError

if TYPE_CHECKING:
    from arcbandit.service.store import Reader

DEFAULTS: dict[str, Any] = {
    "store": "arcbandit.db",
    "host": "127.0.0.1",
    "port": 8000,
    "open": False,
    "requests_at_once": 256,
}
ENVIRONMENT = "ARCBANDIT_"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERY_SCOPE = ("decide", "reward", "read", "admin")
STORE_HELP = (
    "The file of the store, or the URL of a PostgreSQL database, postgresql://...; by default ARCBANDIT_STORE or "
    "arcbandit.db."
)

Store = Annotated[str | None, Parameter(show_default=False, help=STORE_HELP)]


def needs_service() -> None:
    """Refuse with the name of the extra if what the service needs is not installed."""
    modules = ["apsw", "asyncpg", "msgspec", "starlette", "uvicorn", "httptools", "prometheus_client"]
    for module in modules if sys.platform == "win32" else [*modules, "uvloop"]:  # which Windows has not
        try:
            __import__(module)
        except ImportError as error:
            raise MissingExtraError(module, "service") from error


def settings_of(flags: dict[str, Any], config: str | None, environment: "os._Environ[str] | dict[str, str]") -> Any:
    """Each setting by its flag, else by ARCBANDIT_..., else by the file, else its default."""
    path = config if config is not None else environment.get(f"{ENVIRONMENT}CONFIG")
    given: dict[str, Any] = {}
    if path is not None:
        try:
            given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InvalidInputError(f"{path}: cannot be read ({error.strerror}).") from error
        except ValueError as error:
            raise InvalidInputError(f"{path}: is not valid TOML ({error}).") from error
        for name in given:
            if name not in DEFAULTS:
                raise InvalidInputError(f"{path}: there is no setting {name!r}; there are {', '.join(DEFAULTS)}.")
    found = {}
    for name, default in DEFAULTS.items():
        text = environment.get(f"{ENVIRONMENT}{name.upper()}")
        value = flags.get(name)
        if value is None:
            value = given.get(name, default) if text is None else _read(name, text, default)
        if type(value) is not type(default):
            raise InvalidInputError(f"{name} must be a {type(default).__name__}, got {value!r}.")
        found[name] = value
    if not 0 <= found["port"] <= 65535:
        raise InvalidInputError(f"port must be from 0 to 65535, got {found['port']}.")
    if found["requests_at_once"] < 4:
        raise InvalidInputError(f"requests_at_once must be at least 4, got {found['requests_at_once']}.")
    return found


def _read(name: str, text: str, default: Any) -> Any:
    """A setting of the environment."""
    if isinstance(default, bool):
        if text.lower() not in ("1", "true", "yes", "0", "false", "no", ""):
            raise InvalidInputError(f"{ENVIRONMENT}{name.upper()} must be true or false, got {text!r}.")
        return text.lower() in ("1", "true", "yes")
    if isinstance(default, int):
        if not text.strip().isdecimal():
            raise InvalidInputError(f"{ENVIRONMENT}{name.upper()} must be a whole number, got {text!r}.")
        return int(text)
    return text


def _store(store: str | None) -> str:
    return str(settings_of({"store": store}, None, os.environ)["store"])


def serve(
    *,
    store: Store = None,
    host: Annotated[str | None, Parameter(show_default=False, help="The address to listen on: 127.0.0.1.")] = None,
    port: Annotated[int | None, Parameter(show_default=False, help="The port: 8000; 0 takes a free one.")] = None,
    open: Annotated[
        bool | None,
        Parameter(negative=(), show_default=False, help="Ask for no tokens; only on an address of this machine."),
    ] = None,
    requests_at_once: Annotated[
        int | None, Parameter(show_default=False, help="More than so many, 256, are turned away with 503.")
    ] = None,
    config: Annotated[str | None, Parameter(show_default=False, help="A .toml file of these settings.")] = None,
    from_: Annotated[
        str | None,
        Parameter(name="--from", show_default=False, help="A policy that `arcbandit fit` wrote, for a first campaign."),
    ] = None,
    campaign: Annotated[str, Parameter(help="The name of that campaign.")] = "default",
) -> None:
    """Serve decisions over HTTP, from one file or from a PostgreSQL database, until SIGTERM or Ctrl-C.

    Every setting may also be given as ARCBANDIT_STORE and so on, or in the file. If the store has no tokens yet, one is
    made with every scope and shown once.
    """
    needs_service()
    flags = {"store": store, "host": host, "port": port, "open": open, "requests_at_once": requests_at_once}
    settings = settings_of(flags, config, os.environ)
    if settings["open"] and settings["host"] not in LOOPBACK:
        raise InvalidInputError(f"--open needs a host of this machine, {LOOPBACK[0]}, got {settings['host']}.")
    import asyncio
    import logging

    from arcbandit.service.http_app import Limits
    from arcbandit.service.server import run, wired
    from arcbandit.service.stores import add_token, shown_store
    from arcbandit.service.tokens import new_token

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    at_once = settings["requests_at_once"]
    if from_ is not None:
        asyncio.run(_first_campaign(settings["store"], campaign, from_))
    running = wired(settings["store"], is_open=settings["open"], limits=Limits(at_once, at_once * 3 // 4, at_once))
    if not settings["open"] and not _tokens(settings["store"]):
        token, record = new_token("first", EVERY_SCOPE, running.store.now())
        try:
            add_token(settings["store"], record)
            print(f"The first token, with every scope, which is not shown again: {token}", file=sys.stderr)
        except NameTakenError:
            pass  # another replica was faster, and has shown it

    def told(port: int) -> None:
        print(f"Serving on http://{settings['host']}:{port} from {shown_store(settings['store'])}.", flush=True)

    run(running, settings["host"], settings["port"], told)


def _tokens(store: str) -> list[Any]:
    from arcbandit.service.stores import open_reader

    reader = open_reader(store)
    try:
        return reader.tokens()
    finally:
        reader.close()


async def _first_campaign(store: str, name: str, path: str) -> None:
    """Make a campaign of a fitted policy, unless there is one of that name."""
    import json

    from arcbandit.service.api_errors import ApiError
    from arcbandit.service.api_types import CAMPAIGN_NAME, CreateCampaign
    from arcbandit.service.server import wired

    try:
        snapshot = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise InvalidInputError(f"{path}: is not valid JSON ({error}).") from error
    if re.search(CAMPAIGN_NAME, name) is None:
        raise InvalidInputError(
            f"--campaign must be letters, digits, '.', '_' and '-', at most 64 from a letter or digit on, got {name!r}."
        )
    if not isinstance(snapshot, dict):
        raise InvalidInputError(f"{path}: must be a policy that `arcbandit fit` wrote, which is a JSON object.")
    running = wired(store)
    try:
        await running.service.load()
        if name not in running.service.campaigns:
            await running.service.create(CreateCampaign(name=name, snapshot=snapshot))
    except ApiError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    finally:
        await running.answering.close()
        await running.store.close()


def token(
    name: Annotated[str, Parameter(help="What the token is called.")],
    /,
    *scopes: Annotated[str, Parameter(help="What it may do: decide, reward, read, admin.")],
    store: Store = None,
    revoke: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Forget the token of that name instead.")
    ] = False,
) -> None:
    """Make an access token, which is shown once; only its hash is kept. A server that runs knows it within seconds."""
    needs_service()
    import time

    from arcbandit.service.stores import add_token, remove_token
    from arcbandit.service.tokens import new_token

    path = _store(store)
    if revoke:
        if not remove_token(path, name):
            raise InvalidInputError(f"There is no token {name!r}.")
        print(f"Token {name} is forgotten.")
        return
    made, record = new_token(name, scopes, round(time.time() * 1e6))
    add_token(path, record)
    print(made)


def backup(
    copy: Annotated[str, Parameter(help="The file to write, which must not be there yet.")], /, *, store: Store = None
) -> None:
    """Copy a store as it is at one moment, also while it serves."""
    needs_service()
    from arcbandit.service.backup import back_up

    back_up(_store(store), copy)
    print(f"{copy} is a copy of {_store(store)}.")


def restore(
    copy: Annotated[str, Parameter(help="A backup.")],
    /,
    *,
    store: Store = None,
    verify: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Count the log again and draw every decision again; refuse a copy in which anything differs.",
        ),
    ] = False,
) -> None:
    """Make a store from a backup; the store must not be there yet."""
    needs_service()
    from arcbandit.service.backup import back_up

    path = _store(store)
    audit = back_up(copy, path, verify=verify)
    if audit is not None:
        print(f"Verified {audit.campaigns:,} campaigns, {audit.decisions:,} decisions, {audit.rewards:,} rewards.")
    print(f"{path} is restored from {copy}.")


def export(
    campaign: Annotated[str, Parameter(help="The name of a campaign.")],
    out: Annotated[str, Parameter(help="The file to write: .ndjson or .parquet.")],
    /,
    *,
    store: Store = None,
    every: Annotated[
        bool,
        Parameter(negative=(), show_default=False, help="Also decisions whose reward has not come, without a reward."),
    ] = False,
) -> None:
    """Write the decisions of a campaign with their rewards, as a log that advise, evaluate and fit read."""
    needs_service()
    from arcbandit.service.exporting import PARTS, written
    from arcbandit.service.stores import open_reader

    suffix = Path(out).suffix.lower()
    if suffix.removeprefix(".") not in PARTS:
        raise InvalidInputError(f"{out}: an export must end in .ndjson or .parquet, got {suffix!r}.")
    reader = open_reader(_store(store))
    try:
        count = written(out, _rows(reader, campaign, every), suffix.removeprefix("."))
    finally:
        reader.close()
    print(f"{out} has {count:,} decisions of {campaign}.")


def tidy(
    *,
    store: Store = None,
    days: Annotated[
        float, Parameter(help="How long ago a plan must have been replaced to be forgotten; at least 8.")
    ] = 30.0,
) -> None:
    """Forget plans that were replaced long ago and that no decision names, also while the store serves.

    Request ids that are no longer remembered are forgotten too, as a service that runs does by itself. Decisions,
    rewards and the plans that decisions were drawn from stay.
    """
    needs_service()
    from arcbandit.service.tidying import tidied

    found = tidied(_store(store), days)
    print(f"Forgot {found.plans:,} plans and {found.requests:,} request ids; {found.plans_left:,} plans are left.")


def _rows(reader: "Reader", name: str, every: bool) -> Any:
    from arcbandit.inputs.values import known_name
    from arcbandit.service.campaigns import Campaign
    from arcbandit.service.exporting import rows
    from arcbandit.service.identifiers import DecisionIds

    found = {record.name: Campaign(record, plan) for record, plan in reader.campaigns()}
    chosen = found[known_name("campaign", name, found)]
    return rows(reader, chosen, DecisionIds(reader.key()), with_reward=not every)
