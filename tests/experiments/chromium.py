"""Chromium, driven through a pipe: pages opened, looked into, pointed at and typed on as a reader would."""

import base64
import json
import os
import shutil
import subprocess
import time

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
PATIENCE = 120  # seconds
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


class Chromium:
    """One tab. `messages` are what its console and its errors said."""

    def __init__(self, executable, profile):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def as_three_and_four():
            # Copies first: a pipe may itself be 3 or 4.
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self._process = subprocess.Popen(
            [executable, *FLAGS, f"--user-data-dir={profile}"],
            preexec_fn=as_three_and_four,
            close_fds=False,
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
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def close(self):
        """End the process."""
        self._process.terminate()
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
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self):
        while b"\0" not in self._unread:
            more = os.read(self._in, 1 << 20)
            assert more, "Chromium went away"
            self._unread += more
        one, _, self._unread = self._unread.partition(b"\0")
        message = json.loads(one)
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
        while self.look("[location.href, document.readyState]") != [address, "complete"]:
            assert time.monotonic() < deadline, "the page did not load"
            time.sleep(0.05)

    def look(self, expression):
        """The value of an expression of JavaScript, which may be a promise."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

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
