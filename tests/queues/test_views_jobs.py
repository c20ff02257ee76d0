"""My jobs, and where people land: each sees their own, with place, state and reason."""

import pytest

from queues.models import Workload
from tenants.models import Membership
from tests.cast import MARK
from tests.query_counts import counted
from tests.queues import pages, seen

URL = "/jobs/"


@pytest.fixture
def full(lab):
    """A language team with jobs in every state, and one job of the vision team."""
    seen.lab(lab.cluster)
    seen.workload(lab.cluster, "train-1", position=1)
    seen.workload(
        lab.cluster, "train-2", position=2, preempted=True,
        params={"resource": "nvidia.com/gpu", "flavor": "a100", "missing": "8", "preempted_because": "reclaimed"},
        raw=f"Preempted to accommodate a workload (UID: 1-{MARK}); preemptor path: /research/{MARK}",
    )  # fmt: skip
    seen.running(lab.cluster, "train-0")
    seen.workload(lab.cluster, "report", state="finished", code="succeeded", params={}, stage="")
    seen.workload(lab.cluster, MARK, namespace="cv", queue="cv-train", position=1)
    return lab


def test_tells_place_state_and_reason(full, client):
    client.force_login(full.bob)
    said = pages.words(client.get(URL))

    assert (
        "Needs 8 \N{MULTIPLICATION SIGN} a100: 24 of 16 in its queue are held, 8 more must become free."
        in said
    )
    assert "Preempted, waiting" in said
    assert "because another queue took back what it had lent" in said
    assert "Runs on 8 \N{MULTIPLICATION SIGN} a100." in said
    assert "Finished" in said
    assert "/c/lab/jobs/nlp/job-train-1-0a1b2/" in pages.text(client.get(URL))


def test_counts_are_links_to_just_those(full, client):
    client.force_login(full.bob)
    answer = client.get(f"{URL}?name=train")
    said = pages.words(answer)

    assert "All 4" in said
    assert "Waiting 2" in said
    assert "/jobs/?name=train&amp;state=running" in pages.text(answer)
    assert "Starting" not in said


def test_platform_with_a_team_begins_with_its_own(full, client):
    Membership.objects.create(user=full.dave, tenant=full.nlp, role="user")
    client.force_login(full.dave)
    polled = {"HX-Request": "true"}
    own = client.get(URL, headers=polled)

    assert "train-1" in pages.text(own)
    pages.nothing_of_others(own)
    assert "?whose=all" in pages.text(client.get(URL))
    assert MARK in pages.text(client.get(f"{URL}?whose=all", headers=polled))


def test_a_member_cannot_ask_for_the_jobs_of_everybody(full, client):
    client.force_login(full.bob)

    pages.nothing_of_others(client.get(f"{URL}?whose=all"))


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_see_nothing_of_others(full, client, who):
    client.force_login(getattr(full, who))
    for url in (URL, f"{URL}?state=waiting", f"{URL}?name=B-SECRET", f"{URL}?tenant=cv"):
        pages.nothing_of_others(client.get(url))


@pytest.mark.parametrize("who", ["dave", "carol", "erin"])
def test_platform_sees_every_job(full, client, who):
    client.force_login(getattr(full, who))

    assert MARK in pages.text(client.get(URL))


@pytest.mark.parametrize("who", ["frank", "heidi"])
def test_without_a_right_to_jobs_the_list_is_empty(full, client, who):
    client.force_login(getattr(full, who))
    answer = client.get(URL)

    assert "No job yet" in pages.text(answer)
    assert "train-1" not in pages.text(answer)
    pages.nothing_of_others(answer)


def test_text_that_names_a_job_of_others_is_masked(full, client):
    Workload.objects.filter(job_name="train-1").update(
        code="unknown", params={}, raw=f"waits for cv/{MARK} and job-{MARK}-0a1b2"
    )
    client.force_login(full.bob)
    answer = client.get(URL)

    assert "The cluster says: waits for" in pages.words(answer)
    pages.nothing_of_others(answer)


