"""A service in the process of the test, over a real store, asked through its ASGI application or over a socket."""

import asyncio
import contextlib
import json
import random
import time
from pathlib import Path

import httpx
import msgspec
import uvicorn

from arcbandit.service.dashboard import dashboard_routes
from arcbandit.service.express import ExpressProtocol
from arcbandit.service.http_app import HttpApp
from arcbandit.service.http_routes import Routes
from arcbandit.service.metrics import Metrics
from arcbandit.service.service import Service
from arcbandit.service.sqlite_store import SQLiteStore, add_token
from arcbandit.service.tokens import new_token
from arcbandit.service.upkeep import Upkeep
from arcbandit.service.worker import Question, Reply, encoded, reply_to
from arcbandit.service.worker_client import value_of

FILMS = {"name": "films", "floors": {"house": 0.2, "guest": 0.1}, "contexts": ["phone", "tv"], "reward_bounds": [0, 1]}
ALL = ("decide", "reward", "read", "admin")


class InProcess:
    """Answers as the planner's process does, frames and all, but in this one."""

    def __init__(self, path):
        self._path = path

    async def ask(self, question, timeout=None):
        asked = msgspec.json.decode(encoded(question)[4:], type=Question)
        reply = encoded(await asyncio.to_thread(reply_to, asked, self._path))
        return value_of(msgspec.msgpack.decode(reply[4:], type=Reply))

    async def end(self):
        pass

    async def close(self):
        pass


class Served:
    """A service, and a client of it."""

    def __init__(self, folder: Path, *, clocks=None, tokens=False, limits=None, uniform=None):
        self.path = str(folder / "store.db")
        self.store = SQLiteStore(self.path, clocks=clocks)
        worker = InProcess(self.path)
        self.service = Service(self.store, worker, uniform=random.Random(1).random if uniform is None else uniform)
        self.metrics = Metrics(self.service)
        routes = Routes(self.service, self.metrics)
        self.app = HttpApp(
            self.service, self.metrics, routes.app(dashboard_routes()), limits=limits, is_open=not tokens
        )
        routes.gate = self.app
        self.upkeep = Upkeep(self.service, worker, time.monotonic)
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    async def post(self, path, body, **options):
        """Post JSON, or bytes as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.client.post(path, content=content, **options)

    async def get(self, path, **options):
        return await self.client.get(path, **options)

    async def decide(self, context="tv", **others):
        response = await self.post("/v1/campaigns/films/decide", {"context": context, **others})
        assert response.status_code == 200, response.text
        return response.json()

    async def reward(self, decision_id, reward):
        return await self.post("/v1/campaigns/films/rewards", {"decision_id": decision_id, "reward": reward})

    async def totals(self):
        return (await self.service.statistics("films")).pairs

    def token(self, name, *scopes):
        text, record = new_token(name, scopes, 0)
        add_token(self.path, record)
        return {"authorization": f"Bearer {text}"}


@contextlib.asynccontextmanager
async def serving(folder, *, campaign=FILMS, **options):
    """A service with a campaign, if one is given."""
    served = Served(folder, **options)
    try:
        await served.service.load()
        if campaign is not None and campaign["name"] not in served.service.campaigns:
            from arcbandit.service.api_types import CreateCampaign

            await served.service.create(msgspec.convert(campaign, CreateCampaign))
        yield served
    finally:
        await served.client.aclose()
        await served.store.close()


@contextlib.asynccontextmanager
async def listening(served):
    """The port on which a service is asked over HTTP, by the parser and the short way of a service that runs."""
    config = uvicorn.Config(
        served.app,
        port=0,
        http=ExpressProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
    )
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server.serve())
    try:
        async with asyncio.timeout(60):
            while not server.started:
                assert not serving.done(), "the service did not start"
                await asyncio.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        async with asyncio.timeout(60):
            await serving
