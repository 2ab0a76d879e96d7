"""The documentation as a site: complete, linked, and of nobody else's making when it is read."""

import importlib
import json
import re
import shutil
from html import unescape

import pytest

import arcbandit
from docs import generate_home, generate_http_api
from docs.site.checking import external_links, problems_of, read_page
from docs.site.contents import DOCS, PAGES, SECTIONS
from docs.site.diagrams import graph_of, layers_of, svg_of
from docs.site.notebooks import FOLDER, notebooks
from docs.site.reference import TOPICS, markdown_of, names_of, signature_of
from docs.site.staging import DeadLinkError, Stage, stage

MODULES = ("arcbandit.rules", "arcbandit.checks", "arcbandit.client")


def public_names():
    """All that users may import, by its full name; a module has a page instead of an entry."""
    own = {f"arcbandit.{name}" for name, home in arcbandit._HOME.items() if home != "arcbandit"}
    for name in MODULES:
        module = importlib.import_module(name)
        offered = getattr(module, "__all__", None) or [topic for topic in TOPICS if topic.module == name]
        own |= {f"{name}.{one}" for one in (offered if isinstance(offered[0], str) else names_of(offered[0]))}
    return own


@pytest.mark.system
class TestBuilt:
    def test_nothing_is_wrong_with_it(self, site):
        """No dead link or anchor, nothing loaded from another host, a way home from every page, none out of reach."""
        assert problems_of(site) == []
        assert len(list(site.rglob("*.html"))) > len(PAGES)

    def test_links_to_other_sites_are_few_and_known(self, site):
        """They are not followed, so that somebody must have looked at them."""
        assert set(external_links(site)) <= {
            "https://github.com/pradyunsg/furo",
            "https://github.com/st-tech/zr-obp",
            "https://github.com/vega/vega-datasets",
            "https://joblib.readthedocs.io",
        }

    def test_every_page_of_the_folder_is_in_the_navigation(self, site):
        """A page that is written but not listed would be found by nobody."""
        listed = {page.path for page in PAGES} | {DOCS / "index.md"}
        assert set(DOCS.glob("*.md")) <= listed
        home = read_page(site / "index.html")
        assert {f"{page.address}.html" for page in PAGES} <= set(home.links)

    def test_the_home_page_leads_three_kinds_of_readers(self, site):
        text = (site / "index.html").read_text(encoding="utf-8")
        assert all(f"I am {who}" in text for who in ("a researcher", "an engineer", "a contributor"))
        assert text.count("<img") == 1
        assert all(section.heading in text for section in SECTIONS)

    def test_the_reference_has_every_public_name_and_no_other(self, site):
        """An entry is what Sphinx lists as one: for search, for its index and for links from other sites."""
        from sphinx.util.inventory import InventoryFile

        found = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
        kinds = ("py:function", "py:class", "py:exception", "py:data")
        entries = {name: item.uri for kind in kinds for name, item in found.get(kind, {}).items()}
        assert set(entries) == public_names()
        assert len(entries) > 100
        for name, address in entries.items():
            page, _, anchor = address.partition("#")
            assert (anchor.replace("$", name) or name) in read_page(site / page).anchors

    def test_types_in_signatures_lead_to_the_right_entry(self, site):
        """`Instance` is that of the package; `Progress`, which only authors of rules import, is no link."""
        links = read_page(site / "reference" / "simulation.html").links
        assert "planning.html#arcbandit.Instance" in links
        assert not any(link.startswith("rules.html#arcbandit.rules.") for link in links)

    def test_entries_say_what_the_docstrings_say(self, site):
        """The first words of each docstring are on its page."""
        for topic in TOPICS:
            text = _words((site / "reference" / f"{topic.name}.html").read_text(encoding="utf-8"))
            module = importlib.import_module(topic.module)
            for name in names_of(topic):
                value = getattr(module, name)
                value = getattr(value, "py_func", value)
                if callable(value) and value.__doc__:
                    first = " ".join(value.__doc__.split("\n\n")[0].split())
                    assert _letters(first) in _letters(text), f"{topic.module}.{name}"

    def test_search_finds_what_is_asked_for(self, site, browser):
        """In a browser, from the disk, without a server; an entry of the reference is found by its name."""
        for asked, page in (("newsvendor", "theory.html"), ("PricedLP", "reference/policies.html")):
            browser.open(site / "search.html", query=f"?q={asked}")
            found = browser.look(
                """new Promise((done) => { const look = () => {
                  const links = [...document.querySelectorAll("#search-results a")].map((a) => a.getAttribute("href"));
                  if (links.length) done(links); else setTimeout(look, 50); };
                  look(); })"""
            )
            assert any(page in link for link in found), (asked, found)

    @pytest.mark.parametrize("width", [1280, 390])
    def test_pages_fit_a_laptop_and_a_phone(self, site, browser, width):
        """No page is wider than the window; what is wide scrolls in itself. Nothing is said in the console."""
        for name in ("index", "theory", "performance", "reference/policies", "http-api", "notebooks/the-paper"):
            browser.open(site / f"{name}.html", width)
            over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert browser.look(over) <= 0, name
            assert browser.messages == []


