"""The parts of the look in a real browser: readable, reachable, calm, and without JavaScript.

The gallery is not a page of the portal. It is rendered here and served from memory, with the
portal's own static files and its own content security policy.
"""

import mimetypes
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from csp.utils import build_policy
from django.contrib.auth.models import AnonymousUser
from django.template import engines
from django.template.loader import render_to_string
from django.test import RequestFactory
from playwright.sync_api import Browser, Page, Route, sync_playwright

from tests.browser import gallery
from tests.conftest import browser as chromium

HERE = Path(__file__).parent
STATIC = HERE.parents[1] / "static"
AXE = HERE / "vendor" / "axe-core-4.14.1" / "axe.min.js"
ADDRESS = "http://gallery.test"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PANEL = '<section class="panel bad" role="alert" data-panel><h2>Changed meanwhile</h2></section>'
WIDE, NARROW = 1440, 390

pytestmark = [pytest.mark.browser, pytest.mark.enable_socket]


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def html(settings):
    settings.ROOT_URLCONF = "tests.browser.gallery"
    one = {**settings.TEMPLATES[0]}
    settings.TEMPLATES = [{**one, "DIRS": [*one["DIRS"], HERE]}]
    engines._engines = {}
    request = RequestFactory().get("/", {"sort": "name"})
    request.user = AnonymousUser()
    yield render_to_string("gallery.html", gallery.context(), request=request)
    engines._engines = {}


@pytest.fixture
def show(chrome, html):
    """Open the gallery; what the browser complains about fails the test."""
    complaints: list[str] = []
    opened = []

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(ADDRESS).split("?")[0]
        if path.startswith("/static/"):
            file = STATIC / path.removeprefix("/static/")
            route.fulfill(path=file, content_type=mimetypes.guess_type(file)[0])
        elif path == "/conflict":
            route.fulfill(status=409, body=f"<p>page</p>{PANEL}", content_type="text/html")
        elif path == "/gone":
            route.abort()
        else:
            headers = {"Content-Security-Policy": build_policy()}
            route.fulfill(body=html, content_type="text/html; charset=utf-8", headers=headers)

    def opener(width: int = WIDE, scheme: str = "light", **options: object) -> Page:
        context = chrome.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **options
        )
        opened.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text))
        page.route("**/*", answer)
        page.goto(f"{ADDRESS}/")
        return page

    opener.complaints = complaints
    yield opener
    for context in opened:
        context.close()
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_stands_in_the_way_of_anybody(show, width, scheme):
    page = show(width, scheme)
    for folded in page.query_selector_all("main details"):
        folded.evaluate("one => one.open = true")
    assert show.complaints == []
    page.evaluate(AXE.read_text())

    found = page.evaluate("tags => axe.run({runOnly: tags, preload: false})", RULES)

    # What axe itself tries and the page's policy stops.
    show.complaints.clear()
    assert {
        one["id"]: [node["failureSummary"] + node["html"] for node in one["nodes"]]
        for one in found["violations"]
    } == {}
    assert len(found["passes"]) > 20


@pytest.mark.parametrize("width", [WIDE, 900, 768, NARROW, 320])
def test_the_page_never_scrolls_sideways(show, width):
    page = show(width)

    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_rows_are_dense_and_their_head_stays(show):
    page = show()
    # The running job says nothing that could take a second line in a wide font.
    row = page.locator(".list tbody tr").nth(3)

    assert row.bounding_box()["height"] <= 37
    page.mouse.wheel(0, 900)
    page.wait_for_timeout(300)
    head = page.locator(".list thead th").first.bounding_box()
    assert 40 <= head["y"] <= 60


def test_a_whole_row_opens_by_its_first_link(show):
    page = show()
    row = page.locator(".list tbody tr").nth(1).bounding_box()

    hit = page.evaluate(
        "([x, y]) => document.elementFromPoint(x, y).closest('a')?.className",
        [row["x"] + row["width"] - 20, row["y"] + 10],
    )

    assert hit == "open"


