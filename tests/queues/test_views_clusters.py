"""Clusters: health, rights and capacity; letting the portal write."""

from datetime import timedelta

import pytest
from django.utils import timezone

from queues.models import Credential, Link, ObservedObject, Stream, UnknownText
from tenants.models import AuditEvent, Cluster, Department, Pool
from tests import cast
from tests.kube.test_credentials import CA
from tests.query_counts import counted
from tests.queues import pages, seen
from tests.queues.connected import GOOD_REPORT, LIST, PAGE, RIGHT, WRITING, connect, open_

pytestmark = pytest.mark.usefixtures("open_networks")


@pytest.fixture
def full(lab):
    return connect(lab)


# --- the list -------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["alice", "bob", "frank", "grace", "carol", "dave", "erin"])
def test_list_is_for_everybody_with_a_role(full, client, who):
    answer = open_(client, getattr(full, who), LIST)

    assert "Lab" in pages.text(answer)
    assert ("Connect a cluster" in pages.text(answer)) == (who == "dave")
    if who in ("alice", "bob", "frank"):
        pages.nothing_of_others(answer)


def test_without_a_role_the_list_is_empty(full, client):
    assert "No cluster yet" in pages.text(open_(client, full.heidi, LIST))


def test_first_step_of_an_administrator(db, client):
    answer = open_(client, cast.person("dave", platform="admin"), LIST)

    assert "Connect the first one with two kubeconfigs" in pages.text(answer)


STATES = [
    (1, {}, "", "Live"),
    (60, {}, "", "Late"),
    (3600, {}, "", "Too old"),
    (1, {"lost_since": timedelta(minutes=2)}, "", "Not reachable"),
    (1, {"lost_since": timedelta(seconds=3)}, "", "Live"),
    (1, {}, "GP-3101 refused", "Not reachable"),
]


@pytest.mark.parametrize(("seconds", "lost", "error", "word"), STATES)
def test_health_in_one_word(full, client, seconds, lost, error, word):
    now = timezone.now()
    Stream.objects.update(alive_at=now - timedelta(seconds=seconds))
    if lost:
        Stream.objects.filter(kind="Node").update(lost_since=now - lost["lost_since"])
    Link.objects.update(check_error=error)

    assert word in pages.words(open_(client, full.dave, LIST)).partition("Differs")[2]


def test_never_read(lab, client):
    Link.objects.create(cluster=lab.cluster, server="https://10.0.0.1:6443", ca_pem=CA)
    assert "Never seen" in pages.words(open_(client, lab.dave, LIST))
    assert "No observer has read this cluster yet" in pages.words(client.get(PAGE))


@pytest.mark.parametrize("number", [1, 30])
def test_queries_of_the_list(full, client, number):
    for each in range(number):
        more = Cluster.objects.create(slug=f"more-{each}", display_name=f"More {each}")
        seen.streams(more)
    client.force_login(full.dave)
    with counted("queues: clusters"):
        client.get(LIST)


# --- one cluster ----------------------------------------------------------------------------------


def test_capacity_by_flavor(full, client):
    said = pages.words(open_(client, full.bob, PAGE))

    assert "NVIDIA A100 80 GB 4 / 4 32nodes offer 32 24 8 32 0 " in said


def test_too_much_promised_is_said(full, client):
    Pool.objects.update(capacity=20)

    assert "4 too many" in pages.words(open_(client, full.dave, PAGE))


def test_promises_of_departments_count(full, client):
    quota = {"flavor": "a100", "resource": "nvidia.com/gpu", "nominal": 4}
    Department.objects.update(spec={"quotas": [quota, quota | {"flavor": "h100"}]})

    assert "nodes offer 32 28 4 32 0 " in pages.words(open_(client, full.dave, PAGE))


def test_cluster_that_was_listed_but_never_heard(full, client):
    Stream.objects.filter(kind="Node").update(alive_at=None)

    assert "Never seen" in pages.words(open_(client, full.dave, LIST))


@pytest.mark.parametrize("who", ["dave", "carol", "erin"])
def test_platform_sees_rights_and_every_queue(full, client, who):
    said = pages.words(open_(client, getattr(full, who), PAGE))

    assert "In order" in said
    assert "v1.35.4" in said
    assert "https://10.0.0.1:6443" in said
    assert "cv-train" in said
    assert ("Let the portal write" in said) == (who == "dave")


@pytest.mark.parametrize("who", ["alice", "bob", "frank"])
def test_members_see_totals_and_own_queues(full, client, who):
    answer = open_(client, getattr(full, who), PAGE)
    said = pages.words(answer)

    assert "nlp-train" in said
    assert "1 queue of other tenants is not shown." in said
    assert "cv-train" not in said
    assert "10.0.0.1" not in said
    assert "The portal's rights" not in pages.text(answer).replace("&#x27;", "'")
    pages.nothing_of_others(answer)


def test_without_a_role_there_is_no_cluster(full, client):
    assert open_(client, full.heidi, PAGE).status_code == 404


@pytest.mark.parametrize("slug", ["nowhere", "LAB", "%00", "l" * 300])
def test_no_such_cluster(full, client, slug):
    assert open_(client, full.dave, f"/clusters/{slug}/").status_code == 404


def test_missing_and_surplus_rights(full, client):
    bad = GOOD_REPORT | {
        "ok": False,
        "missing": [RIGHT],
        "surplus": ["delete nodes"],
        "incomplete": True,
    }
    Link.objects.update(preflight={"ok": False, "reader": GOOD_REPORT, "applier": bad})
    said = pages.words(open_(client, full.dave, PAGE))

    assert "Rights missing" in said
    assert RIGHT in said
    assert "delete nodes" in said
    assert "Not possible yet" in said


