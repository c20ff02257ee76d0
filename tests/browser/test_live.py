"""Live pages in a real browser: news comes by itself, and what the reader has opened stays."""

import copy
import re
from collections.abc import Iterator
from datetime import datetime

import pytest
from django.conf import settings as portal_settings
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect, sync_playwright

from queues.models import Workload
from queues.services import announce
from queues.services.announcer import Announcer
from tenants.models import Session
from tests import cast
from tests.browser.chrome import launch
from tests.portal import live as running
from tests.queues import seen

pytestmark = [
    pytest.mark.browser,
    pytest.mark.enable_socket,
    pytest.mark.django_db(transaction=True),
]
PATIENCE = 20_000  # ms; a timed fetch comes after 25 s while the stream is good
LONG = 60_000


class Room:
    """A page, what it has fetched, and what Chromium complained about."""

    def __init__(self, page: Page, lab: cast.Cast, processes) -> None:
        self.page = page
        self.lab = lab
        self.processes = processes
        self.fetched: list[str] = []
        self.complaints: list[str] = []
        self.said = Announcer(lab.cluster)
        page.on("request", self._note)
        page.on("console", lambda line: self._hear(line.type, line.text))

    def _note(self, request) -> None:
        if request.headers.get("hx-request"):
            self.fetched.append(request.url)

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def open(self, path: str) -> None:
        self.page.goto(path, timeout=LONG)
        expect(self.page.locator("html")).to_have_attribute("data-stream", "on", timeout=LONG)
        # A process that has just started knows of nothing before it: pages look once.
        self.page.wait_for_timeout(1500)

    def oldest(self) -> float:
        """Return how old, in seconds, the page says that the data of the cluster is at most."""
        told = self.page.evaluate(
            "[...document.querySelectorAll('[data-alive] time[datetime]')].map(at => at.dateTime)"
        )
        assert told
        return max((timezone.now() - datetime.fromisoformat(each)).total_seconds() for each in told)

    def change(self, job: Workload, **fields) -> None:
        """Do what an observer does: write, then announce."""
        Workload.objects.filter(pk=job.pk).update(**fields)
        assert self.said.window(workloads=[(job.uid, job.namespace, job.queue)])


@pytest.fixture(scope="module")
def chrome(django_db_setup) -> Iterator[Browser]:
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as play:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        opened = launch(play)
        yield opened
        opened.close()


@pytest.fixture
def room(chrome, live_server, settings, tmp_path, transactional_db):
    running.forget().close()
    lab = cast.make()
    seen.lab(lab.cluster)
    with running.process(tmp_path, GPUPORTAL_TRUSTED_ORIGINS=live_server.url) as (processes, port):
        settings.LIVE_URL = f":{port}/live"
        policy = copy.deepcopy(settings.CONTENT_SECURITY_POLICY)
        host = live_server.url.rsplit(":", 1)[0]
        policy["DIRECTIVES"]["connect-src"].append(f"{host}:{port}")
        settings.CONTENT_SECURITY_POLICY = policy
        client = Client()
        client.force_login(lab.bob)
        name = portal_settings.SESSION_COOKIE_NAME
        context = chrome.new_context(base_url=live_server.url)
        context.set_default_timeout(PATIENCE)
        context.add_cookies(
            [{"name": name, "value": client.cookies[name].value, "url": live_server.url}]
        )
        made = Room(context.new_page(), lab, processes)
        made.port = port
        yield made
        context.close()


def test_a_job_that_moves_is_shown_without_asking_and_the_page_stays_as_it_is(room):
    first = seen.workload(room.lab.cluster, "train-a", position=4)
    room.open("/t/nlp/")
    page = room.page
    row = page.locator("tr", has_text="train-a")
    expect(row).to_contain_text("4")
    folded = page.locator("#now details.more-lines").first
    folded.locator("summary").click()
    page.evaluate("window.kept = document.querySelector('#now tbody tr')")
    before = len(room.fetched)

    room.change(first, position=77)

    expect(row).to_contain_text("77", timeout=PATIENCE)
    assert len(room.fetched) == before + 1
    expect(folded).to_have_attribute("open", "")
    assert page.evaluate("window.kept.isConnected")
    assert room.oldest() < 60
    assert room.complaints == []


def test_a_burst_of_news_is_few_fetches(room):
    job = seen.workload(room.lab.cluster, "train-a")
    room.open("/jobs/")

    for number in range(1, 61):
        room.change(job, position=number)
    expect(room.page.locator("tr", has_text="train-a")).to_contain_text("60", timeout=LONG)

    assert len(room.fetched) <= 10


def test_who_is_signed_out_elsewhere_is_led_to_the_sign_in_page(room):
    room.open("/t/nlp/")

    Session.objects.all().delete()
    announce.look_again_at(room.lab.bob.pk)

    expect(room.page).to_have_url(re.compile("/login/"), timeout=LONG)


def test_without_the_live_process_the_page_asks_by_itself_and_listens_again_later(room):
    job = seen.workload(room.lab.cluster, "train-a")
    room.open("/jobs/")
    room.processes.kill("live")
    expect(room.page.locator("html")).to_have_attribute("data-stream", "off", timeout=LONG)

    Workload.objects.filter(pk=job.pk).update(position=77)

    row = room.page.locator("tr", has_text="train-a")
    expect(row).to_contain_text("77", timeout=LONG)
    assert room.oldest() < 120
    running.start(room.processes, room.port)
    expect(room.page.locator("html")).to_have_attribute("data-stream", "on", timeout=LONG)
