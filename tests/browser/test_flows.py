"""The main job in a real browser, on the real Kueue, through web, worker and observer.

A lead asks for 8 more GPUs, another person approves the plan that is shown, and the lead's page
says that the cluster has them. Once with JavaScript and once without.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings as portal_settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from kube.client import ClusterClient
from kube.errors import Modified
from kube.manifest import Ref
from kube.transport import Request as Call
from tenants.models import Cluster, Membership, Tenant, User
from tests.browser.chrome import PATIENCE, launch
from tests.browser.test_look import AXE, RULES
from tests.real import registered
from tests.real.conftest import admin, name, place  # noqa: F401 - fixtures of the real cluster
from tests.stack import Stack, stack, wait_for

pytestmark = [
    pytest.mark.browser,
    pytest.mark.real,
    pytest.mark.enable_socket,
    pytest.mark.django_db(transaction=True),
]
WIDTHS = (1440, 390)


@dataclass
class Lab:
    """Two people, their browser, and the cluster that they talk about."""

    url: str
    name: str
    cluster: Cluster
    admin: ClusterClient
    alice: User
    carol: User
    dave: User
    chrome: Browser
    complaints: list[str]

    def visit(self, user: User, **options: Any) -> BrowserContext:
        """Open a browser in which ``user`` is signed in."""
        client = Client()
        client.force_login(user)
        cookie = portal_settings.SESSION_COOKIE_NAME
        context = self.chrome.new_context(base_url=self.url, **options)
        context.set_default_timeout(PATIENCE)
        context.add_cookies(
            [{"name": cookie, "value": client.cookies[cookie].value, "url": self.url}]
        )
        context.on("console", lambda line: self.hear(line.type, line.text))
        context.on("weberror", lambda error: self.hear("error", str(error.error)))
        return context

    def hear(self, kind: str, text: str) -> None:
        """Keep what the browser complains about, policy violations above all."""
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def field(self) -> str:
        """Return the name of the field that holds the quota."""
        return f'[name="{self.name}-train/{self.name}/nominal"]'

    def queue(self) -> dict[str, Any]:
        """Return the ClusterQueue as the API server has it."""
        found = self.admin.get(Ref("ClusterQueue", "", f"{self.name}-train"))
        assert found is not None
        return found

    def nominal(self) -> str:
        """Return the nominal quota of GPUs in the API server."""
        resources = self.queue()["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
        return next(r["nominalQuota"] for r in resources if r["name"] == "nvidia.com/gpu")

    def edit(self, devices: str) -> None:
        """Do what ``kubectl edit`` does: write the whole object as another manager."""
        body = self.queue()
        for each in body["spec"]["resourceGroups"][0]["flavors"][0]["resources"]:
            if each["name"] == "nvidia.com/gpu":
                each["nominalQuota"] = devices
        path = f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{self.name}-train"
        query = (("fieldManager", "kubectl-edit"),)
        self.admin.transport.send(Call("PUT", path, query, body, writes=True))

    def owner(self) -> set[str]:
        """Return who owns fields of the queue's specification."""
        fields = self.queue()["metadata"]["managedFields"]
        return {each["manager"] for each in fields if "f:spec" in each["fieldsV1"]}


@pytest.fixture(scope="module")
def chrome(django_db_setup) -> Iterator[Browser]:
    # Playwright's event loop lives in this thread; the ORM is used between its calls only.
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as play:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        opened = launch(play)
        yield opened
        opened.close()


@pytest.fixture
def lab(chrome, live_server, admin, place, settings, name, tmp_path):  # noqa: F811
    settings.LIVE_URL = ""  # no process for streams here: the pages poll
    public, private = registered.seal_with_fresh_keys(settings)
    dave, carol = registered.person("dave", "admin"), registered.person("carol", "approver")
    cluster = registered.register(admin, place, dave, slug="lab")
    renames = {
        "a100": name, "nlp": name, "nlp-train": f"{name}-train", "nlp-gpu": f"{name}-gpu",
        "cv": f"{name}-cv", "cv-train": f"{name}-cv-train", "cv-gpu": f"{name}-cv-gpu",
        "research": f"{name}-dept", "racks": f"{name}-racks",
        "boss-urgent": f"{name}-urgent", "normal-batch": f"{name}-normal",
    }  # fmt: skip
    catalog = registered.example("two-teams", renames)
    registered.commit(cluster, catalog, author=dave, approver=carol)
    alice = registered.person("alice")
    Membership.objects.create(user=alice, tenant=Tenant.objects.get(slug=name), role="lead")
    keys = {"GPUPORTAL_SEALING_PUBLIC_KEY": public, "GPUPORTAL_SEALING_PRIVATE_KEY": private}
    with stack(tmp_path, **keys) as processes:
        processes.worker()
        processes.observer(cluster.slug)
        made = Lab(live_server.url, name, cluster, admin, alice, carol, dave, chrome, [])
        wait_until_observed(cluster, processes)
        yield made
        for context in chrome.contexts:
            context.close()
    for topology in admin.list_all("Topology")[0]:
        if topology["metadata"]["name"].startswith(name):
            admin.delete(
                Ref("Topology", "", topology["metadata"]["name"]), uid=topology["metadata"]["uid"]
            )


def wait_until_observed(cluster: Cluster, processes: Stack) -> None:
    from queues.models import ObservedObject

    rows = ObservedObject.objects.filter(cluster=cluster, kind="ClusterQueue")
    try:
        wait_for(rows.exists)
    except AssertionError:
        raise AssertionError(processes.log("observer")[-3000:]) from None