def test_side_navigation_folds_into_a_menu_without_javascript(show):
    page = show(NARROW, java_script_enabled=False)
    side, menu = page.locator("nav.side"), page.locator(".nav-menu nav")

    assert not side.is_visible()
    assert not menu.is_visible()
    page.locator(".nav-menu > summary").click()
    assert menu.get_by_text("My jobs").is_visible()


def test_every_stop_of_the_keyboard_has_a_ring(show):
    page = show()
    for _ in range(40):
        page.keyboard.press("Tab")
        width = page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
        assert width >= 2, page.evaluate("document.activeElement.outerHTML")


def test_the_first_stop_skips_to_the_content(show):
    page = show()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "main"


def test_a_hint_opens_with_the_keyboard(show):
    page = show()
    badge = page.locator(".badge[tabindex]").first
    badge.focus()

    assert badge.locator(".tip").bounding_box()["width"] > 100


def test_the_theme_is_kept(show):
    page = show()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("[data-theme-toggle]").click()
    page.reload()

    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_without_javascript_there_is_no_button_that_does_nothing(show):
    page = show(java_script_enabled=False)

    assert not page.locator("[data-theme-toggle]").is_visible()


def test_ages_count_on_and_turn(show):
    page = show()
    age = page.locator(".topbar .fresh > summary .age")
    assert "is-fresh" in age.get_attribute("class")

    age.locator("time").evaluate("n => n.dateTime = new Date(Date.now() - 4e4).toISOString()")
    page.locator(".fresh > summary .age.is-late").wait_for()
    assert re.fullmatch(r"4\d s ago", age.locator("time").inner_text())


def test_escape_closes_a_menu_and_gives_the_focus_back(show):
    page = show()
    page.locator(".person > summary").click()
    page.keyboard.press("Escape")

    assert not page.locator(".person .menu-body").is_visible()
    assert page.evaluate("document.activeElement.parentElement.classList.contains('person')")


def test_an_error_lands_in_its_own_place_and_the_page_stays(show):
    page = show()
    rows = page.locator(".list").first.locator("tbody tr").count()
    page.evaluate("htmx.ajax('GET', '/conflict', '.list tbody').catch(() => {})")

    page.locator("#problem [data-panel]").wait_for()
    assert page.locator("#problem").inner_text() == "Changed meanwhile"
    assert page.locator(".list").first.locator("tbody tr").count() == rows
    # The browser itself reports an answer of 409, and htmx logs it.
    assert all("409" in line for line in show.complaints)
    show.complaints.clear()


def test_a_lost_connection_is_said(show):
    page = show()
    page.evaluate("htmx.ajax('GET', '/gone', '.list tbody').catch(() => {})")

    page.locator("#problem .panel").wait_for()
    assert "could not be reached" in page.locator("#problem").inner_text()
    show.complaints.clear()


def test_the_page_prints_without_its_frame(show):
    page = show()
    page.emulate_media(media="print")

    assert not page.locator(".topbar").is_visible()
    assert not page.locator("nav.side").is_visible()
    assert page.locator("main h1").is_visible()


def test_nothing_moves_for_those_who_want_no_motion(show):
    page = show(reduced_motion="reduce")

    moves = page.evaluate(
        "[...document.querySelectorAll('*')]"
        ".filter(n => parseFloat(getComputedStyle(n).transitionDuration) > 0).length"
    )
    assert moves == 0


def test_no_template_has_code_or_style_of_its_own():
    inline = re.compile(r"\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)|\shx-on|javascript:")
    templates = [*(HERE.parents[1] / "templates").rglob("*.html"), HERE / "gallery.html"]

    assert [file.name for file in templates if inline.search(file.read_text())] == []


def test_script_and_style_stay_small():
    assert len((STATIC / "portal.css").read_text().splitlines()) <= 500
    assert len((STATIC / "portal.js").read_text().splitlines()) <= 150


def test_what_was_taken_from_others_is_what_they_published():
    import hashlib

    for folder in (STATIC / "vendor", HERE / "vendor"):
        listed = dict(
            line.split("  ")[::-1] for line in (folder / "SHA256SUMS").read_text().splitlines()
        )
        found = {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*")
            if path.is_file() and path.name != "SHA256SUMS"
        }
        assert found == listed
