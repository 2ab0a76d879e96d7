"""Chromium, driven through a pipe: pages opened, looked into, pointed at and typed on as a reader would."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # which is small in containers: a page that does not fit crashes
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
PATIENCE = 120  # seconds
# Gives Chromium its pipes as 3 and 4. In a process of its own: code between fork and exec may wait for a lock that
# another thread of the tests held. Copies first, for a pipe may itself be 3 or 4.
START = """
import os, sys
reading, writing = (os.dup(int(one)) for one in sys.argv[1:3])
os.dup2(reading, 3)
os.dup2(writing, 4)
for one in (3, 4):
    os.set_inheritable(one, True)
os.execv(sys.argv[3], sys.argv[3:])
"""
KEYS = {"Tab": 9, "Enter": 13, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}


def find_chromium():
    """The program, which CI must have; elsewhere a test is skipped without it."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        reason = "no Chromium on this machine, in which the page would be looked at"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


class Navigated(AssertionError):
    """The page that was asked has made room for another."""


class Chromium:
    """One tab. `messages` are what its console and its errors said."""

    def __init__(self, executable, profile):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-S",
                "-c",
                START,
                str(to_browser),
                str(from_browser),
                executable,
                *FLAGS,
                f"--user-data-dir={profile}",
            ],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._unread = b""
        self._last = 0
        self._session = None
        self.messages = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Inspector"):
            self.ask(f"{domain}.enable")

    def close(self):
        """End the process."""
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(PATIENCE)
        os.close(self._in)
        os.close(self._out)

    def ask(self, method, **parameters):
        """Send a command and return its result."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._next(method, deadline)
            if answer.get("id") == self._last:
                if "navigated" in answer.get("error", {}).get("message", ""):
                    raise Navigated(answer)
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self, method, deadline):
        while b"\0" not in self._unread:
            readable, _, _ = select.select([self._in], [], [], max(deadline - time.monotonic(), 0.0))
            assert readable, f"Chromium did not answer {method} within {PATIENCE} s"
            more = os.read(self._in, 1 << 20)
            assert more, "Chromium went away"
            self._unread += more
        one, _, self._unread = self._unread.partition(b"\0")
        message = json.loads(one)
        assert message.get("method") != "Inspector.targetCrashed", f"the tab crashed at {method}"
        if message.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.messages.append(message["params"])
        return message

    def open(self, path, width=1280, height=800, *, scripts=True, query=""):
        """Open a file at this size and wait until it is there."""
        address = path.as_uri() + query
        self.messages.clear()
        phone = width < 600
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.ask("Page.navigate", url=address)
        deadline = time.monotonic() + PATIENCE
        while self.look_now("[location.href, document.readyState]") != [address, "complete"]:
            assert time.monotonic() < deadline, "the page did not load"
            time.sleep(0.05)

    def look(self, expression):
        """The value of an expression of JavaScript, which may be a promise."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def look_now(self, expression):
        """The same, or None if another page came in its place while it was looked at: whoever waits looks again."""
        try:
            return self.look(expression)
        except Navigated:
            return None

    def point(self, x, y, *, press=False):
        """Move the pointer there and, if asked, press its button."""
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if press else ():
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key):
        """Press a key and release it."""
        code = {"windowsVirtualKeyCode": KEYS[key], "code": "Space" if key == " " else key, "key": key}
        text = {"Enter": "\r", " ": " "}.get(key)
        self.ask(
            "Input.dispatchKeyEvent",
            type="keyDown" if text else "rawKeyDown",
            **code,
            **({"text": text} if text else {}),
        )
        self.ask("Input.dispatchKeyEvent", type="keyUp", **code)

    def printed(self):
        """The page as it would be printed, as PDF."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"])
