"""The pages of costs in a real browser: readable by everybody, on paper, and without JavaScript."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from django.conf import settings as portal_settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from costs.facts import Quality
from costs.times import HOUR
from costs.used import Use
from tests import cast
from tests.browser.chrome import PATIENCE, launch
from tests.browser.test_look import AXE, RULES
from tests.costs import stored
from tests.costs.ledger_rows import ITEMS, book_of, closed

pytestmark = [
    pytest.mark.browser,
    pytest.mark.enable_socket,
    pytest.mark.django_db(transaction=True),
]
PAGES = {
    "tenant": ("alice", "/t/nlp/costs/?month=2026-11"),
    "cluster": ("dave", "/clusters/lab/costs/?month=2026-11"),
    "statement": ("frank", "/t/nlp/statements/{period}/"),
}


@pytest.fixture(scope="module")
def chrome(django_db_setup) -> Iterator[Browser]:
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as play:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        opened = launch(play)
        yield opened
        opened.close()


@pytest.fixture
def lab(settings) -> Any:
    """Two days of hours, a few of them missing, with prices and a statement."""
    settings.LIVE_URL = ""
    made = cast.make()
    use = Use(3000 * HOUR, 6 * HOUR, 6 * HOUR)
    hours = [stored.at(day, of) for day in (1, 2) for of in range(20)]
    for kind, quality in ((hours[:30], Quality.OBSERVED), (hours[30:], Quality.MISSING)):
        mine = [
            stored.fact(
                each, "nlp", quality=quality, committed=16, own=12, lent=2, running=6, use=use
            )
            for each in kind
        ]
        theirs = [
            stored.fact(each, "cv", quality=quality, committed=8, own=8, borrowed=2, running=10)
            for each in kind
        ]
        stored.store(made.cluster, *mine, *theirs, down=1, cordoned=1)
    return made


def visit(chrome: Browser, url: str, user: Any, **options: Any) -> tuple[BrowserContext, list[str]]:
    """Open a browser in which somebody is signed in, and listen to its complaints."""
    client = Client()
    client.force_login(user)
    cookie = portal_settings.SESSION_COOKIE_NAME
    context = chrome.new_context(base_url=url, **options)
    context.set_default_timeout(PATIENCE)
    context.add_cookies([{"name": cookie, "value": client.cookies[cookie].value, "url": url}])
    complaints: list[str] = []
    context.on(
        "console", lambda line: complaints.append(line.text) if line.type == "error" else None
    )
    return context, complaints


@pytest.fixture
def period(lab) -> int:
    return closed(lab, book_of(lab), 10, *ITEMS).pk


@pytest.mark.parametrize("name", PAGES)
def test_nothing_stands_in_the_way_of_anybody(chrome, live_server, lab, period, name):
    who, path = PAGES[name]
    for width, scheme in product((1440, 390), ("light", "dark")):
        size = {"width": width, "height": 900}
        context, complaints = visit(
            chrome, live_server.url, getattr(lab, who), viewport=size, color_scheme=scheme
        )
        page = context.new_page()
        assert page.goto(path.format(period=period)).status == 200
        page.evaluate("document.querySelectorAll('main details').forEach(one => one.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert complaints == []
        page.evaluate(AXE.read_text())
        found = page.evaluate("tags => axe.run({runOnly: tags, preload: false})", RULES)
        context.close()

        assert {
            one["id"]: [node["failureSummary"] + node["html"] for node in one["nodes"]]
            for one in found["violations"]
        } == {}


def test_columns_sort_and_months_change_without_javascript(chrome, live_server, lab):
    context, _complaints = visit(chrome, live_server.url, lab.dave, java_script_enabled=False)
    page = context.new_page()
    page.goto(PAGES["cluster"][1])
    page.get_by_role("link", name="Borrowed").click()
    assert page.locator("th[aria-sort=ascending]").inner_text() == "Borrowed"
    page.get_by_role("link", name="Previous month").click()
    assert page.get_by_text("No hours in this month").is_visible()
    context.close()


def test_a_statement_prints_as_a_table(chrome, live_server, lab, period):
    context, _complaints = visit(
        chrome, live_server.url, lab.frank, viewport={"width": 720, "height": 900}
    )
    page = context.new_page()
    page.goto(PAGES["statement"][1].format(period=period))
    page.emulate_media(media="print")

    heads = page.locator("table").first.locator("thead th")
    assert heads.first.is_visible()
    total, amount = (page.locator(f"tfoot {cell}").last.bounding_box() for cell in ("tr", ".num"))
    assert amount["x"] + amount["width"] == pytest.approx(total["x"] + total["width"], abs=2)
    assert not page.locator(".actions a").first.is_visible()
    context.close()
