"""The dashboard as a real browser shows it, on a laptop and on a phone, and as a reader uses it."""

import json
import re

import pytest

from tests.service.browser import Open, Tab

pytestmark = pytest.mark.slow  # a browser is started for it

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
CONTEXTS = ["phone", "tv"]
SHOP = {
    "name": "shop",
    "floors": {"house": 0.3, "guest": 0.1},
    "contexts": CONTEXTS,
    "group_floors": [{"name": "both", "arms": ["house", "guest"], "floor": 0.2}],
    "noise_scale": 0.02,
}
HOSTILE = [
    "<img src=x onerror=\"window.hacked='image'\">",
    "\"><script>window.hacked='script'</script>",
    "\u202eevil\u202d \u200fright to left",
    "m" * 200,
]
LOOK = """({
  // What lies beyond the right edge of the page, but for what scrolls in its own box by design.
  overflow: [...document.querySelectorAll('body *')].filter((one) => one.checkVisibility()
    && !one.parentElement.closest('.scroll, pre') && !one.closest('.unseen, .skip')
    && one.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((one) => one.outerHTML),
  unnamed: [...document.querySelectorAll('a, button, input, select, summary, svg, [role=region], table')]
    .filter((one) => one.checkVisibility() && !(one.getAttribute('aria-label')?.trim() || one.labels?.[0]?.innerText
      || document.getElementById(one.getAttribute('aria-labelledby'))?.innerText || one.caption?.innerText
      || one.textContent.trim())).map((one) => one.outerHTML),
  regions: [...document.querySelectorAll('[aria-live], [role=status], [role=alert], output')].map((one) => one.id),
})"""
# Every element with text of its own, its contrast with what is behind it, and whether its letters are large.
CONTRAST = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (text) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((one) => one / 255)
    .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const found = rgb(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255, 255];
  };
  const told = (one) => [...one.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  return [...document.querySelectorAll('body *')]
    .filter((one) => one.checkVisibility() && !one.closest('.unseen, .skip') && told(one)).map((one) => {
    const style = getComputedStyle(one);
    const [a, b] = [light(rgb(one instanceof SVGElement ? style.fill : style.color)), light(behind(one))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    return [one.textContent.slice(0, 30), ratio, parseFloat(style.fontSize)];
  });
})()"""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service with four campaigns: one that goes well, one of hostile names, one out of reach, one without visits."""
    served = Open(tmp_path_factory.mktemp("service"))
    served.create(SHOP)
    hostile = dict.fromkeys(HOSTILE, 0.05)
    groups = [{"name": "<b>both</b>", "arms": HOSTILE[:2], "floor": 0.1}]
    served.create(
        {"name": "hostile", "floors": hostile, "contexts": HOSTILE[:3], "group_floors": groups, "noise_scale": 0.02}
    )
    served.create({"name": "beyond", "floors": {"house": 0.6, "guest": 0.5}, "contexts": CONTEXTS, "noise_scale": 0.02})
    served.create({"name": "silent", "floors": {"house": 0.6, "guest": 0.5}, "contexts": CONTEXTS})
    means = {"house": 0.8, "guest": 0.4, **dict.fromkeys(HOSTILE, 0.5)}
    for name, contexts, rounds in (("shop", CONTEXTS, 20), ("hostile", HOSTILE[:3], 15), ("beyond", CONTEXTS, 20)):
        served.visit(name, contexts, means, rounds)
        served.plan(name)
    yield served
    served.close()


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    opened = Tab(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def shop(tab, service):
    """The campaign that goes well, on a laptop, freshly opened."""
    tab.visit(f"{service.url}/#shop")
    return tab


def _numbers(text):
    return [float(one.replace(",", "")) for one in re.findall(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?", text)]


def _close(shown, value):
    """Whether a number is that of the API, as far as it is shown."""
    return shown == pytest.approx(value, rel=6e-4, abs=1e-9)


def _move(tab, name, steps):
    """Move the slider of a floor with the keyboard."""
    place = tab.texts("#sliders label").index(name)
    tab.look(f"document.querySelectorAll('#sliders input')[{place}].focus()")
    for _ in range(abs(steps)):
        tab.press("ArrowRight" if steps > 0 else "ArrowLeft")


def test_the_numbers_are_those_of_the_api(shop, service):
    """The sentence, the facts, every cell of the heat-map, every promise with its price, and every chart."""
    plan, status = service.get("shop", "/plan"), service.get("shop", "/status")
    cost = (plan["revenue_without_floors"] - plan["revenue_with_floors"]) / plan["revenue_without_floors"]
    kept = sum(floor["state"] == "kept" for floor in status["floors"])
    said = _numbers(shop.text("#verdict"))
    assert said[:2] == [kept, len(status["floors"])]
    assert said[-1] == round(100 * cost, 1)
    facts = {key: shop.texts(f"[data-fact={key}] dd") for key in ("revenue", "cost", "plan", "decisions", "rewards")}
    assert _close(_numbers(facts["revenue"][0])[0], plan["expected_revenue"])
    assert _close(_numbers(facts["cost"][0])[0], plan["revenue_without_floors"] - plan["revenue_with_floors"])
    assert f"version {plan['version']}" in facts["plan"][1]
    assert "proven optimal" in facts["plan"][1]
    assert _numbers(facts["decisions"][1]) == [status["decisions"]]
    assert _numbers(facts["rewards"][1]) == [status["rewards"]]
    assert status["rewards"] >= 40
    shares = [float(one) / 100 for one in shop.texts("#allocation td b")]
    assert shares == pytest.approx([share for row in plan["allocation"] for share in row], abs=0.0051)
    rows = shop.look(
        "[...document.querySelectorAll('#promises tbody tr')]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    for (name, earned, price), floor, state in zip(rows, plan["floors"], status["floors"], strict=True):
        assert floor["name"] in name
        assert state["state"] in name
        expected, promised = _numbers(earned)
        assert _close(expected, floor["expected"])
        assert _close(promised, floor["floor"])
        assert _numbers(price)[0] == pytest.approx(floor["price"], rel=6e-3, abs=1e-9)
    labels = shop.look("[...document.querySelectorAll('#timeline svg')].map((one) => one.ariaLabel)")
    for label, floor in zip(labels, plan["floors"], strict=True):
        expected, low, high, promised = _numbers(label)
        assert label.startswith(f"\u2068{floor['name']}\u2069")
        assert (_close(expected, floor["expected"]), _close(promised, floor["floor"])) == (True, True)
        assert [low, high] == pytest.approx([floor["low"], floor["high"]], rel=6e-3)


def test_prices_of_degenerate_plans_are_intervals(shop):
    """From what the last unit costs to what one more would; plans of before there were intervals have one price."""
    for floor, text in (
        ({"price": 0.5, "price_low": 0.5, "price_high": 0.5}, "0.500"),
        ({"price": 0.5, "price_low": 0, "price_high": 1.5}, "0 to 1.50"),
        ({"price": 0.5, "price_low": 0.25, "price_high": None}, "0.250 or more"),
        ({"price": 0.5, "price_low": None, "price_high": 0.75}, "0.500 to 0.750"),
        ({"price": 0.5}, "0.500"),
        ({"price": None, "price_low": None, "price_high": None}, "–"),
    ):
        assert shop.look(f"import('/dashboard/format.js').then((one) => one.priceOf({json.dumps(floor)}))") == text


def test_it_follows_what_happens(shop, service):
    """Without a reload: new decisions, a new plan, and a longer line."""
    service.visit("shop", CONTEXTS, {"house": 0.7, "guest": 0.6}, 15)
    service.plan("shop")
    status = service.get("shop", "/status")
    shop.until(f"document.querySelector('[data-fact=rewards]').textContent.includes('{status['rewards']} in all')")
    assert _close(
        _numbers(shop.texts("[data-fact=revenue] dd")[0])[0], service.get("shop", "/plan")["expected_revenue"]
    )
    assert "a second" in shop.texts("[data-fact=decisions] dd")[0]
    shop.look("document.getElementById('time-table').open = true")
    shop.until("document.querySelectorAll('#times tbody tr').length >= 2")


def test_sliders_show_another_plan_and_leave_the_campaign_as_it_was(shop, service):
    """Moved by the keyboard; the last answer is that of the last place, whatever came between; reset forgets it."""

    def kept():
        return [service.get("shop", what) | {"age_seconds": 0} for what in ("", "/plan", "/statistics")]

    before = kept()
    assert not shop.look("document.getElementById('tried').checkVisibility()")
    shop.until("document.querySelector('#sliders input')")
    _move(shop, "house", 12)
    shop.until("document.getElementById('tried').checkVisibility()")
    floor = _numbers(shop.texts("#sliders output")[0])[0]
    assert floor > 0.3
    expected = service.client.post("/v1/campaigns/shop/what-if", json={"floors": {"house": floor}}).json()
    shop.until(f"document.querySelector('#whatif-prices td').textContent == {floor}")
    cells = shop.look(
        "[...document.querySelectorAll('#whatif-prices tbody tr')]"
        ".map((row) => [...row.children].slice(1).map((cell) => Number(cell.textContent)))"
    )
    for row, own, now in zip(cells, expected["floors"], before[1]["floors"], strict=True):
        assert row == pytest.approx([own["floor"], own["expected"], now["price"], own["price"]], rel=6e-3, abs=1e-9)
    revenue, now = (_numbers(one)[0] for one in shop.texts("#whatif-facts [data-fact=revenue] dd"))
    assert _close(revenue, expected["revenue_with_floors"])
    assert _close(now, before[1]["revenue_with_floors"])
    shares = [float(one) / 100 for one in shop.texts("#whatif-shares td b")]
    assert shares == pytest.approx([share for row in expected["allocation"] for share in row], abs=0.0051)
    # A hand that moves fast: many places, one answer at the end.
    _move(shop, "guest", 9)
    _move(shop, "guest", -4)
    last = _numbers(shop.texts("#sliders output")[1])[0]
    shop.until(f"document.querySelectorAll('#whatif-prices tbody tr')[1].children[1].textContent == {last}")
    shop.until("document.getElementById('announcer').textContent.includes('With these floors')")
    shop.look("document.getElementById('reset').click()")
    assert not shop.look("document.getElementById('tried').checkVisibility()")
    assert [_numbers(one) for one in shop.texts("#sliders output")] == [[0.3], [0.1], [0.2]]
    assert kept() == before


def test_floors_out_of_reach_are_named(tab, service):
    """In the sentence, and the arms by name with what each could have."""
    tab.visit(f"{service.url}/#beyond")
    plan = service.get("beyond", "/plan")
    assert "out of reach" in tab.text("#verdict")
    assert tab.texts("#alarm bdi") == plan["conflicting_floors"] == ["house", "guest"]
    assert _numbers(tab.text("#alarm"))[0] == round(100 * plan["attainable_share"], 1)
    assert tab.look("document.getElementById('alarm').checkVisibility()")


def test_a_plan_that_is_late_is_told(tab, service):
    """By how much, beside its age and its cadence; and it is said that the last one stays."""
    inside = service.served.service
    overdue = inside.overdue
    inside.overdue = lambda name: 42.0
    try:
        tab.visit(f"{service.url}/#shop")
        age, note = tab.texts("[data-fact=plan] dd")
        assert age.endswith("old, the next 42 s late")
        assert note.endswith("a new one may come every 1.0 s")
        assert "due for 42 seconds" in tab.text("#alarm")
        assert tab.look("document.getElementById('alarm').checkVisibility()")
    finally:
        inside.overdue = overdue
    tab.visit(f"{service.url}/#shop")
    assert "late" not in tab.texts("[data-fact=plan] dd")[0]
    assert not tab.look("document.getElementById('alarm').checkVisibility()")


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_names_are_text(tab, service, width):
    """Markup, quotation marks, directions and 200 letters are shown letter by letter, and do nothing."""
    tab.visit(f"{service.url}/#hostile", width)
    tab.until("document.querySelector('#sliders input')")
    _move(tab, HOSTILE[0], 3)
    tab.until("document.getElementById('tried').checkVisibility()")
    tab.look("document.getElementById('time-table').open = true")
    tab.until("document.querySelectorAll('#times tbody tr').length")
    assert tab.look("window.hacked") is None
    assert tab.look("document.querySelectorAll('main img, main script, main b:not(td b)').length") == 0
    for place in ("#allocation tbody bdi", "#promises bdi", "#timeline bdi", "#sliders bdi", "#whatif-prices bdi"):
        assert tab.texts(place)[:4] == HOSTILE
    assert tab.texts("#promises bdi")[4] == "<b>both</b>"
    assert tab.look(LOOK)["overflow"] == []
    assert tab.messages == []


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out_everything_is_named_and_nothing_is_fetched_elsewhere(tab, service, width):
    """No console message, no other host; live regions are few: one that tells news, and alerts."""
    tab.visit(f"{service.url}/#shop", width)
    tab.until("document.querySelector('#sliders input')")
    _move(tab, "house", 3)
    tab.until("document.getElementById('tried').checkVisibility()")
    found = tab.look(LOOK)
    assert found["overflow"] == []
    assert found["unnamed"] == []
    outputs = [one for one in found["regions"] if one]
    assert sorted(outputs) == ["announcer", "notice", "token-problem"]
    assert tab.messages == []
    assert len(tab.asked) > 10
    assert {url.split("/")[2] for url in tab.asked} == {service.url.split("/")[2]}


def test_a_script_that_somebody_slips_in_does_not_run(shop):
    """The content security policy refuses markup and scripts, so that an oversight in the page would do no harm."""
    refused = shop.look(
        "(() => { try { document.body.innerHTML = '<p>x</p>'; } catch (error) { return error.name; } })()"
    )
    assert refused == "TypeError"
    assert shop.messages != []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_letters_can_be_read_in_light_and_dark(tab, service, scheme):
    """Every text, alarms and what sliders show too, has a contrast of 4.5, or of 3 if its letters are large."""
    tab.visit(f"{service.url}/#beyond", scheme=scheme)
    tab.until("document.querySelector('#sliders input')")
    _move(tab, "guest", -30)
    tab.until("document.getElementById('tried').checkVisibility()")
    tab.look("document.querySelectorAll('*').forEach((one) => one.style.setProperty('transition', 'none'))")
    found = tab.look(CONTRAST)
    assert len(found) > 80
    assert [one for one in found if one[1] < (3 if one[2] >= 24 else 4.5)] == []


def test_the_keyboard_reaches_every_control(shop):
    """Tab goes through the page in its order, shows where it is, and moves a slider."""
    shop.until("document.querySelector('#sliders input')")
    shop.look("document.querySelectorAll('*').forEach((one, at) => { one.dataset.at = at; })")
    shop.look("document.activeElement.blur()")
    visited = []
    for _ in range(30):
        shop.press("Tab")
        kind, at, outline = shop.look(
            "[document.activeElement.type ?? document.activeElement.id, Number(document.activeElement.dataset.at),"
            " getComputedStyle(document.activeElement).outlineWidth]"
        )
        if kind == "range":
            break
        visited.append(at)
        assert outline == "3px"
    assert kind == "range"
    assert visited == sorted(set(visited))
    before = shop.texts("#sliders output")[0]
    shop.press("ArrowRight")
    assert shop.texts("#sliders output")[0] != before


def test_a_lost_connection_is_said_and_comes_back(shop):
    """What is shown stays, marked as old; the page goes on by itself."""
    offline = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    shop.ask("Network.emulateNetworkConditions", offline=True, **offline)
    shop.until("document.getElementById('notice').checkVisibility()")
    assert "connection to the service is lost" in shop.text("#notice")
    assert shop.text("#verdict")
    shop.ask("Network.emulateNetworkConditions", offline=False, **offline)
    shop.until("!document.getElementById('notice').checkVisibility()")
    assert shop.text("#link-word") == "live"
    shop.until("document.getElementById('announcer').textContent === 'Connected again.'")


def test_a_campaign_without_visits_says_what_to_do(tab, service):
    """And can be chosen from the list, which the address follows."""
    tab.visit(f"{service.url}/")
    assert tab.texts("#campaign option") == ["beyond", "hostile", "shop", "silent"]
    tab.look("document.getElementById('campaign').value = 'silent'")
    tab.look("document.getElementById('campaign').dispatchEvent(new Event('change')) && null")
    tab.until("document.getElementById('verdict').textContent.includes('no reward yet')")
    assert "/decide" in tab.text("#hint")
    assert tab.texts("#promises .figures") == ["– of 0.6", "– of 0.5"]
    assert tab.look("location.hash") == "#silent"
    assert tab.look(LOOK)["overflow"] == []


def test_a_closed_service_asks_for_a_token(tab, tmp_path):
    """A wrong one is refused in words; a right one opens it, is kept by the tab alone, and is never in an address."""
    closed = Open(tmp_path, tokens=True)
    try:
        token = closed.served.token("dashboard", "read")["authorization"].split()[1]
        closed.run(closed.served.service.load_tokens())
        tab.visit(closed.url, until="document.getElementById('token-form')?.checkVisibility()")
        assert tab.look("document.activeElement.id") == "token"
        for given, condition in (
            ("wrong", "document.getElementById('token-problem').checkVisibility()"),
            ("nötig\u2028", "document.getElementById('token-problem').checkVisibility()"),
            (token, "document.getElementById('empty').checkVisibility()"),
        ):
            tab.look(f"document.getElementById('token').value = {json.dumps(given)}")
            tab.look("document.querySelector('#token-form button').click()")
            tab.until(condition)
        assert "/v1/campaigns" in tab.text("#example")
        assert tab.look("[Object.keys(localStorage).length, document.cookie]") == [0, ""]
        assert token not in "".join(tab.asked) + tab.look("location.href")
        tab.look("document.getElementById('forget').click()")
        tab.until("document.getElementById('token-form')?.checkVisibility()")
        assert tab.look("sessionStorage.length") == 0
    finally:
        closed.close()