def _words(html):
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())


def _letters(text):
    return re.sub(r"[^0-9a-z]", "", text.lower())


class TestChecking:
    """What the check would find, if it were there."""

    @pytest.fixture
    def made_up(self, tmp_path):
        (tmp_path / "other.html").write_text('<a href="index.html">home</a><h2 id="here">x</h2>')
        (tmp_path / "index.html").write_text(
            '<a href="other.html#here">o</a><a href="#">top</a><a href="index.html">h</a>'
        )
        assert problems_of(tmp_path) == []
        return tmp_path

    @pytest.mark.parametrize(
        ("added", "said"),
        [
            ('<a href="gone.html">x</a>', "gone.html is not there"),
            ('<a href="other.html#gone">x</a>', "heading that is not there"),
            ('<a href="../outside.html">x</a>', "leads out of the site"),
            ('<img src="gone.png">', "gone.png is not there"),
            ('<script src="https://cdn.example.org/x.js"></script>', "from another host"),
            ('<link rel="stylesheet" href="//fonts.example.org/x.css">', "from another host"),
            ('<link rel="preconnect" href="https://fonts.example.org">', "from another host"),
        ],
    )
    def test_a_bad_link_is_found(self, made_up, added, said):
        page = made_up / "index.html"
        page.write_text(page.read_text() + added)
        [problem] = problems_of(made_up)
        assert said in problem

    def test_a_page_without_a_way_home_is_found(self, made_up):
        (made_up / "other.html").write_text('<h2 id="here">x</h2>')
        assert problems_of(made_up) == ["other.html: has no link back to the home page."]

    def test_a_page_that_nothing_leads_to_is_found(self, made_up):
        shutil.copy(made_up / "other.html", made_up / "alone.html")
        assert problems_of(made_up) == ["alone.html cannot be reached from the home page."]

    def test_a_style_from_elsewhere_is_found(self, made_up):
        (made_up / "x.css").write_text("@font-face { src: url('https://fonts.example.org/x.woff2') }")
        [problem] = problems_of(made_up)
        assert "fonts.example.org" in problem

    def test_an_empty_folder_is_no_site(self, tmp_path):
        assert problems_of(tmp_path) == [f"{tmp_path} has no pages."]