def ask(page: Page, lab: Lab, devices: int, reason: str) -> None:
    """Fill in the form and send it."""
    page.goto(f"/t/{lab.name}/")
    page.get_by_role("link", name="Ask for quota").first.click()
    page.locator(lab.field()).fill(str(devices))
    page.get_by_label("Reason").fill(reason)


def decide(page: Page, reason: str) -> str:
    """Find the request in the list of what is to decide, read the plan, approve it."""
    page.goto("/")
    page.get_by_role("link", name=reason).click()
    page.get_by_role("link", name=re.compile("Look at the plan")).click()
    digest = page.locator("input[name=digest]").first.get_attribute("value")
    expect(page.locator("main")).to_contain_text((digest or "-")[:12])
    expect(page.locator("main")).to_contain_text("nominalQuota")
    page.get_by_role("button", name="Approve", exact=True).click()
    return digest or ""


def test_lead_asks_another_person_approves_and_the_cluster_has_it(lab):
    reason = "Fine-tuning needs eight more until spring"
    lead, decider = lab.visit(lab.alice), lab.visit(lab.carol)
    page, other = lead.new_page(), decider.new_page()

    ask(page, lab, 24, reason)
    expect(page.locator("#preview")).to_contain_text("24")
    assert lab.nominal() == "16"
    page.get_by_role("button", name="Send the request").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Request")
    expect(page.locator("main")).to_contain_text("Waits for a decision")
    expect(page.locator(".messages [role=status]")).to_have_count(0)

    digest = decide(other, reason)
    expect(page.locator("main")).to_contain_text(re.compile("in the cluster since", re.IGNORECASE))

    assert lab.nominal() == "24"
    assert "gpuportal-quota" in lab.owner()
    assert len(digest) == 64
    page.goto(f"/t/{lab.name}/")
    expect(page.locator("main")).to_contain_text("revision 2")
    expect(page.locator("main")).to_contain_text("of 24")
    assert lab.complaints == []


def test_asking_and_approving_work_without_javascript(lab):
    reason = "The same without any script"
    lead = lab.visit(lab.alice, java_script_enabled=False)
    decider = lab.visit(lab.carol, java_script_enabled=False)
    page, other = lead.new_page(), decider.new_page()

    ask(page, lab, 20, reason)
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("20")
    page.get_by_role("button", name="Send the request").click()
    wait_for(lambda: page.reload() and "Waits for a decision" in page.content(), every=0.5)
    decide(other, reason)
    wait_for(lambda: page.reload() and "in the cluster since" in page.content().lower(), every=0.5)

    assert lab.nominal() == "20"
    assert lab.complaints == []


def test_a_conflict_names_the_other_writer_and_is_taken_back(lab):
    wait_for(lambda: edited(lab, "12"))
    page = lab.visit(lab.alice).new_page()
    ask(page, lab, 20, "Twenty as agreed")
    page.get_by_role("button", name="Send the request").click()
    page.get_by_role("link", name="Look at the plan").click()
    address = page.url

    other = lab.visit(lab.dave).new_page()
    other.goto(address)
    told = other.locator("main")
    expect(told).to_contain_text("kubectl-edit")
    expect(told).to_contain_text("12")
    other.get_by_label("Why the fields are taken back").fill("Twenty were agreed")
    other.get_by_role("button", name="Approve and take the fields back").click()

    expect(other.locator("main")).to_contain_text(re.compile("in the cluster since"))
    assert lab.nominal() == "20"
    assert lab.complaints == []


def edited(lab: Lab, devices: str) -> bool:
    """Edit the queue; Kueue may write its status in between, then kubectl opens it again."""
    try:
        lab.edit(devices)
    except Modified:
        return False
    return True


def test_nobody_decides_on_an_own_request(lab):
    page = lab.visit(lab.alice).new_page()
    ask(page, lab, 18, "Two more")
    page.get_by_role("button", name="Send the request").click()
    page.get_by_role("link", name="Look at the plan").click()

    expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    assert lab.complaints == []


def judged(page: Page) -> list[str]:
    """Return what axe finds on a page, with the markup it is about."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("tags => axe.run({runOnly: tags, preload: false})", RULES)
    return [f"{one['id']} {one['nodes'][0]['html'][:200]}" for one in found["violations"]]


def test_every_page_fits_and_is_accessible(lab):
    first = lab.cluster.requests.get()
    paths = [
        "/jobs/", f"/t/{lab.name}/", f"/t/{lab.name}/requests/new", "/requests/",
        f"/requests/{first.pk}/", f"/plans/{first.plans.get().pk}/", f"/applies/{first.applies.get().pk}/", "/clusters/", "/clusters/lab/",
        "/clusters/register", f"/c/lab/queues/{lab.name}-train/",
    ]  # fmt: skip
    wide: list[str] = []
    barriers: list[str] = []
    for scheme, width in itertools.product(("light", "dark"), WIDTHS):
        size = {"width": width, "height": 900}
        page = lab.visit(lab.dave, color_scheme=scheme, viewport=size).new_page()
        for path in paths:
            answer = page.goto(path)
            assert answer is not None
            assert answer.status == 200, path
            if page.evaluate("document.documentElement.scrollWidth") > width:
                wide.append(f"{path} at {width}")
            barriers += [f"{path} {scheme} {width}: {one}" for one in judged(page)]
        page.context.close()

    assert wide == []
    assert barriers == []
    assert lab.complaints == []
