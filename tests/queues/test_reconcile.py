"""What is due, found in rows alone; and the ways on that a person has."""

from datetime import timedelta

import pytest
from django.utils import timezone

from queues.models import Apply, Link, Plan
from queues.services import conflicts, reconcile
from queues.services.approve import AlreadyDecided, approve
from queues.services.plan import request_plan
from queues.services.plan_objects import Tried
from queues.services.reasons import ReasonMissing
from tenants.access import Denied
from tenants.models import Cluster, Request
from tenants.services import requests
from tenants.services.catalog import head
from tests.queues.plans import asked, at_once, planned


@pytest.fixture
def linked(lab):
    Link.objects.create(
        cluster=lab.cluster, server="https://127.0.0.1:1", ca_pem="", checked_at=timezone.now()
    )
    return lab


def due(cast):
    return [(step.what, str(step.key)) for step in reconcile.next_steps(cast.cluster.pk)]


def nominal(cast, name="nlp-train"):
    queue = next(queue for _tenant, queue in head(cast.cluster).queues() if queue.name == name)
    return next(line.nominal for line in queue.quotas if "gpu" in line.resource)


def test_a_submitted_request_gets_one_plan(linked):
    request = asked(linked)
    assert due(linked) == [("plan", str(request.plans.get().pk))]
    assert due(linked) == [("plan", str(request.plans.get().pk))]
    assert request_plan(request=request) is None


def test_two_ticks_at_once_make_one_plan(committed_lab):
    request = asked(committed_lab)
    made = at_once(*[lambda: request_plan(request=request)] * 3)
    assert sum(isinstance(each, Plan) for each in made) == 1, made


def test_approved_changes_come_one_at_a_time_in_their_order(linked):
    first, second = planned(asked(linked, devices=17)), planned(asked(linked, "cv-train", 9))
    later = approve(actor=linked.carol, plan=second, digest=second.digest)
    last = approve(actor=linked.carol, plan=first, digest=first.digest)
    assert due(linked) == [("apply", str(later.pk))]
    Apply.objects.filter(pk=later.pk).update(next_try_at=timezone.now() + timedelta(minutes=1))
    assert due(linked) == []
    Apply.objects.filter(pk=later.pk).update(state="succeeded")
    assert due(linked) == [("apply", str(last.pk))]


def test_nothing_is_written_while_writing_is_off(linked):
    plan = planned(asked(linked))
    approve(actor=linked.carol, plan=plan, digest=plan.digest)
    Cluster.objects.update(writing=False)
    assert due(linked) == []


def test_the_work_of_a_lost_worker_is_due_again_when_its_lease_is_over(linked):
    plan = planned(asked(linked))
    row = approve(actor=linked.carol, plan=plan, digest=plan.digest)
    now = timezone.now()
    Apply.objects.update(state="running", lease_until=now + timedelta(seconds=30))
    assert due(linked) == []
    Apply.objects.update(lease_until=now - timedelta(seconds=1))
    assert due(linked) == [("apply", str(row.pk))]


def test_the_plan_of_a_withdrawn_request_is_taken_out_of_the_way(linked):
    request = asked(linked)
    plan = planned(request)
    requests.withdraw(actor=linked.alice, request=request)
    assert due(linked) == []
    plan.refresh_from_db()
    assert plan.state == "superseded"


def test_a_cluster_that_was_never_checked_is_due_for_it(linked):
    Link.objects.update(checked_at=None)
    assert due(linked) == [("preflight", str(linked.cluster.pk))]
    assert reconcile.clusters() == [linked.cluster.pk]


# --- ways on ----------------------------------------------------------------------------------------


@pytest.fixture
def stuck(linked):
    request = asked(linked)
    plan = planned(request)
    row = approve(actor=linked.carol, plan=plan, digest=plan.digest)
    Apply.objects.update(state="stuck", attempts=9, error="refused")
    Request.objects.update(state="stuck")
    row.refresh_from_db()
    request.refresh_from_db()
    return row, request


def test_going_on_needs_an_administrator_and_starts_from_a_clean_row(linked, stuck):
    row, request = stuck
    row.results.update(state="refused", message="no")
    with pytest.raises(Denied):
        conflicts.continue_partial(actor=linked.carol, apply=row)
    conflicts.continue_partial(actor=linked.dave, apply=row)
    row.refresh_from_db()
    request.refresh_from_db()
    assert (row.state, row.attempts, row.error, request.state) == ("queued", 0, "", "approved")
    assert row.results.get().state == "pending"
    with pytest.raises(conflicts.NotNow):
        conflicts.continue_partial(actor=linked.dave, apply=row)


def test_planning_again_replaces_the_approved_plan_and_keeps_its_objects(linked, stuck):
    _row, request = stuck
    conflicts.plan_again(actor=linked.alice, request=request)
    request.refresh_from_db()
    assert request_plan(request=request) is not None
    states = request.plans.order_by("created_at").values_list("state", flat=True)
    assert list(states) == ["superseded", "waiting"]


def test_giving_up_sets_the_catalog_back_with_a_reason(linked, stuck):
    _row, request = stuck
    assert nominal(linked) == 20
    for nothing in ("", "\u200b"):
        with pytest.raises(ReasonMissing):
            conflicts.abandon(actor=linked.alice, request=request, reason=nothing)
    conflicts.abandon(actor=linked.alice, request=request, reason="Not needed")
    request.refresh_from_db()
    assert (request.state, nominal(linked)) == ("abandoned", 16)
    assert request.open_targets.count() == 0


def test_giving_up_what_somebody_changed_again_is_refused(linked, stuck):
    _row, request = stuck
    request.open_targets.all().delete()
    other = planned(asked(linked, devices=18))
    approve(actor=linked.carol, plan=other, digest=other.digest)
    with pytest.raises(conflicts.CannotUndo):
        conflicts.abandon(actor=linked.dave, request=request, reason="Not needed")


def test_giving_up_before_a_decision_changes_no_catalog(linked):
    conflict = {"manager": "kubectl-edit", "field": "spec.resourceGroups", "values": []}
    request = asked(linked)
    planned(request, tried=Tried.CONFLICT, conflicts=[conflict])
    conflicts.abandon(actor=linked.alice, request=request, reason="Theirs is fine")
    assert nominal(linked) == 16


def test_keeping_theirs_needs_a_conflict(linked):
    plan = planned(asked(linked))
    with pytest.raises(Denied):
        conflicts.keep_theirs(actor=linked.carol, plan=plan, reason="Fine")
    with pytest.raises(conflicts.NothingToKeep):
        conflicts.keep_theirs(actor=linked.dave, plan=plan, reason="Fine")
    approve(actor=linked.carol, plan=plan, digest=plan.digest)
    with pytest.raises(AlreadyDecided, match=r"Carol.* has already decided: approved"):
        conflicts.keep_theirs(actor=linked.dave, plan=plan, reason="Fine")