class TestStaging:
    @pytest.mark.slow
    def test_every_page_is_there_and_its_links_lead_to_files(self, tmp_path):
        """All that Sphinx is given, but for what comes of running the notebooks; a dead link would be refused."""
        stage(tmp_path, {f"{FOLDER.name}/{path.stem}": f"# {path.stem}\n" for path in notebooks()})
        assert all((tmp_path / f"{page.address}.md").is_file() for page in PAGES)
        assert set(DOCS.glob("*.md")) <= {page.path for page in PAGES} | {DOCS / "index.md"}
        home = (tmp_path / "index.md").read_text(encoding="utf-8")
        assert all(f"<{page.address}>" in home for page in PAGES)
        for topic in TOPICS:
            text = (tmp_path / "reference" / f"{topic.name}.md").read_text(encoding="utf-8")
            assert all(name in text for name in names_of(topic))

    def test_links_lead_where_things_are_on_the_site(self, tmp_path):
        stage = Stage(tmp_path)
        text = "[a](../ARCHITECTURE.md#rooms) [b](cli.md) [c](https://example.org) ![d](figures/home.svg) [e](#f)"
        mended = stage._mended(text, DOCS / "tutorial.md", "tutorial")
        assert (
            mended == "[a](architecture.md#rooms) [b](cli.md) [c](https://example.org) ![d](figures/home.svg) [e](#f)"
        )
        assert (tmp_path / "figures" / "home.svg").is_file()

    def test_a_file_of_the_repository_gets_a_page(self, tmp_path):
        mended = Stage(tmp_path)._mended("[x](../src/arcbandit/version.py)", DOCS / "tutorial.md", "tutorial")
        assert mended == "[x](files/src/arcbandit/version-py.md)"
        assert "__version__" in (tmp_path / "files/src/arcbandit/version-py.md").read_text()

    def test_code_is_left_alone(self, tmp_path):
        text = "```python\nx[0](gone.md)\n```\n"
        assert Stage(tmp_path)._mended(text, DOCS / "tutorial.md", "tutorial") == text

    @pytest.mark.parametrize(
        "page", sorted([*DOCS.parent.glob("*.md"), *DOCS.glob("*.md")]), ids=lambda page: page.stem
    )
    def test_no_formula_is_broken_into_a_list(self, page):
        """A line of a paragraph that begins with a plus or a star would begin a list; lists begin with a dash."""
        prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        assert not re.findall(r"^ *[+*] .*", prose, flags=re.MULTILINE)

    def test_a_dead_link_is_refused(self, tmp_path):
        with pytest.raises(DeadLinkError, match=r"docs/tutorial.md links to gone.md"):
            Stage(tmp_path)._mended("[x](gone.md)", DOCS / "tutorial.md", "tutorial")


class TestReference:
    def test_examples_of_a_docstring_become_blocks(self):
        doc = "Plan `x`.\n\n>>> plan(1)\n2\n\n>>> plan(2)\n3\n\nThen more of w* and <this>."
        assert markdown_of(doc) == (
            "Plan `x`.\n\n```python\n>>> plan(1)\n2\n\n>>> plan(2)\n3\n```\n\nThen more of w\\* and \\<this>."
        )

    def test_public_names_in_a_docstring_are_links(self):
        assert markdown_of("As `Plan` has.") == "As {py:obj}`Plan <arcbandit.Plan>` has."

    def test_signatures_are_those_of_the_source(self):
        shown = signature_of(arcbandit.plan)
        assert shown.startswith("(instance: Instance")
        assert shown.endswith("-> Plan")
        assert "unknown" not in signature_of(arcbandit.Instance)  # it serves to refuse misspelt names
        assert signature_of(arcbandit.Window) == "(rounds: int)"


def test_the_page_of_the_http_api_is_what_the_service_says():
    """docs/http-api.md is regenerated by `make docs`."""
    assert generate_http_api.PAGE.read_text(encoding="utf-8") == generate_http_api.page()


def test_every_request_and_every_body_is_on_the_page_of_the_http_api():
    api = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
    text = (DOCS / "http-api.md").read_text(encoding="utf-8")
    headings = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    requests = {f"{method.upper()} {path}" for path, methods in api["paths"].items() for method in methods}
    assert headings == requests | set(api["components"]["schemas"])


@pytest.mark.slow
def test_the_picture_of_the_home_page_is_what_the_library_draws():
    """docs/figures/home.svg is drawn by `make docs`."""
    assert generate_home.PICTURE.read_bytes() == generate_home.picture()


class TestDiagrams:
    def test_arrows_point_to_the_right(self):
        graph = graph_of("graph LR\n a --> b --> c & d\n a --> d\n")
        assert graph == {"a": ["b", "d"], "b": ["c", "d"], "c": [], "d": []}
        columns = layers_of(graph)
        assert all(columns[start] < columns[end] for start, ends in graph.items() for end in ends)
        assert svg_of(graph).count("<text") == 4

    def test_another_kind_of_diagram_is_refused(self):
        with pytest.raises(ValueError, match="left to right"):
            graph_of("sequenceDiagram\n a ->> b\n")
