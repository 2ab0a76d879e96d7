"""A service that a browser can open, in a thread of the test, and a tab that notes what the page asks for."""

import asyncio
import os
import random
import shutil
import threading
import time
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest
import uvicorn

from arcbandit.service.api_types import CreateCampaign
from tests.experiments.chromium import Chromium
from tests.service.served import Served

PATIENCE = 60  # seconds, on a machine that does other things


def executable():
    """Chromium, which CI must have."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        reason = "no Chromium on this machine, in which the dashboard would be looked at"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


class Open:
    """A service with its dashboard at `url`; plans are made only when `plan` is called, so that numbers stand still."""

    def __init__(self, folder, *, tokens=False):
        self._began = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=(self._serve(folder, tokens),), daemon=True
        )
        self._thread.start()
        assert self._began.wait(PATIENCE), "the service did not start"
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE)
        self._chance = random.Random(5)

    async def _serve(self, folder, tokens):
        self.served = Served(folder, tokens=tokens, uniform=random.Random(4).random)
        await self.served.service.load()
        self._server = uvicorn.Server(
            uvicorn.Config(self.served.app, port=0, ws="none", lifespan="off", log_config=None, access_log=False)
        )
        serving = asyncio.ensure_future(self._server.serve())
        while not self._server.started:
            assert not serving.done(), "the service did not start"
            await asyncio.sleep(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._began.set()
        await serving
        await self.served.client.aclose()
        await self.served.store.close()

    def run(self, work):
        """Do something in the loop of the service."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def create(self, campaign):
        self.run(self.served.service.create(msgspec.convert(campaign, CreateCampaign)))

    def visit(self, name, contexts, means, rounds):
        """Decide in each context so often, and reward with the means by arm and a little noise."""
        rewards = []
        for context in contexts * rounds:
            made = self.client.post(f"/v1/campaigns/{name}/decide", json={"context": context}).json()
            reward = means[made["arm"]] + 0.02 * self._chance.random()
            rewards.append({"decision_id": made["decision_id"], "reward": reward})
        self.client.post(f"/v1/campaigns/{name}/rewards", json={"rewards": rewards}).raise_for_status()

    def plan(self, name):
        self.run(self.served.upkeep.plan_once(name))

    def get(self, name, what):
        return self.client.get(f"/v1/campaigns/{name}{what}").raise_for_status().json()

    def close(self):
        self.client.close()
        self._server.should_exit = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the service did not end"
        self._loop.close()


class Tab(Chromium):
    """A tab; `asked` are the addresses that its pages asked for."""

    def __init__(self, profile):
        self.asked = []
        super().__init__(executable(), profile)
        self.ask("Network.enable")

    def _next(self, method, deadline):
        message = super()._next(method, deadline)
        if message.get("method") == "Network.requestWillBeSent":
            self.asked.append(message["params"]["request"]["url"])
        return message

    def visit(self, url, width=1280, *, scheme="light", until="document.body?.dataset.version !== undefined"):
        """Open a page and wait until it shows how the promises stand, or until something else."""
        self.ask("Page.navigate", url="about:blank")
        self.until("location.href === 'about:blank'")
        self.messages.clear()
        self.asked.clear()
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=850, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Page.navigate", url=url)
        self.until(f"location.origin === '{_origin(url)}' && ({until})")

    def until(self, condition):
        """Wait until an expression is true."""
        deadline = time.monotonic() + PATIENCE
        while not self.look_now(f"Boolean({condition})"):
            assert time.monotonic() < deadline, f"it did not come true: {condition}"
            time.sleep(0.05)

    def text(self, selector):
        return self.look(f"document.querySelector({selector!r}).textContent")

    def texts(self, selector):
        return self.look(f"[...document.querySelectorAll({selector!r})].map((one) => one.textContent)")


def _origin(url):
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
