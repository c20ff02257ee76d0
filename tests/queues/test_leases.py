"""Claims, fences, pauses: rows as a queue."""

from datetime import timedelta

import pytest
from django.utils import timezone

from kube import errors
from queues.models import Apply, ObjectResult, Plan, PlanObject
from queues.services import outcome
from queues.services.approve import approve
from queues.services.leases import (
    MAX_LOST,
    MAX_RETURNS,
    LeaseLost,
    claim,
    pause,
    worn_out,
)
from queues.services.writer import only_writer
from tenants import audit
from tenants.models import AuditEvent
from tests.queues.plans import asked, at_once, planned


@pytest.fixture
def queued(lab):
    plan = planned(asked(lab))
    return approve(actor=lab.carol, plan=plan, digest=plan.digest)


def taken(row):
    return claim(row, states=("queued", "running", "unknown"), to="running")


def test_a_claimed_row_is_taken(queued):
    lease = taken(queued)
    assert (lease.fence, queued.state, queued.attempts) == (1, "running", 1)
    assert taken(Apply.objects.get(pk=queued.pk)) is None


def test_a_row_that_waits_is_not_taken_before_its_time(queued):
    Apply.objects.update(next_try_at=timezone.now() + timedelta(minutes=1))
    assert taken(queued) is None


def test_an_expired_lease_is_taken_over_and_the_first_holder_learns_it(queued):
    first = taken(queued)
    Apply.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    second = taken(Apply.objects.get(pk=queued.pk))
    assert second.fence == 2
    second.beat()
    for act in (first.beat, first.check):
        with pytest.raises(LeaseLost):
            act()


def test_of_many_claims_at_once_one_wins(committed_lab):
    plan = planned(asked(committed_lab))
    row = approve(actor=committed_lab.carol, plan=plan, digest=plan.digest)
    results = at_once(*[lambda: taken(Apply.objects.get(pk=row.pk))] * 4)
    assert sum(each is not None for each in results) == 1


def test_pauses_grow_stay_bounded_and_honour_the_cluster():
    assert pause(0) < timedelta(seconds=3)
    assert timedelta(seconds=40) < pause(30) < timedelta(seconds=80)
    assert pause(0, retry_after=7) >= timedelta(seconds=7)


def test_a_row_is_worn_out_by_lost_workers_or_by_too_many_returns():
    assert not worn_out(Apply(attempts=MAX_LOST))
    assert worn_out(Apply(attempts=MAX_LOST + 1))
    assert not worn_out(Plan(attempts=40, returns=38))
    assert worn_out(Plan(attempts=MAX_RETURNS, returns=MAX_RETURNS))


def test_the_lock_of_a_cluster_is_for_one_connection(db):
    with only_writer(7) as first, only_writer(7) as second, only_writer(8) as other:
        assert (first is not None, second is None, other is not None) == (True, True, True)
        first.check()
        first._connection.close()
        with pytest.raises(LeaseLost):
            first.check()
    with only_writer(7) as again:
        assert again is not None


# --- how an attempt ends ----------------------------------------------------------------------------


def begun(row):
    lease = taken(row)
    row.request.refresh_from_db()
    outcome.move(row.request, "applying")
    return lease


@pytest.mark.parametrize(
    "error",
    [
        errors.Unreachable("gone"),
        errors.Throttled("slow down", retry_after=9.0),
        errors.WebhookDown("refused", webhook="mclusterqueue.kb.io"),
        errors.Credential("401"),
        errors.Terminating("going"),
    ],
)
def test_trouble_gives_the_row_back_with_its_reason(queued, error):
    before = timezone.now()
    outcome.give_back(begun(queued), error)
    queued.refresh_from_db()
    queued.request.refresh_from_db()
    assert (queued.state, queued.request.state) == ("queued", "approved")
    assert (queued.error_code, queued.returns) == (error.code, 1)
    assert queued.next_try_at > before + timedelta(seconds=error.retry_after or 1)
    assert queued.held_since is not None


def test_what_no_retry_mends_is_stuck(queued):
    outcome.give_back(begun(queued), errors.Forbidden("no right"))
    queued.request.refresh_from_db()
    assert (queued.state, queued.request.state) == ("stuck", "stuck")


def test_the_trail_names_the_people_for_whom_a_worker_acts(queued):
    line = {"path": "spec.nominalQuota", "before": "16", "after": "20", "kind": "change"}
    PlanObject.objects.filter(kind="ClusterQueue").update(operation="update", changes=[line])
    PlanObject.objects.filter(kind="Cohort").update(operation="create", changes=[line])
    outcome.give_back(begun(queued), errors.Forbidden("no right"))
    event = AuditEvent.objects.filter(action="apply.result").latest("pk")
    told = (event.data["asked_by"], event.data["decided_by"], event.data["reason"])
    assert told == ("alice", "carol", "A bigger model")
    assert event.data["code"] == errors.Forbidden("").code
    changes = {each["object"]: each.get("changes") for each in event.data["objects"]}
    assert changes["ClusterQueue nlp-train"] == [line]
    assert {value for name, value in changes.items() if name.startswith("Cohort")} <= {None}
    assert audit.verify(event.scope).intact


def test_what_was_written_before_makes_it_partial(queued):
    lease = begun(queued)
    ObjectResult.objects.update(state="applied")
    outcome.give_back(lease, errors.KindMissing("no such kind"))
    assert queued.state == "partial"


def test_an_open_result_makes_the_apply_unknown(queued):
    lease = begun(queued)
    ObjectResult.objects.update(state="unknown")
    outcome.give_back(lease, errors.Unknown("lost"))
    queued.request.refresh_from_db()
    assert (queued.state, queued.request.state) == ("unknown", "unknown")


def test_too_many_returns_end_it(queued):
    lease = begun(queued)
    queued.returns = MAX_RETURNS
    outcome.give_back(lease, errors.Unreachable("still gone"))
    assert (queued.state, queued.error) == ("stuck", "still gone")
