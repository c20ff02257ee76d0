"""The page of one job: the cause, the way it has to go, the numbers, and what to do next."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from queues.models import ObservedObject, Workload
from tenants.models import Entry, Queue, QuotaLine
from tests.cast import MARK
from tests.query_counts import counted
from tests.queues import pages, plans, seen

URL = "/c/lab/jobs/nlp/train-1/"
GPU = "nvidia.com/gpu"
X = "\N{MULTIPLICATION SIGN}"
FIELD = "nlp-train/a100/nominal"


def reason(code, stage="quota", **more):
    """One reason as the observer stores it."""
    return {"stage": stage, "code": code, "never": False, "params": {}} | more


SHORT = reason(
    "quota_short", resource=GPU, flavor="a100", asked=8, free=3, missing=5, pod_set="main",
    freed_by="own_queue", raw="insufficient unused quota for nvidia.com/gpu", params={"missing": "5"},
)  # fmt: skip
TOO_LARGE = reason(
    "max_cohort", resource=GPU, flavor="a100", asked=64, free=32, missing=32, never=True,
    freed_by="quota", params={"capacity": "32"},
    change={"kind": "ClusterQueue", "queue": "nlp-train", "flavor": "a100", "resource": GPU,
            "field": "nominal", "from": 16, "to": 48},
)  # fmt: skip


@pytest.fixture
def full(lab):
    """A job at place 3, behind one of its own team and one of the vision team."""
    seen.lab(lab.cluster)
    seen.workload(
        lab.cluster, "first", position=1, devices=4, priority=2000, priority_class="boss-urgent"
    )
    seen.workload(lab.cluster, MARK, namespace="cv", position=2, devices=16)
    seen.workload(
        lab.cluster, "train-1", position=3, positioned_at=timezone.now(), reasons=[SHORT],
        params={"resource": GPU, "flavor": "a100", "missing": "5"}, priority_class="normal-batch",
    )  # fmt: skip
    return lab


@pytest.fixture
def bob(full, client):
    client.force_login(full.bob)
    return client


@pytest.fixture
def alice(full, client):
    client.force_login(full.alice)
    return client


def now(**changes):
    """Change the job that the page is about."""
    Workload.objects.filter(job_name="train-1").update(**changes)


def held(number, **limits):
    """Let the language team hold so many of its 16."""
    row = ObservedObject.objects.get(kind="ClusterQueue", name="nlp-train")
    row.body = seen.queue_body(16, number, **limits)
    row.save(update_fields=["body"])


# --- cause, numbers, place -------------------------------------------------------------------------


def test_says_the_sentence_the_numbers_and_the_place(bob):
    said = pages.words(bob.get(URL))

    assert f"Needs 8 {X} a100: 24 of 16 in its queue are held, 5 more must become free." in said
    assert "Waiting for quota" in said
    assert "Asked8 GPUs" in said
    assert "Free3 GPUs" in said
    assert "Missing5 GPUs" in said
    assert "3 of 3 jobs that wait" in said
    assert "2 jobs are ahead and ask for 20 GPUs. 1 of them is your team" in said
    assert "Jobs of your team ahead" in said
    assert "A job that comes later may start first when it fits and this one does not." in said
    assert "not yet compared with its own list" in said
    assert "As the cluster said" in said


def test_names_nobody_of_those_ahead(bob):
    pages.nothing_of_others(bob.get(URL))


def test_ladder_has_the_evidence_at_its_stage(bob):
    now(reasons=[SHORT, reason("untolerated_taint", "request", flavor="h100", never=True,
                               freed_by="owner", params={"taint": "spot"}),
                 reason("quota_short", resource="cpu", flavor="a100", asked=64000, free=24000,
                        missing=40000, params={"missing": "40"}, oscillating=True)])  # fmt: skip
    said = pages.words(bob.get(URL))

    assert "Routing done entry main leads to the queue nlp-train" in said
    assert "carry the taint spot" in said
    assert "Quota waits here" in said
    assert "pod set main · 8 GPUs asked, 3 GPUs free, 5 GPUs missing · ends with jobs of its own queue" in said  # fmt: skip
    assert "64 CPU asked, 24 CPU free, 40 CPU missing" in said
    assert "comes and goes between two looks of the scheduler" in said
    assert "Pods not reached" in said
    assert "To use h100: Use another entry, or add a toleration" in said


def test_what_can_never_start_says_so_and_what_the_most_is(alice):
    now(devices=64, code="max_cohort", never=True, reasons=[TOO_LARGE],
        params={"resource": GPU, "flavor": "a100", "capacity": "32"})  # fmt: skip
    said = pages.words(alice.get(URL))

    assert "Cannot run" in said
    assert "Waiting alone will not help." in said
    assert "At most32 GPUs" in said
    assert "Too many32 GPUs" in said
    assert "Make the job smaller: 32 GPUs are the most" in said
    assert "More quota of a100 needs 32 GPUs, and 8 are not promised yet." in said
    assert "Ask for more quota" not in said
    assert "starts by itself" not in said


def test_old_text_is_marked_as_old(bob):
    now(reasons=[SHORT | {"stale": True}])
    said = pages.words(bob.get(URL))

    assert "has not looked at it since things changed" in said
    assert "it is no longer so" in said


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"preempting": True}, "Their pods may still hold the GPUs for a while"),
        ({"state": "stopping", "code": "preempted"}, "Its pods may still hold their GPUs"),
        ({"reasons": [SHORT, reason("pods_still_stopping", "pods", freed_by="nodes")]},
         "Its old pods are still on their machines"),
    ],
)  # fmt: skip
def test_pods_that_still_hold_devices_are_told(bob, changes, told):
    now(**changes)

    assert told in pages.words(bob.get(URL))


def test_place_that_is_not_known_is_not_guessed(bob):
    now(position=None)

    assert "The cluster has not told its place in the queue." in pages.words(bob.get(URL))


def test_words_of_the_cluster_are_escaped_and_masked(bob):
    now(reasons=[SHORT | {"raw": f"<script>alert(1)</script> waits for cv/{MARK}"}])
    answer = bob.get(URL)

    assert "<script>alert" not in pages.text(answer)
    assert "&lt;script&gt;alert(1)" in pages.text(answer)
    pages.nothing_of_others(answer)


def test_name_of_a_job_is_only_text(bob):
    now(job_name="<b>x</b>")
    answer = bob.get("/c/lab/jobs/nlp/job-train-1-0a1b2/")

    assert "<b>x</b>" not in pages.text(answer)
    assert "&lt;b&gt;x&lt;/b&gt;" in pages.text(answer)


@pytest.mark.parametrize("state", ["running", "finished", "deactivated", "gone", "starting"])
def test_what_does_not_wait_has_a_page_too(bob, state):
    now(state=state, stage="", code=state if state != "gone" else "deleted", reasons=[], params={})

    assert bob.get(URL).status_code == 200


# --- what would help ---------------------------------------------------------------------------------


def link(answer, start):
    """Give the first address on the page that begins so, as the browser reads it."""
    found = pages.text(answer).split(f'href="{start}', 1)[1].split('"', 1)[0]
    return (start + found).replace("&amp;", "&")


def test_a_lead_asks_for_what_is_missing_with_everything_filled_in(alice):
    url = link(alice.get(URL), "/t/nlp/requests/new?")
    sent = parse_qs(urlsplit(url).query)

    assert sent[FIELD] == ["21"]
    assert sent["cluster"] == ["lab"]
    assert sent["reason"] == ["For the job nlp/train-1: it asks for 8 GPUs of a100."]
    said = pages.words(alice.get(url))
    assert "Filled in for the job train-1" in said
    assert "24 → 29 GPUs promised of 32, 3 left" in said


def test_a_user_is_told_to_ask_the_lead(bob):
    said = pages.words(bob.get(URL))

    assert "Let a lead of your tenant ask for more quota: 21 GPUs of a100 instead of 16." in said
    assert "requests/new" not in pages.text(bob.get(URL))


def test_a_borrowing_limit_that_is_in_the_way_is_the_field_to_raise(alice):
    change = TOO_LARGE["change"] | {"field": "borrowing_limit", "from": 4, "to": 12}
    now(code="max_borrowing", never=True, reasons=[TOO_LARGE | {"change": change}])
    answer = alice.get(URL)

    assert "Ask to borrow more: up to 12 GPUs of a100" in pages.words(answer)
    sent = parse_qs(urlsplit(link(answer, "/t/nlp/requests/new?")).query)
    assert sent["nlp-train/a100/borrowing_limit"] == ["12"]


@pytest.mark.parametrize(
    ("devices", "told"), [(21, "would be enough"), (20, "would not be enough")]
)
def test_an_open_request_takes_the_place_of_a_new_one(full, alice, devices, told):
    row = plans.asked(full, devices=devices)
    answer = alice.get(URL)

    assert f"A request for {devices} GPUs of a100 is open" in pages.words(answer)
    assert told in pages.words(answer)
    assert f"/requests/{row.pk}/" in pages.text(answer)
    assert "requests/new" not in pages.text(answer)


def test_a_size_that_is_free_now_is_offered(bob):
    held(13)

    assert "Make the job smaller: 3 GPUs are free now." in pages.words(bob.get(URL))


def other_queue(lab, namespace="nlp", free=12):
    queue = Queue.objects.create(
        cluster=lab.cluster, tenant=lab.nlp, name="nlp-dev", purpose="development",
        strategy="BestEffortFIFO", stop_policy="None", spec={},
    )  # fmt: skip
    Entry.objects.create(queue=queue, cluster=lab.cluster, namespace=namespace, name="dev")
    QuotaLine.objects.create(queue=queue, position=0, flavor="l4", resource=GPU, nominal=16)
    body = seen.queue_body(16, 16 - free, parent="")
    body["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "l4"
    body["status"]["flavorsReservation"][0]["name"] = "l4"
    seen.observed(lab.cluster, "ClusterQueue", "nlp-dev", body)


def test_another_entry_that_could_take_it_now_is_offered(full, bob):
    other_queue(full)
    said = pages.words(bob.get(URL))

    assert "Send it to the entry dev: 12 GPUs of l4 are free there now." in said
    assert "kueue.x-k8s.io/queue-name: dev" in said


def test_an_entry_of_another_namespace_is_named_with_it(full, bob):
    other_queue(full, namespace="nlp-dev")

    assert "entry dev of the namespace nlp-dev" in pages.words(bob.get(URL))


def test_an_entry_that_is_full_is_not_offered(full, bob):
    other_queue(full, free=7)

    assert "Send it to the entry" not in pages.words(bob.get(URL))


@pytest.mark.parametrize("code", ["no_queue_label", "entry_missing"])
def test_a_job_without_an_entry_is_told_which_there_are(full, bob, code):
    other_queue(full)
    now(queue="", stage="routing", code=code,
        reasons=[reason(code, "routing", never=True, freed_by="owner")])  # fmt: skip
    said = pages.words(bob.get(URL))

    assert "Its namespace has the entries dev (12 GPUs free), main (0 GPUs free)." in said
    assert "kueue.x-k8s.io/queue-name: dev" in said


def test_lender_gets_a_text_with_numbers_and_without_names(full, bob):
    held(8)
    cv = ObservedObject.objects.get(kind="ClusterQueue", name="cv-train")
    cv.body = seen.queue_body(8, 12)
    cv.save(update_fields=["body"])
    answer = bob.get(URL)
    said = pages.words(answer)

    assert "4 GPUs of your own quota of a100 are lent out. Ask for them back." in said
    assert "Our job nlp/train-1 waits for 8 GPUs of a100 in the queue nlp-train (Lab)." in said
    assert "The queue holds 8 of its 16; 5 GPUs more must become free." in said
    assert "mailto:?subject=5%20GPUs" in pages.text(answer)
    pages.nothing_of_others(answer)


def test_idle_quota_that_is_not_lent_can_be_asked_for(full, bob):
    cv = ObservedObject.objects.get(kind="ClusterQueue", name="cv-train")
    cv.body = seen.queue_body(8, 2, lendingLimit=0)
    cv.save(update_fields=["body"])

    assert "6 GPUs of a100 in your department are idle and not lent." in pages.words(bob.get(URL))


@pytest.mark.parametrize(
    ("freed_by", "told"),
    [
        ("own_queue", "starts by itself when enough jobs of its queue have ended"),
        ("cohort", "or give back what they have borrowed"),
        ("nodes", "when machines have room"),
        ("controller", "Wait for the decision"),
        ("kueue", "Nothing to do"),
        ("admin", "Ask those who run the cluster"),
    ],
)
def test_there_is_always_a_next_step(bob, freed_by, told):
    now(reasons=[reason("check_pending", "check", freed_by=freed_by)])
    said = pages.words(bob.get(URL))

    assert told in said
    assert "Or wait" not in said  # there is no other way to choose from


# --- rights, addresses, polling ------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["frank", "grace", "heidi"])
def test_who_may_not_read_the_job_gets_what_does_not_exist_gets(full, client, who):
    client.force_login(getattr(full, who))
    answer, nothing = client.get(URL), client.get("/c/lab/jobs/nlp/none/")

    assert (answer.status_code, nothing.status_code) == (404, 404)
    assert "train-1" not in pages.text(answer).replace("/c/lab/jobs/nlp/train-1/", "")


@pytest.mark.parametrize("who", ["dave", "carol", "erin"])
def test_platform_reads_every_job(full, client, who):
    client.force_login(getattr(full, who))

    assert client.get(f"/c/lab/jobs/cv/{MARK}/").status_code == 200


def test_job_is_found_by_both_its_names(bob):
    assert "train-1" in pages.text(bob.get("/c/lab/jobs/nlp/job-train-1-0a1b2/"))


def test_job_in_a_queue_of_others_tells_nothing_about_that_queue(full, bob):
    now(queue="cv-train", reasons=[SHORT])
    answer = bob.get(URL)

    assert "Quota of its queue" not in pages.words(answer)
    assert "8 of 8" not in pages.words(answer)


def test_nothing_new_is_not_sent_again(bob):
    pages.unchanged(bob, URL)
    stamp = pages.stamp(bob, URL)

    now(position=2)
    assert pages.changed(bob, URL, stamp)


def test_an_open_request_moves_the_page(full, bob):
    stamp = pages.stamp(bob, URL)
    plans.asked(full, devices=20)

    assert pages.changed(bob, URL, stamp)


def test_lost_cluster_is_said(bob):
    seen.Stream.objects.update(lost_since=timezone.now() - seen.timedelta(minutes=5))

    assert "The line to the cluster is lost since" in pages.words(bob.get(URL))


def test_anonymous_goes_to_the_login(full, client):
    assert client.get(URL)["Location"].startswith("/login/")


def test_only_reading(bob):
    assert bob.post(URL).status_code == 405


@pytest.mark.parametrize("number", [1, 30])
def test_queries_do_not_grow(full, bob, number):
    for each in range(number):
        seen.workload(full.cluster, f"more-{each}", position=4 + each)
    now(reasons=[SHORT] * number)
    with counted("queues: job"):
        bob.get(URL)


@pytest.mark.parametrize("number", [1, 30])
def test_queries_of_a_poll_do_not_grow(full, bob, number):
    for each in range(number):
        seen.workload(full.cluster, f"more-{each}", position=4 + each)
    with counted("queues: job, polled"):
        bob.get(URL, headers={"HX-Request": "true"})


def test_what_did_not_move_asks_only_whether_it_moved(full, bob):
    stamp = pages.stamp(bob, URL)
    with counted("queues: job, unchanged"):
        assert not pages.changed(bob, URL, stamp)
