"""Plans without a cluster that answers: refusals, waiting, ends. The rest is in tests/real."""

import pytest

from kube import errors
from kube.edits import SetQuota, dump_edits
from queues.models import Apply, Plan
from queues.services import apply as applying
from queues.services import outcome, plan
from queues.services.approve import approve
from queues.services.leases import MAX_LOST, claim
from tenants.models import AuditEvent, Request
from tests.queues.plans import asked, planned


def made(request):
    row = plan.request_plan(request=request)
    plan.make_plan(row.pk)
    row.refresh_from_db()
    request.refresh_from_db()
    return row


def edited(request, **line):
    edit = SetQuota(**({"queue": "nlp-train", "flavor": "a100", "resource": "cpu"} | line))
    Request.objects.filter(pk=request.pk).update(edits=dump_edits([edit]))
    request.refresh_from_db()


def test_edits_that_break_a_rule_by_now_are_refused_at_their_field(lab):
    request = asked(lab)
    edited(request, nominal=1, lending_limit=9)
    row = made(request)
    assert (row.state, request.state) == ("refused", "refused")
    assert request.problems[0]["code"] == "GP-2166"
    assert request.problems[0]["field"].endswith("quotas[a100/cpu].lending_limit")
    assert AuditEvent.objects.filter(action="plan.refused", outcome="refused").count() == 1


def test_edits_that_change_nothing_are_refused(lab):
    request = asked(lab)
    edited(request, nominal=16 * 8000)
    assert made(request).problems[0]["code"] == "GP-4213"


def test_a_cluster_that_cannot_be_reached_is_waited_for(lab):
    request = asked(lab)
    row = made(request)
    assert (row.state, request.state) == ("waiting", "submitted")
    assert (row.error_code, row.returns) == ("GP-3116", 1)
    assert row.next_try_at is not None
    assert row.held_since is not None


def test_what_no_retry_mends_is_refused(lab, monkeypatch):
    def missing(*_args, **_more):
        raise errors.KindMissing("no ClusterQueue here")

    monkeypatch.setattr(plan, "look_at", missing)
    assert made(asked(lab)).problems[0]["message"] == "no ClusterQueue here"


def test_a_defect_is_tried_again_and_then_refused(lab, monkeypatch):
    def broken(*_args, **_more):
        raise RuntimeError("a defect")

    monkeypatch.setattr(plan, "look_at", broken)
    request = asked(lab)
    row = made(request)
    assert (row.state, row.error_code, row.returns) == ("waiting", "GP-4409", 0)
    Plan.objects.update(attempts=MAX_LOST + 1, next_try_at=None)
    plan.make_plan(row.pk)
    row.refresh_from_db()
    assert (row.state, row.problems[0]["code"]) == ("refused", "GP-4405")


def test_a_plan_waits_for_an_approved_change_of_the_same_object(lab):
    first = planned(asked(lab))
    approve(actor=lab.carol, plan=first, digest=first.digest)
    first.request.refresh_from_db()
    first.request.open_targets.all().delete()
    row = made(asked(lab, devices=21))
    assert (row.state, row.error_code) == ("waiting", "GP-4211")


def test_a_request_that_was_withdrawn_meanwhile_needs_no_plan(lab):
    request = asked(lab)
    row = plan.request_plan(request=request)
    Request.objects.update(state="withdrawn")
    plan.make_plan(row.pk)
    row.refresh_from_db()
    assert row.state == "superseded"


def test_a_plan_that_another_worker_makes_is_left_alone(lab):
    row = plan.request_plan(request=asked(lab))
    assert claim(row, states=("waiting",), to="waiting") is not None
    plan.make_plan(row.pk)
    row.refresh_from_db()
    assert row.attempts == 1


# --- applies that do not begin ------------------------------------------------------------------------


@pytest.fixture
def queued(lab):
    row = planned(asked(lab))
    return approve(actor=lab.carol, plan=row, digest=row.digest)


def run(row):
    applying.run(row.pk)
    row.refresh_from_db()
    row.request.refresh_from_db()
    return row


def test_an_apply_whose_request_is_planned_again_is_void(queued):
    Request.objects.update(state="submitted")
    assert run(queued).state == "stale"
    assert queued.request.state == "submitted"


def test_another_rendering_than_the_approved_one_is_stale(queued):
    queued.plan.planned.update(wanted_digest="0" * 64)
    assert run(queued).state == "stale"
    assert (queued.error_code, queued.request.state) == ("GP-4402", "stale")


def test_a_row_on_which_workers_die_is_stuck_with_its_request(queued):
    Apply.objects.update(attempts=MAX_LOST + 1)
    assert run(queued).state == "stuck"
    assert (queued.error_code, queued.request.state) == ("GP-4405", "stuck")


def test_a_worn_out_unknown_ends_through_the_states_of_its_request(queued):
    Apply.objects.update(state="unknown", attempts=MAX_LOST + 1)
    Request.objects.update(state="unknown")
    assert run(queued).state == "stuck"
    assert queued.request.state == "stuck"


def test_a_defect_gives_the_row_back(queued, monkeypatch):
    def broken(*_args, **_more):
        raise RuntimeError("a defect")

    monkeypatch.setattr(applying, "_begin", broken)
    assert run(queued).state == "queued"
    assert (queued.error_code, queued.attempts, queued.returns) == ("GP-4409", 1, 0)


def test_an_apply_on_a_cluster_without_a_link_waits(queued):
    assert run(queued).state == "queued"
    assert (queued.error_code, queued.request.state) == ("GP-3116", "approved")
    assert outcome.stopped_state(queued) == "stuck"


def test_an_unknown_id_is_nobodys_work(db):
    assert applying.run("00000000-0000-0000-0000-000000000000") is None
