"""The page of a reproduction as a real browser shows it, on a laptop and on a phone."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from arcbandit.experiments import many_epochs
from arcbandit.experiments.reproduce import EXPERIMENTS, reproduce, save

pytestmark = pytest.mark.slow  # a reproduction is made for it

WIDTHS = (1280, 390)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--allow-file-access-from-files",
    "--enable-logging=stderr",
    "--virtual-time-budget=20000",
)
# Looks into the page at each width; the page itself allows no scripts.
LOOK = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const found = [];
async function look(width) {
  const frame = document.createElement("iframe");
  frame.style.width = width + "px"; frame.style.height = "900px"; frame.style.border = "0";
  const loaded = new Promise((done) => { frame.onload = done; });
  frame.src = "index.html";
  document.body.append(frame);
  await loaded;
  const page = frame.contentDocument;
  const images = [...page.images];
  await Promise.all(images.map((image) => image.decode().catch(() => null)));
  found.push({
    width,
    overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    images: images.map((image) => ({
      alt: image.alt, drawn: image.complete && image.naturalWidth > 0, shown: image.getBoundingClientRect().width })),
    claims: [...page.querySelectorAll("[data-claim]")].map((item) => ({
      name: item.dataset.claim, outcome: item.dataset.outcome, shown: item.innerText,
      tag: item.querySelector(".verdict").innerText })),
    links: [...page.querySelectorAll("a")].map((link) => page.getElementById(link.hash.slice(1)) !== null),
    text: page.body.innerText,
  });
  frame.remove();
}
(async () => {
  for (const width of WIDTHS) await look(width);
  const report = document.createElement("pre");
  report.id = "report"; report.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(found))));
  document.body.append(report);
})();
</script></body>"""


@pytest.fixture(scope="module")
def browser():
    """Chromium, which CI must have."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        reason = "no Chromium on this machine, in which the page would be looked at"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A small reproduction of everything, with many epochs as if a GPU had played them, and its folder."""
    folder = tmp_path_factory.mktemp("reproduction")
    found = reproduce(horizon=200, epochs=2, seed=4)
    first, *others = found.results
    over_many = reproduce([many_epochs.NAME], horizon=200, epochs=20, seed=4).results
    found = replace(found, results=(first, *over_many, *others))
    save(found, folder)
    return found, folder


def _open(browser, file, profile):
    arguments = [browser, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", file.as_uri()]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=True)


def _console(done):
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture(scope="module")
def seen(browser, made, tmp_path_factory):
    """What the browser sees at each width."""
    import base64

    _, folder = made
    look = folder / "look.html"
    look.write_text(LOOK.replace("WIDTHS", json.dumps(WIDTHS)), encoding="utf-8")
    done = _open(browser, look, tmp_path_factory.mktemp("profile"))
    report = re.search(r'<pre id="report">([^<]+)</pre>', done.stdout)
    assert report is not None, done.stderr
    return {one["width"]: one for one in json.loads(base64.b64decode(report[1]))}


def test_nothing_is_reported_in_the_console(browser, made, tmp_path):
    """Opened as a file, offline. A page with an error shows that errors would be seen."""
    _, folder = made
    assert _console(_open(browser, folder / "index.html", tmp_path / "profile")) == []
    broken = tmp_path / "broken.html"
    broken.write_text("<!DOCTYPE html><script>nothing.here()</script>", encoding="utf-8")
    assert _console(_open(browser, broken, tmp_path / "profile"))


@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_is_drawn_and_described(seen, made, width):
    """Each chart of each experiment, as wide as it can be read."""
    found, _ = made
    charts = [chart for result in found.results for chart in result.figure.charts]
    images = seen[width]["images"]
    assert len(images) == len(charts)
    assert all(image["drawn"] for image in images)
    assert all(image["shown"] > 300 for image in images)
    assert all(chart.title in image["alt"] for chart, image in zip(charts, images, strict=True))


@pytest.mark.parametrize("width", WIDTHS)
def test_every_verdict_is_shown_with_its_number(seen, made, width):
    """In the order of the experiments."""
    found, _ = made
    claims = seen[width]["claims"]
    assert [claim["name"] for claim in claims] == [verdict.name for verdict in found.verdicts]
    for claim, verdict in zip(claims, found.verdicts, strict=True):
        assert claim["outcome"] == claim["tag"] == verdict.outcome.value
        assert " ".join(verdict.number.split()) in " ".join(claim["shown"].split())
    assert len(found.results) == len(EXPERIMENTS)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out_and_links_lead_somewhere(seen, width):
    """The page does not scroll sideways, states its settings, and its links have targets."""
    assert seen[width]["overflow"] <= 0
    assert all(seen[width]["links"])
    assert all(word in seen[width]["text"] for word in ("seed", "versions", "numba", "rounds played", "Over 20 epochs"))