def test_credential_with_a_problem_and_error_of_the_check(full, client):
    Credential.objects.filter(purpose="applier").update(problem="sealed to another key")
    Link.objects.update(check_error="GP-3104 no answer", clock_skew_seconds=7)
    said = pages.words(open_(client, full.dave, PAGE))

    assert "sealed to another key" in said
    assert "GP-3104 no answer" in said
    assert "7 s apart" in said
    assert "no answer" not in pages.words(open_(client, full.alice, PAGE))


def test_lost_line_shows_its_error_to_the_platform(full, client):
    since = timezone.now() - timedelta(minutes=5)
    Stream.objects.filter(kind="Node").update(lost_since=since, error="410 gone")

    assert "410 gone" in pages.words(open_(client, full.erin, PAGE))
    assert "410 gone" not in pages.words(open_(client, full.bob, PAGE))
    Stream.objects.filter(kind="Node").update(lost_since=timezone.now())
    assert "Reconnecting" in pages.words(open_(client, full.bob, PAGE))


def test_quiet_line_is_late_and_not_live(full, client):
    Stream.objects.filter(kind="Node").update(alive_at=timezone.now() - timedelta(minutes=1))
    states = [row.state for row in open_(client, full.bob, PAGE).context["health"].streams]

    assert states == ["fresh", "fresh", "fresh", "late", "fresh", "fresh"]


def test_what_differs_is_listed(full, client):
    ObservedObject.objects.filter(name="cv-train").update(in_sync=False)

    assert "Differs from the catalog" in pages.text(open_(client, full.dave, PAGE))
    assert "cv-train" not in pages.text(open_(client, full.alice, PAGE))


def test_nothing_new_is_not_sent_again(full, client):
    for url in (LIST, PAGE):
        client.force_login(full.dave)
        pages.unchanged(client, url)
        stamp = pages.stamp(client, url)
        Cluster.objects.update(writing=not Cluster.objects.get(slug="lab").writing)
        assert pages.changed(client, url, stamp)


@pytest.mark.parametrize("number", [1, 30])
def test_queries_of_the_page(full, client, number):
    for each in range(number):
        seen.node(full.cluster, f"more-{each}")
        seen.observed(
            full.cluster, "ClusterQueue", f"more-{each}", seen.queue_body(1, 0), in_sync=False
        )
    client.force_login(full.dave)
    with counted("queues: cluster"):
        client.get(PAGE)


def test_long_list_of_queues_is_cut(full, client, monkeypatch):
    monkeypatch.setattr("queues.views.clusters.SHOWN", 1)
    said = pages.words(open_(client, full.dave, PAGE))

    assert "Only the first 1 queues are shown." in said
    assert "cv-train" in said
    assert "of other tenants" not in said


# --- writing --------------------------------------------------------------------------------------


def test_read_only_is_marked(full, client):
    for url in (LIST, PAGE):
        assert "Read-only" in pages.words(open_(client, full.bob, url))


def test_administrator_switches_writing_on_and_off(full, client):
    client.force_login(full.dave)
    answer = client.post(WRITING, {"on": "yes"})

    assert (answer.status_code, answer["Location"]) == (303, PAGE)
    assert Cluster.objects.get(slug="lab").writing
    assert "Stop writing" in pages.text(client.get(PAGE))

    client.post(WRITING, {"on": "no"})
    assert not Cluster.objects.get(slug="lab").writing
    assert AuditEvent.objects.filter(action="cluster.write").count() == 2


@pytest.mark.parametrize("body", [{}, {"on": "maybe"}, {"on": ["no", "nothing"]}])
def test_anything_but_yes_is_off(full, client, body):
    Cluster.objects.update(writing=True)
    client.force_login(full.dave)
    client.post(WRITING, body)

    assert not Cluster.objects.get(slug="lab").writing


def test_writing_stays_off_without_the_rights(full, client):
    Link.objects.update(preflight={"ok": False})
    client.force_login(full.dave)
    answer = client.post(WRITING, {"on": "yes"})

    assert answer.status_code == 422
    assert "GP-4101" in pages.text(answer)
    assert not Cluster.objects.get(slug="lab").writing


@pytest.mark.parametrize("who", ["alice", "bob", "carol", "erin"])
def test_writing_is_for_administrators(full, client, who):
    client.force_login(getattr(full, who))

    assert client.post(WRITING, {"on": "yes"}).status_code == 403
    assert not Cluster.objects.get(slug="lab").writing
    assert client.get(WRITING).status_code == 405


def test_texts_that_no_rule_knows_are_shown_to_the_platform_alone(full, client):
    now = timezone.now()
    UnknownText.objects.create(
        cluster=full.cluster, form="the moon is # full", example="the moon is half full", times=7,
        first_at=now, last_at=now,
    )  # fmt: skip
    assert "the moon is half full 7" in pages.words(open_(client, full.dave, PAGE))
    assert "moon" not in pages.words(open_(client, full.alice, PAGE))


def test_a_kind_that_is_not_needed_makes_no_cluster_unreachable(full, client):
    since = timezone.now() - timedelta(hours=1)
    Stream.objects.create(
        cluster=full.cluster, kind="LimitRange", needed=False, lost_since=since, error="forbidden"
    )
    said = pages.words(open_(client, full.dave, LIST))
    assert "Unreachable" not in said
    assert "Never seen" not in said
