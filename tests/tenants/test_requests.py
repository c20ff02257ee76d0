"""Requests: what is stored, what is refused and why."""

from dataclasses import replace

import pytest

from kube.catalog import PrioritySpec
from kube.edits import PutPriority, PutQueue, SetQuota, SetStopPolicy
from portal.web.errors import Stale
from tenants import access
from tenants.models import AuditEvent, OpenTarget, Queue, Request
from tenants.services import catalog, requests
from tests import cast
from tests.tenants.asking import KEY, ask, problems_of, wish

# --- what is stored -----------------------------------------------------------------------------------


def test_stores_a_request_and_wakes_somebody(people, woken):
    row = ask(people)

    assert row.state == "submitted"
    assert row.targets == ["queue:nlp-train/a100"]
    assert [edit["resource"] for edit in row.edits] == ["cpu", "memory", "nvidia.com/gpu"]
    assert row.edits[2]["nominal"] == 24
    assert woken == [people.cluster.pk]
    event = AuditEvent.objects.get(action="request.submit")
    assert (event.scope, event.object_id) == ("tenant:nlp", str(row.pk))


def test_changes_nothing_else(people):
    ask(people)

    assert catalog.newest(people.cluster).number == 1
    assert Queue.objects.get(name="nlp-train").lines.get(resource="nvidia.com/gpu").nominal == 16


def test_says_what_the_catalog_would_become(people):
    proposal = requests.proposal_of(ask(people))

    queue = next(q for _tenant, q in proposal.after.queues() if q.name == "nlp-train")
    assert [line.nominal for line in queue.quotas] == [24 * 8000, 24 * 64 * cast.GIB, 24]
    assert proposal.changes
    assert not proposal.errors


def test_same_key_is_the_same_request(people):
    assert ask(people) == ask(people)
    assert Request.objects.count() == 1
    assert AuditEvent.objects.filter(action="request.submit").count() == 1


def test_keys_of_two_people_are_apart(people):
    ask(people)
    edits = wish(people, 10, "cv-train")

    other = ask(people, people.grace, edits=edits, tenant=people.cv)

    assert other.author == people.grace


def test_administrator_asks_on_behalf(people):
    assert ask(people, people.dave).author == people.dave


def test_submits_devices_and_keeps_limits(people):
    row = requests.submit_devices(
        actor=people.alice, cluster=people.cluster, queue="nlp-train", flavor="a100",
        nominal=20, reason="More.", key=KEY,
    )  # fmt: skip

    assert row.tenant == people.nlp
    assert [edit["nominal"] for edit in row.edits] == ["160", "1280Gi", 20]


# --- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bob", "frank", "carol", "erin", "grace", "heidi"])
def test_refuses_who_may_not_ask(people, name):
    with pytest.raises(access.Denied):
        ask(people, getattr(people, name))

    assert not Request.objects.exists()
    event = AuditEvent.objects.get(outcome="refused")
    assert (event.action, event.actor) == ("request.submit", getattr(people, name))


def test_refuses_a_queue_of_another_tenant(people):
    with pytest.raises(requests.Invalid) as refused:
        ask(people, edits=wish(people, 12, "cv-train"))
    theirs = problems_of(refused)
    with pytest.raises(requests.Invalid) as refused:
        ask(people, edits=[SetQuota(queue="no-such", flavor="a100", resource="cpu", nominal=1)])

    assert theirs[0] == problems_of(refused)[0] == ("queue", "GP-1117")


def test_refuses_other_edits_in_a_quota_request(people):
    with pytest.raises(requests.Invalid) as refused:
        ask(people, edits=[SetStopPolicy(queue="nlp-train", policy="Hold")])

    assert problems_of(refused) == [("edits", "GP-1116")]


def test_refuses_a_flavor_that_the_queue_does_not_offer(people):
    edit = SetQuota(queue="nlp-train", flavor="h100", resource="nvidia.com/gpu", nominal=1)
    with pytest.raises(requests.Invalid) as refused:
        ask(people, edits=[edit])

    assert problems_of(refused) == [("flavor", "GP-1118")]


