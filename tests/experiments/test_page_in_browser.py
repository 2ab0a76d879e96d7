"""The page of a reproduction as a real browser shows it, on a laptop and on a phone, and as a reader uses it."""

import json
import re
from dataclasses import replace

import pytest

from arcbandit.experiments import many_epochs
from arcbandit.experiments.reproduce import EXPERIMENTS, reproduce, save
from arcbandit.experiments.telling import draw
from tests.experiments.chromium import Chromium, find_chromium

pytestmark = pytest.mark.slow  # a reproduction is made for it

WIDTHS = (1280, 390)
LOOK = """(async () => {
  await Promise.all([...document.images].map((image) => image.decode().catch(() => null)));
  return {
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    figures: [...document.querySelectorAll(".experiment figure")].map((figure) => {
      const shown = figure.querySelector("img, svg");
      return { alt: shown && (shown.alt ?? shown.getAttribute("aria-label")), words: figure.innerText,
        drawn: shown && (shown.tagName === "svg" || shown.naturalWidth > 0),
        width: shown && shown.getBoundingClientRect().width }; }),
    claims: [...document.querySelectorAll("[data-claim]")].map((row) => ({
      name: row.dataset.claim, group: row.dataset.group, failed: row.dataset.failed, shown: row.innerText })),
    links: [...document.querySelectorAll("a")].map((link) => [link.getAttribute("href"),
      link.hash ? document.getElementById(link.hash.slice(1)) !== null : null]),
    text: document.body.innerText,
  };
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Chromium, which CI must have."""
    tab = Chromium(find_chromium(), tmp_path_factory.mktemp("profile"))
    yield tab
    tab.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A small reproduction of everything, with many epochs as if a GPU had played them, and its folder."""
    folder = tmp_path_factory.mktemp("reproduction")
    found = reproduce(horizon=200, epochs=2, seed=4)
    first, *others = found.results
    over_many = reproduce([many_epochs.NAME], horizon=200, epochs=20, seed=4).results
    found = replace(found, results=(first, *over_many, *others))
    # Files for print take most of the time, and are looked at elsewhere: here those of the first experiment must do.
    first, *others = found.results
    save(found, folder, [draw(first), *(draw(one, quick=True) for one in others)])
    return found, folder


@pytest.fixture(scope="module")
def page(made):
    return made[1] / "index.html"


@pytest.fixture(scope="module")
def results(made):
    return json.loads((made[1] / "results.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def seen(browser, page):
    """What the browser sees at each width."""
    found = {}
    for width in WIDTHS:
        browser.open(page, width)
        found[width] = browser.look(LOOK)
    return found


@pytest.fixture
def opened(browser, page):
    """The page on a laptop, freshly opened."""
    browser.open(page)
    return browser


def _inside(browser, selector):
    """The middle of the first such element, after scrolling to it."""
    box = browser.look(
        f"(() => {{ const one = document.querySelector({selector!r}); one.scrollIntoView({{block: 'center'}});"
        "const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    return box[0], box[1]


def _text(browser, selector):
    return browser.look(f"document.querySelector({selector!r}).textContent")


def _count(browser, selector):
    return browser.look(f"document.querySelectorAll({selector!r}).length")


def test_nothing_is_reported_in_the_console(browser, page, tmp_path):
    """Opened as a file, offline. A page with an error shows that errors would be seen."""
    browser.open(page)
    assert browser.messages == []
    broken = tmp_path / "broken.html"
    broken.write_text("<!DOCTYPE html><script>nothing.here()</script>", encoding="utf-8")
    browser.open(broken)
    assert browser.messages


def test_only_its_own_script_runs_and_nothing_is_fetched(browser, page, tmp_path):
    """A script that somebody adds to the page does not run, and an image from elsewhere is not asked for."""
    changed = tmp_path / "changed.html"
    added = "<script>document.title = 'changed'</script><img src='https://example.invalid/one.png'></body>"
    changed.write_text(page.read_text(encoding="utf-8").replace("</body>", added), encoding="utf-8")
    browser.open(changed)
    assert browser.look("document.title") != "changed"
    reported = json.dumps(browser.messages)
    assert "script-src" in reported
    assert "img-src" in reported


@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_is_drawn_and_described(seen, made, width):
    """Each chart of each experiment, as wide as it can be read; one that is zero throughout is said to be."""
    found, _ = made
    charts = [chart for result in found.results for chart in result.figure.charts]
    figures = seen[width]["figures"]
    assert len(figures) == len(charts)
    for chart, figure in zip(charts, figures, strict=True):
        if "Not drawn: zero throughout" in figure["words"]:
            assert chart.title in figure["words"]
            continue
        assert figure["drawn"]
        assert figure["width"] > 300
        assert chart.title in figure["alt"]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_claim_is_shown_with_both_outcomes(seen, made, width):
    """Grouped by where it stands; with the number behind each statement."""
    found, _ = made
    claims = {claim["name"]: claim for claim in seen[width]["claims"]}
    groups = [claim["group"] for claim in seen[width]["claims"]]
    assert sorted(claims) == sorted(verdict.name for verdict in found.verdicts)
    assert groups == sorted(groups, key=list(dict.fromkeys(groups)).index)
    for verdict in found.verdicts:
        claim = claims[verdict.name]
        assert claim["group"] == verdict.group.value
        assert claim["failed"] == str(verdict.failed).lower()
        shown = " ".join(claim["shown"].split())
        assert " ".join(verdict.claim.sentence.split()) in shown
        for measured in (verdict.paper, verdict.ours):
            if measured is not None:
                assert " ".join(measured.number.split()) in shown
                assert ("holds" if measured.passed else "does not hold") in shown
    assert len(found.results) == len(EXPERIMENTS)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out_and_links_lead_somewhere(seen, page, width):
    """The page does not scroll sideways, states its settings, and its links have targets."""
    assert seen[width]["overflow"] <= 0
    for target, inside in seen[width]["links"]:
        if inside is None:
            assert target.startswith("https://arxiv.org/") or (page.parent / target).is_file()
        else:
            assert inside, target
    assert all(word in seen[width]["text"] for word in ("seed", "versions", "numba", "rounds played", "Over 20 epochs"))


def test_the_first_figure_is_visible_without_scrolling(opened):
    """Regret and violation, on a laptop."""
    bottoms = opened.look(
        "[...document.querySelectorAll('.first-figure svg')].map((one) => one.getBoundingClientRect().bottom)"
    )
    assert len(bottoms) == 2
    assert max(bottoms) <= 800


def test_pointing_at_a_chart_reads_out_the_numbers_of_the_results(opened, results):
    """At the place nearest to the pointer, of every line."""
    x, y = _inside(opened, "#regret-figure-1 svg")
    opened.point(x, y)
    told = _text(opened, "#regret-figure-1 .readout")
    chart = results["experiments"][0]["charts"][0]
    at = float(re.match(rf"{chart['x_label']} ([\d,.]+): ", told)[1].replace(",", ""))
    for line in chart["lines"]:
        place = line["x"].index(at)
        numbers = re.search(rf"{line['label']} ([\d,.]+) \(([\d,.]+) to ([\d,.]+)\)", told).groups()
        shown = [float(number.replace(",", "")) for number in numbers]
        assert shown == [line[key][place] for key in ("y", "low", "high")]
    first = told
    opened.point(x + 60, y)
    assert _text(opened, "#regret-figure-1 .readout") != first


def test_a_policy_can_be_hidden_and_shown_again(opened):
    """By its button, with the pointer; the axis then fits what is left."""
    chart = "#regret-figure-1"
    before = opened.look(f"document.querySelector('{chart} svg').innerHTML")
    assert _count(opened, f"{chart} path.line") == 3
    button = f"{chart} button[data-line='1']"
    opened.point(*_inside(opened, button), press=True)
    assert _count(opened, f"{chart} path.line") == 2
    assert opened.look(f'document.querySelector("{button}").ariaPressed') == "false"
    opened.point(*_inside(opened, button), press=True)
    assert opened.look(f"document.querySelector('{chart} svg').innerHTML") == before


def test_axes_can_be_logarithmic(opened):
    """Either axis; the line is another one then."""
    chart = "#regret-figure-1"
    shapes = {opened.look(f"document.querySelector('{chart} path.line').getAttribute('d')")}
    for axis in ("x", "y"):
        opened.point(*_inside(opened, f"{chart} button[data-axis='{axis}']"), press=True)
        shapes.add(opened.look(f"document.querySelector('{chart} path.line').getAttribute('d')"))
    assert len(shapes) == 3
    assert "NaN" not in "".join(shapes)


def test_the_slider_moves_along_the_dial(opened, results):
    """With the keyboard; the numbers are those of the results, and the point is marked."""
    charts = results["experiments"][0]["charts"]
    place = next(place for place, chart in enumerate(charts) if any("point_names" in line for line in chart["lines"]))
    line = charts[place]["lines"][0]
    chart = f"#regret-figure-{place + 1}"
    opened.look(f"document.querySelector('{chart} input[type=range]').focus()")
    told = {}
    opened.press("Home")
    for index, name in enumerate(line["point_names"]):
        text = _text(opened, f"{chart} output")
        told[text] = opened.look(f"document.querySelector('{chart} circle.chosen').getAttribute('cx')")
        numbers = [
            float(number.replace(",", "")) for number in re.findall(r"(?<= )[\d,]+\.?\d*", text.partition(": ")[2])
        ]
        assert name in text
        assert numbers == [line["x"][index], line["y"][index]]
        opened.press("ArrowRight")
    assert len(told) == len(line["point_names"])


def test_everything_can_be_reached_and_used_with_the_keyboard(opened):
    """Tab visits every link, button, slider and chart in the order of the page; keys do what the pointer does."""
    wanted = opened.look(
        "[...document.querySelectorAll('a, button, summary, input, svg[tabindex]')]"
        ".filter((one) => one.checkVisibility()).length"
    )
    opened.look("document.querySelectorAll('a, button, summary, input, svg').forEach((one, at) => one.dataset.at = at)")
    visited = []
    for _ in range(60):
        opened.press("Tab")
        visited.append(int(opened.look("document.activeElement.dataset.at ?? -1")))
    assert -1 not in visited
    assert visited == sorted(set(visited))
    assert wanted > len(visited)
    opened.look("document.querySelector('#regret-figure-1 button').focus()")
    opened.press(" ")
    assert _count(opened, "#regret-figure-1 path.line") == 2
    opened.look("document.querySelector('#regret-figure-1 svg').focus()")
    opened.press("End")
    last = _text(opened, "#regret-figure-1 .readout")
    assert last.startswith("round t 200: ")
    opened.press("ArrowLeft")
    assert _text(opened, "#regret-figure-1 .readout") != last
    unnamed = opened.look(
        "[...document.querySelectorAll('a, button, input, svg[role]')].filter((one) => !(one.ariaLabel"
        " || one.textContent.trim() || one.labels?.[0]?.innerText || one.querySelector?.('img')?.alt)).length"
    )
    assert unnamed == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_whole_without_scripts(browser, page, made, width):
    """Every chart is an image then."""
    browser.open(page, width, scripts=False)
    markup = browser.ask("Runtime.evaluate", expression="document.documentElement.outerHTML", returnByValue=True)
    text = markup["result"]["value"]
    assert browser.look("document.querySelectorAll('.live, figure svg').length") == 0
    charts = sum(len(result.figure.charts) for result in made[0].results)
    figures = re.findall(r"<figure id=.*?</figure>", text, flags=re.DOTALL)
    assert len(figures) == charts
    assert all("<img" in figure or "Not drawn" in figure for figure in figures)


def test_it_prints(opened, made):
    """On a sensible number of sheets, with the charts, and without what only a screen can use."""
    opened.ask("Emulation.setEmulatedMedia", media="print")
    controls = opened.look(
        "[...document.querySelectorAll('.controls, nav, .readout')].filter((one) => one.checkVisibility()).length"
    )
    charts = opened.look("[...document.querySelectorAll('.live svg')].filter((one) => one.checkVisibility()).length")
    overflow = opened.look("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    opened.ask("Emulation.setEmulatedMedia", media="")
    assert controls == 0
    assert charts > 10
    assert overflow <= 0
    content = opened.printed()
    sheets = len(re.findall(rb"/Type /Page\b", content))
    assert len(made[0].results) < sheets < 60


def test_the_citation_can_be_copied(opened):
    """The button selects the BibTeX entry."""
    opened.look("document.querySelector('.citation').open = true")
    opened.point(*_inside(opened, ".citation button"), press=True)
    assert "benyahmed2025" in opened.look("getSelection().toString()")
