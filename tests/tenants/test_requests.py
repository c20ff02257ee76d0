"""Requests: what is stored, what is refused and why, and who wins a race."""

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection

from kube.catalog import PrioritySpec
from kube.edits import PutFlavor, PutPriority, PutQueue, SetQuota, SetStopPolicy
from portal.web.errors import Stale
from tenants import access
from tenants.models import AuditEvent, OpenTarget, Queue, Request
from tenants.models.states import move
from tenants.services import catalog, requests
from tenants.services.proposals import devices
from tenants.signals import work_ready
from tests import cast

KEY = "key-0123456789"


@pytest.fixture
def woken():
    seen = []

    def note(sender, *, cluster_id, **_):
        seen.append(cluster_id)

    work_ready.connect(note, weak=False)
    yield seen
    work_ready.disconnect(note)


def wish(people, nominal=24, queue="nlp-train"):
    return devices(catalog.head(people.cluster), queue, "a100", nominal)


def ask(
    people, actor=None, *, edits=None, key=KEY, reason="A new model.", kind="quota", tenant=...
):
    return requests.submit(
        actor=actor or people.alice,
        cluster=people.cluster,
        tenant=people.nlp if tenant is ... else tenant,
        kind=kind,
        edits=wish(people) if edits is None else edits,
        reason=reason,
        key=key,
    )


def problems_of(refused):
    return [(each.field, each.code) for each in refused.value.problems]


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


# --- taking back and correcting -------------------------------------------------------------------------------


def test_withdraws(people, woken):
    row = requests.withdraw(actor=people.alice, request=ask(people))

    assert row.state == "withdrawn"
    assert row.version == 2
    assert len(woken) == 2
    assert AuditEvent.objects.filter(action="request.withdraw", outcome="done").exists()


def test_withdraws_for_author_and_administrator_only(people):
    row = ask(people)

    for name in ("bob", "frank", "carol", "erin", "grace", "heidi"):
        with pytest.raises(access.Denied):
            requests.withdraw(actor=getattr(people, name), request=row)
    assert requests.withdraw(actor=people.dave, request=row).state == "withdrawn"


@pytest.mark.parametrize(
    "state", ["approved", "applying", "applied", "rejected", "withdrawn", "abandoned"]
)
def test_does_not_withdraw_what_is_decided(people, state):
    row = ask(people)
    Request.objects.filter(pk=row.pk).update(state=state)

    with pytest.raises(Stale, match="GP-1101"):
        requests.withdraw(actor=people.alice, request=row)
    assert AuditEvent.objects.filter(action="request.withdraw", outcome="refused").count() == 1


def refused_request(people):
    row = ask(people)
    return move(row, "refused", problems=[{"field": "", "code": "GP-3102", "message": "no"}])


def test_corrects_a_refused_request(people, woken):
    row = requests.resubmit(
        actor=people.alice, request=refused_request(people), edits=wish(people, 20), reason="Less.",
    )  # fmt: skip

    assert row.state == "submitted"
    assert row.edits[2]["nominal"] == 20
    assert (row.reason, row.problems) == ("Less.", [])
    assert row.open_targets.get().target == "queue:nlp-train/a100"


def test_correction_is_checked_too(people):
    row = refused_request(people)

    with pytest.raises(requests.Invalid):
        requests.resubmit(actor=people.alice, request=row, edits=wish(people, 99), reason="More.")
    row.refresh_from_db()
    assert row.state == "refused"
    assert row.open_targets.count() == 1


def test_does_not_correct_over_somebody_elses_correction(people):
    row = refused_request(people)

    with pytest.raises(Stale, match="GP-1119"):
        requests.resubmit(
            actor=people.alice, request=row, edits=wish(people, 20), reason="r", version=1
        )


def test_does_not_correct_what_is_not_refused(people):
    with pytest.raises(Stale):
        requests.resubmit(
            actor=people.alice, request=ask(people), edits=wish(people, 20), reason="r"
        )


# --- races ------------------------------------------------------------------------------------------------