@pytest.mark.parametrize(
    ("query", "shown", "hidden"),
    [
        ("state=running", "train-0", "train-1"),
        ("name=TRAIN-2", "train-2", "train-0"),
        ("state=nonsense", "train-1", "nothing"),
        ("sort=newest", "train-1", "nothing"),
        ("sort=size", "train-1", "nothing"),
        ("sort=%00", "train-1", "nothing"),
        ("after=broken", "train-1", "nothing"),
        ("name=%00", "<h1>", "nothing"),
    ],
)
def test_filters(full, client, query, shown, hidden):
    client.force_login(full.bob)
    answer = client.get(f"{URL}?{query}")

    assert answer.status_code == 200
    assert shown in pages.text(answer)
    assert f">{hidden}<" not in pages.text(answer)


def test_filter_without_a_hit_says_so(full, client):
    client.force_login(full.bob)

    assert "No job like this" in pages.text(client.get(f"{URL}?name=nowhere"))


def test_long_list_pages_by_key(full, client):
    client.force_login(full.bob)
    first = client.get(f"{URL}?size=2")

    assert 'rel="next"' in pages.text(first)
    found = pages.text(client.get(f"{URL}?size=2&after={first.context['rows'].after}"))
    assert "train-0" in found
    assert "train-1" not in found


def test_nothing_new_is_not_sent_again(full, client):
    client.force_login(full.bob)
    pages.unchanged(client, URL)
    stamp = pages.stamp(client, URL)

    Workload.objects.filter(job_name="train-1").update(position=3)
    assert pages.changed(client, URL, stamp)


def test_stamp_is_personal(full, client):
    client.force_login(full.bob)
    stamp = pages.stamp(client, URL)
    client.force_login(full.dave)

    assert pages.changed(client, URL, stamp)


def test_lost_cluster_is_said(full, client):
    seen.Stream.objects.update(lost_since=seen.timezone.now() - seen.timedelta(minutes=5))
    client.force_login(full.bob)

    assert "The line to the cluster is lost since" in pages.words(client.get(URL))


def test_anonymous_goes_to_the_login(lab, client):
    assert client.get(URL)["Location"].startswith("/login/")


def test_only_reading(lab, client):
    client.force_login(lab.bob)

    assert client.post(URL).status_code == 405


@pytest.mark.parametrize("number", [1, 30])
def test_queries_do_not_grow(lab, client, number):
    seen.lab(lab.cluster)
    for each in range(number):
        seen.workload(lab.cluster, f"train-{each}", position=each + 1)
    client.force_login(lab.bob)
    with counted("queues: jobs"):
        client.get(URL)
    with counted("queues: jobs, poll"):
        client.get(URL, headers={"HX-Request": "true"})


def test_what_did_not_move_asks_only_whether_it_moved(lab, client):
    seen.lab(lab.cluster)
    seen.workload(lab.cluster, "train-1", position=1)
    client.force_login(lab.bob)
    tag = client.get(URL)["ETag"]
    with counted("queues: jobs, unchanged"):
        assert client.get(URL, headers={"If-None-Match": tag}).status_code == 304


@pytest.mark.parametrize(
    ("who", "target"),
    [
        ("dave", "/requests/?show=decide"), ("carol", "/requests/?show=decide"),
        ("erin", "/clusters/"), ("alice", "/t/nlp/"), ("frank", "/t/nlp/"), ("bob", "/jobs/"),
    ],
)  # fmt: skip
def test_home_leads_to_what_the_roles_have_to_do_with(lab, client, who, target):
    client.force_login(getattr(lab, who))

    assert client.get("/")["Location"] == target


def test_home_without_a_role_says_whom_to_ask(lab, client):
    client.force_login(lab.heidi)
    answer = client.get("/")

    assert answer.status_code == 200
    assert "You have no role yet" in pages.text(answer)


def test_a_quiet_cluster_does_not_look_late(full, client):
    """Nothing moves, but the line is alive: the page must not go on with the age it was sent."""
    client.force_login(full.bob)
    stamp = pages.stamp(client, URL)

    seen.Stream.objects.update(alive_at=seen.timezone.now() + seen.timedelta(seconds=11))
    assert pages.changed(client, URL, stamp)
