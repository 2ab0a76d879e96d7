"""Take the picture of the dashboard: python -m docs.generate_dashboard. Needs Chromium and Pillow."""

import base64
import contextlib
import io
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from tests.experiments.chromium import Chromium

PICTURE = Path(__file__).with_name("dashboard.png")
SIZE = (1280, 1340)
LEARNT = 60.0  # seconds of visits before the picture is taken
SETTLED = 9.0  # seconds that the page is open before
COLOURS = 96  # enough for this page, and a small file


@contextlib.contextmanager
def demo() -> Iterator[str]:
    """The address of a demo that runs meanwhile."""
    process = subprocess.Popen([sys.executable, "-m", "arcbandit", "demo"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None, "the demo did not start"
        yield found[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def main() -> None:
    """Let the demo learn for a while, and take the picture."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    assert browser is not None, "the picture needs Chromium"
    with demo() as address, tempfile.TemporaryDirectory() as folder:
        time.sleep(LEARNT)
        tab = Chromium(browser, Path(folder) / "profile")
        tab.ask("Emulation.setDeviceMetricsOverride", width=SIZE[0], height=SIZE[1], deviceScaleFactor=1, mobile=False)
        tab.ask("Emulation.setScrollbarsHidden", hidden=True)
        tab.ask("Page.navigate", url=address)
        time.sleep(SETTLED)
        raw = io.BytesIO(base64.b64decode(tab.ask("Page.captureScreenshot")["data"]))
        tab.close()
        with Image.open(raw) as picture:
            picture.convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)
    print(f"{PICTURE.name} has {PICTURE.stat().st_size:,} bytes.")


if __name__ == "__main__":
    main()