@pytest.mark.parametrize("kind", ["catalog", "quota"])
def test_refuses_a_catalog_change_by_a_lead(people, kind):
    edit = PutPriority(priority=PrioritySpec(name="mine", value=9))
    with pytest.raises(access.Denied):
        ask(people, kind=kind, tenant=None, edits=[edit])


def test_refuses_more_than_the_pool(people):
    with pytest.raises(requests.Invalid) as refused:
        ask(people, edits=wish(people, 25))

    assert problems_of(refused) == [("flavors[a100]", "GP-2176")]
    assert "33 devices, the pool has 32" in str(refused.value)


def test_lets_an_overcommitted_pool_shrink(people):
    head = catalog.head(people.cluster)
    smaller = replace(head, flavors=(replace(head.flavors[0], capacity=10),))
    catalog.commit_revision(
        cluster=people.cluster, catalog=smaller, actor=None, summary="Two nodes are broken"
    )

    assert ask(people, edits=wish(people, 8)).state == "submitted"
    with pytest.raises(requests.Invalid, match="GP-1110"):
        ask(people, edits=wish(people, 17), key="another-key")


def test_refuses_what_changes_nothing(people):
    with pytest.raises(requests.Invalid) as refused:
        ask(people, edits=wish(people, 16))
    assert problems_of(refused) == [("", "GP-1113")]

    with pytest.raises(requests.Invalid) as refused:
        ask(people, edits=[])
    assert problems_of(refused) == [("", "GP-1113")]


@pytest.mark.parametrize(
    "key", ["", "short", "a" * 65, "with space 12345", "nul\0nul\0nul", "ключ-ключ"]
)
def test_refuses_a_broken_key(people, key):
    with pytest.raises(Exception, match="GP-1410"):
        ask(people, key=key)


def test_refuses_too_many_open_requests(people, monkeypatch):
    monkeypatch.setattr(requests, "MOST_OPEN", 1)
    ask(people)

    with pytest.raises(requests.TooManyOpen):
        ask(people, key="another-key")


def test_refuses_too_many_edits(people):
    with pytest.raises(requests.Invalid) as refused:
        ask(people, edits=wish(people) * 100)

    assert problems_of(refused) == [("edits", "GP-1115")]


# --- one open request for one thing -----------------------------------------------------------------------


def test_refuses_a_second_open_request(people):
    first = ask(people)

    with pytest.raises(requests.AlreadyOpen, match="nlp-train/a100") as refused:
        ask(people, edits=wish(people, 20), key="another-key")

    assert refused.value.details["request"] == str(first.pk)
    assert Request.objects.count() == 1


def test_whole_queue_and_its_quota_exclude_each_other(people):
    ask(people)
    queue = next(q for _t, q in catalog.head(people.cluster).queues() if q.name == "nlp-train")
    edit = PutQueue(tenant="nlp", queue=replace(queue, weight="2"))

    with pytest.raises(requests.AlreadyOpen):
        ask(people, people.dave, kind="catalog", edits=[edit])


def test_target_is_free_after_the_end(people):
    requests.withdraw(actor=people.alice, request=ask(people))

    assert not OpenTarget.objects.exists()
    assert ask(people, key="another-key").state == "submitted"


@pytest.mark.parametrize(
    "state", ["planned", "refused", "approved", "applying", "partial", "stale"]
)
def test_target_stays_taken_while_open(people, state):
    row = ask(people)
    Request.objects.filter(pk=row.pk).update(state=state)

    with pytest.raises(requests.AlreadyOpen):
        ask(people, edits=wish(people, 20), key="another-key")


def test_refuses_a_form_that_was_sent_before_with_other_numbers(people):
    first = ask(people)
    for changed in ({"edits": wish(people, 22)}, {"reason": "Another one."}):
        with pytest.raises(Stale) as refused:
            ask(people, **changed)
        assert (refused.value.code, refused.value.details) == (
            "GP-1120",
            {"request": str(first.pk)},
        )

    assert Request.objects.get() == first