def at_once(*tasks):
    """Run every task in a thread of its own, started at one moment; give what each gave."""
    start, results = threading.Barrier(len(tasks)), [None] * len(tasks)

    def run(index, task):
        start.wait()
        try:
            results[index] = task()
        except Exception as error:
            results[index] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=each) for each in enumerate(tasks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_one_of_two_requests_for_one_thing(people_for_threads):
    people = people_for_threads

    results = at_once(
        lambda: ask(people, key="first-key-1"),
        lambda: ask(people, people.dave, key="second-key-2"),
    )

    assert sorted(type(result).__name__ for result in results) == ["AlreadyOpen", "Request"]
    assert Request.objects.count() == OpenTarget.objects.count() == 1


def test_one_request_for_one_key(people_for_threads):
    people = people_for_threads

    results = at_once(*[lambda: ask(people)] * 4)

    assert len({result.pk for result in results}) == 1
    assert AuditEvent.objects.filter(action="request.submit", outcome="done").count() == 1


def test_one_of_withdrawing_and_deciding(people_for_threads):
    people = people_for_threads
    row = move(ask(people), "planned")

    results = at_once(
        lambda: requests.withdraw(actor=people.alice, request=row),
        lambda: move(Request.objects.get(pk=row.pk), "approved"),
    )

    assert sum(isinstance(result, Stale) for result in results) == 1


# --- state machine --------------------------------------------------------------------------------------------

STATES = list(Request.State.values)


@pytest.mark.parametrize("source", STATES)
@pytest.mark.parametrize("to", STATES)
def test_moves_only_along_the_table(people, source, to):
    row = Request.objects.create(
        cluster=people.cluster, tenant=people.nlp, kind="quota", author=people.alice,
        reason="r", edits=[], key="key-of-alice", state=source,
    )  # fmt: skip

    if to in Request.TRANSITIONS.get(source, ()):
        assert move(row, to).state == to
        assert row.version == 2
    else:
        with pytest.raises(Stale):
            move(row, to)
        assert (row.state, row.version) == (source, 1)


def test_a_step_moves_the_time_that_lists_show(people):
    row, other = ask(people), Request.objects.create(
        cluster=people.cluster, author=people.alice, kind="catalog", reason="r", edits=[],
        key="key-of-another",
    )  # fmt: skip
    Request.objects.update(updated_at=other.created_at - timedelta(hours=1))

    move(row, "planned")

    assert row.updated_at > other.created_at
    assert Request.objects.order_by("-updated_at").first() == row


def test_table_names_only_states():
    assert set(Request.TRANSITIONS) <= set(STATES)
    assert set().union(*Request.TRANSITIONS.values()) <= set(STATES)
    ends = {"applied", "rejected", "withdrawn", "abandoned"}
    assert set(STATES) - Request.OPEN == ends


def test_flavor_request_has_its_own_target(people):
    flavor = replace(catalog.head(people.cluster).flavors[0], capacity=40)

    row = ask(people, people.dave, kind="catalog", tenant=None, edits=[PutFlavor(flavor=flavor)])

    assert row.targets == ["flavor:a100"]
    assert AuditEvent.objects.get(action="request.submit").scope == "platform"


# --- planning again, and what a model says by itself ------------------------------------------------------


@pytest.mark.parametrize(
    "state", ["planned", "refused", "stale", "partial", "conflict", "stuck", "unknown"]
)
def test_plans_again(people, woken, state):
    row = ask(people)
    Request.objects.filter(pk=row.pk).update(state=state)

    assert requests.plan_again(actor=people.alice, request=row).state == "submitted"
    assert row.open_targets.exists()
    assert len(woken) == 2


def test_does_not_plan_again_what_is_done(people):
    row = ask(people)
    Request.objects.filter(pk=row.pk).update(state="applied")

    with pytest.raises(Stale):
        requests.plan_again(actor=people.alice, request=row)


def test_whole_catalog_of_nonsense_is_invalid():
    with pytest.raises(requests.Invalid) as refused:
        requests.whole_catalog({"flavors": 3})

    assert problems_of(refused) == [("flavors", "GP-2104")]


def test_devices_of_an_unknown_flavor_are_invalid(people):
    with pytest.raises(requests.Invalid) as refused:
        requests.submit_devices(
            actor=people.alice, cluster=people.cluster, queue="nlp-train", flavor="h100",
            nominal=1, reason="r", key=KEY,
        )  # fmt: skip

    assert problems_of(refused) == [("flavor", "GP-2212")]


def test_model_refuses_an_unknown_kind(people):
    with pytest.raises(requests.Invalid) as refused:
        ask(people, people.dave, kind="wish", tenant=None, edits=wish(people))

    assert problems_of(refused)[0][0] == "kind"
    assert not Request.objects.exists()


def test_large_edits_are_in_the_trail_by_their_digest(people):
    base = catalog.head(people.cluster)
    many = [
        PutPriority(priority=PrioritySpec(name=f"p-{n}", value=n, contract="c" * 1000))
        for n in range(30)
    ]

    ask(people, people.dave, kind="catalog", tenant=None, edits=many)

    data = AuditEvent.objects.get(action="request.submit").data
    assert data["edits_size"] > 20_000
    assert len(data["edits_digest"]) == 64
    assert "edits" not in data
    assert catalog.head(people.cluster) == base
