"""From a job that waits to the quota that it needs, in a real browser; what is open stays open."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as portal_settings
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect, sync_playwright

from queues.models import Workload
from tenants.models import Request
from tests import cast
from tests.browser.chrome import PATIENCE, launch
from tests.browser.test_look import AXE, RULES
from tests.queues import seen
from tests.queues.test_history import Town

pytestmark = [
    pytest.mark.browser,
    pytest.mark.enable_socket,
    pytest.mark.django_db(transaction=True),
]
GPU = "nvidia.com/gpu"
SHORT = {
    "stage": "quota", "code": "quota_short", "never": False, "resource": GPU, "flavor": "a100",
    "asked": 8, "free": 3, "missing": 5, "freed_by": "own_queue", "params": {"missing": "5"},
    "raw": "insufficient unused quota for nvidia.com/gpu in flavor a100, 5 more needed",
}  # fmt: skip


@pytest.fixture(scope="module")
def chrome(django_db_setup) -> Iterator[Browser]:
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as play:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        opened = launch(play)
        yield opened
        opened.close()


@pytest.fixture
def lab(settings) -> Any:
    """A job that waits, and one that has lost its place before it ran again."""
    settings.LIVE_URL = ""  # no process for streams here: the pages poll
    made = cast.make()
    seen.lab(made.cluster)
    seen.workload(made.cluster, "first", position=1, devices=4)
    seen.workload(
        made.cluster, "train-1", position=2, positioned_at=timezone.now(), reasons=[SHORT],
        params={"resource": GPU, "flavor": "a100", "missing": "5"},
    )  # fmt: skip
    town = Town(made.cluster)
    town.job("ran").job("other", namespace="cv")
    town.start("ran")
    town.wait(hours=2)
    town.stop("ran", by="other")
    town.start("ran")
    row = town.row("ran")
    seen.running(made.cluster, "ran", uid=row.uid, name=row.name, job_uid=row.job_uid)
    return made


def visit(chrome: Browser, url: str, user: Any, width: int = 1440) -> tuple[Page, list[str]]:
    """Open a page as somebody, and listen to what the browser complains about."""
    client = Client()
    client.force_login(user)
    cookie = portal_settings.SESSION_COOKIE_NAME
    context = chrome.new_context(base_url=url, viewport={"width": width, "height": 900})
    context.set_default_timeout(PATIENCE)
    context.add_cookies([{"name": cookie, "value": client.cookies[cookie].value, "url": url}])
    complaints: list[str] = []
    context.on(
        "console", lambda line: complaints.append(line.text) if line.type == "error" else None
    )
    return context.new_page(), complaints


def test_a_lead_goes_from_the_job_to_the_request_that_would_help(chrome, live_server, lab):
    page, complaints = visit(chrome, live_server.url, lab.alice)
    page.goto("/jobs/")
    page.get_by_role("link", name="train-1").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("train-1")
    expect(page.locator("#now")).to_contain_text("5 more must become free")

    page.get_by_role("link", name="Ask for it").click()
    expect(page.locator('[name="nlp-train/a100/nominal"]')).to_have_value("21")
    expect(page.locator("#preview")).to_contain_text("24 → 29 GPUs promised")
    expect(page.get_by_label("Reason")).to_have_value(
        "For the job nlp/train-1: it asks for 8 GPUs of a100."
    )
    assert not Request.objects.exists()

    page.get_by_role("button", name="Send the request").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Request")
    assert Request.objects.get().edits[-1]["nominal"] == 21

    page.goto("/c/lab/jobs/nlp/train-1/")
    expect(page.locator("#now")).to_contain_text("A request for 21 GPUs of a100 is open")
    assert complaints == []
    page.context.close()


def test_what_is_open_stays_open_when_fresh_numbers_come(chrome, live_server, lab):
    page, complaints = visit(chrome, live_server.url, lab.bob)
    page.goto("/c/lab/jobs/nlp/train-1/")
    page.get_by_text("The cluster's own words").click()
    expect(page.locator("#words")).to_have_attribute("open", "")

    Workload.objects.filter(job_name="train-1").update(position=1)
    page.evaluate("htmx.trigger('#now', 'live')")

    expect(page.locator(".place-figure b")).to_have_text("1")
    expect(page.locator("#words")).to_have_attribute("open", "")
    assert complaints == []
    page.context.close()


def test_rows_keep_their_element_when_fresh_ones_come(chrome, live_server, lab):
    """A row that is still there is the same element, so what has the focus keeps it."""
    page, complaints = visit(chrome, live_server.url, lab.bob)
    page.goto("/jobs/")
    row = Workload.objects.get(job_name="train-1")
    page.evaluate("id => { const row = document.getElementById(id); row.mark = 1; row.querySelector('a').focus(); }", f"job-{row.pk}")  # fmt: skip

    Workload.objects.filter(pk=row.pk).update(position=7)
    page.evaluate("htmx.trigger('#list', 'live')")

    expect(page.locator(f"#job-{row.pk} td b").first).to_have_text("7")
    assert page.evaluate("id => document.getElementById(id).mark", f"job-{row.pk}") == 1
    assert page.evaluate("document.activeElement.id") == f"open-{row.pk}"
    assert complaints == []
    page.context.close()


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("path", ["/jobs/", "/c/lab/jobs/nlp/train-1/", "/c/lab/jobs/nlp/ran/"])
def test_pages_are_accessible_and_never_scroll_sideways(chrome, live_server, lab, path, width):
    page, complaints = visit(chrome, live_server.url, lab.alice, width)
    page.goto(path)
    beyond = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert (beyond, complaints) == (0, [])

    page.evaluate(AXE.read_text())
    found = page.evaluate("tags => axe.run({runOnly: tags, preload: false})", RULES)
    assert {
        one["id"]: [node["failureSummary"] + node["html"] for node in one["nodes"]]
        for one in found["violations"]
    } == {}
    page.context.close()
