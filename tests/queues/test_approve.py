"""Decisions: who, on what, within which numbers, and only once."""

from dataclasses import replace

import pytest

from kube.catalog import StopPolicy
from kube.edits import SetStopPolicy
from portal.web.errors import DomainError, Stale
from queues.models import Apply, Decision, Plan
from queues.services.approve import (
    AlreadyDecided,
    ConflictOpen,
    NotReady,
    PlanChanged,
    approve,
    reject,
)
from queues.services.capacity import PoolExceeded
from queues.services.plan_objects import Tried
from queues.services.reasons import ReasonMissing
from tenants import audit
from tenants.access import Denied
from tenants.models import AuditEvent, Cluster, PlatformRole, Request, Revision
from tenants.services import requests
from tenants.services.catalog import commit_revision, head
from tests.queues.plans import asked, at_once, planned, proposed


def nominal(cast, name):
    queue = next(queue for _tenant, queue in head(cast.cluster).queues() if queue.name == name)
    return next(line.nominal for line in queue.quotas if line.resource == "nvidia.com/gpu")


def test_commits_a_revision_and_queues_the_apply(lab):
    plan = planned(asked(lab, devices=20))
    apply = approve(actor=lab.carol, plan=plan, digest=plan.digest)
    plan.refresh_from_db()
    request = plan.request
    request.refresh_from_db()
    assert (plan.state, request.state, apply.state) == ("approved", "approved", "queued")
    assert nominal(lab, "nlp-train") == 20
    assert apply.revision == request.revision == Revision.objects.get(number=2)
    assert [result.state for result in apply.results.all()] == ["pending"]
    decision = Decision.objects.get(plan=plan)
    assert decision.actor == lab.carol
    assert decision.evidence["capacity"][0]["committed"] == 28
    assert decision.evidence["capacity"][0]["committed_before"] == 24
    assert audit.verify("tenant:nlp").intact


@pytest.mark.parametrize("who", ["alice", "bob", "erin", "grace", "frank", "heidi"])
def test_refuses_people_without_the_right(lab, who):
    plan = planned(asked(lab))
    with pytest.raises(Denied):
        approve(actor=getattr(lab, who), plan=plan, digest=plan.digest)
    assert not Apply.objects.exists()


def test_refuses_own_request_also_for_an_administrator(lab):
    PlatformRole.objects.create(user=lab.alice, role="admin")
    plan = planned(asked(lab))
    with pytest.raises(Denied) as refusal:
        approve(actor=lab.alice, plan=plan, digest=plan.digest)
    assert refusal.value.code == "GP-1121"
    event = AuditEvent.objects.filter(action="plan.approve").latest("pk")
    assert (event.actor, event.outcome, event.data["code"]) == (lab.alice, "refused", "GP-1121")


def test_refuses_another_digest_than_the_one_shown(lab):
    plan = planned(asked(lab))
    with pytest.raises(PlanChanged):
        approve(actor=lab.carol, plan=plan, digest="0" * 64)


def test_refuses_a_plan_that_is_being_made(lab):
    plan = Plan.objects.create(request=asked(lab), cluster=lab.cluster)
    with pytest.raises(NotReady):
        approve(actor=lab.carol, plan=plan, digest="")


def test_refuses_while_writing_is_off(lab):
    plan = planned(asked(lab))
    Cluster.objects.update(writing=False)
    with pytest.raises(DomainError) as refusal:
        approve(actor=lab.carol, plan=plan, digest=plan.digest)
    assert refusal.value.code == "GP-4207"


def test_refuses_more_than_the_pool_has_with_the_numbers(lab):
    first = planned(asked(lab, devices=22))
    second = planned(asked(lab, "cv-train", devices=16))
    approve(actor=lab.carol, plan=first, digest=first.digest)
    with pytest.raises(PoolExceeded) as refusal:
        approve(actor=lab.carol, plan=second, digest=second.digest)
    assert refusal.value.details == {
        "flavor": "a100", "capacity": 32, "promised": 30, "free": 2, "asked": 8,
    }  # fmt: skip
    assert "2 are free, 8 more are asked for" in str(refusal.value)
    assert AuditEvent.objects.latest("pk").data["code"] == "GP-4204"


def test_lets_an_oversubscribed_pool_be_given_less(lab):
    # The agreed size shrinks below what is promised.
    smaller = tuple(replace(each, capacity=20) for each in head(lab.cluster).flavors)
    catalog = replace(head(lab.cluster), flavors=smaller)
    commit_revision(cluster=lab.cluster, catalog=catalog, actor=None, summary="Four nodes broke")
    plan = planned(asked(lab, devices=15))
    apply = approve(actor=lab.carol, plan=plan, digest=plan.digest)
    assert apply.state == "queued"
    assert nominal(lab, "nlp-train") == 15


def test_an_unrelated_revision_does_not_void_a_plan(lab):
    mine = planned(asked(lab, devices=18))
    other = planned(asked(lab, "cv-train", devices=9))
    approve(actor=lab.carol, plan=other, digest=other.digest)
    assert approve(actor=lab.carol, plan=mine, digest=mine.digest).revision.number == 3
    assert (nominal(lab, "nlp-train"), nominal(lab, "cv-train")) == (18, 9)


def test_a_change_of_the_same_object_voids_the_plan_and_plans_anew(lab):
    mine = planned(asked(lab, devices=18))
    # The administrator stops the same queue first: another field of the same object.
    edits = [SetStopPolicy(queue="nlp-train", policy=StopPolicy.HOLD)]
    other = planned(proposed(lab, edits))
    approve(actor=lab.carol, plan=other, digest=other.digest)
    with pytest.raises(PlanChanged):
        approve(actor=lab.carol, plan=mine, digest=mine.digest)
    mine.refresh_from_db()
    assert (mine.state, mine.request.state) == ("superseded", "submitted")
    assert planned(mine.request).state == "ready"


def test_a_conflict_needs_an_administrator_who_takes_it_back_with_a_reason(lab):
    conflict = {"manager": "kubectl-edit", "field": "spec.resourceGroups", "values": []}
    plan = planned(asked(lab), tried=Tried.CONFLICT, conflicts=[conflict])
    with pytest.raises(ConflictOpen, match="kubectl-edit"):
        approve(actor=lab.carol, plan=plan, digest=plan.digest)
    with pytest.raises(Denied):
        approve(actor=lab.carol, plan=plan, digest=plan.digest, take_back=True, reason="Ours")
    with pytest.raises(ReasonMissing):
        approve(actor=lab.dave, plan=plan, digest=plan.digest, take_back=True, reason=" ")
    apply = approve(
        actor=lab.dave, plan=plan, digest=plan.digest, take_back=True, reason="Agreed with them"
    )
    assert apply.force
    assert plan.decision.reason == "Agreed with them"


def test_rejects_with_a_reason_and_frees_what_was_asked_for(lab):
    plan = planned(asked(lab))
    for nothing in ("", "\u00a0", "\u200b\u2060", "\u3164"):
        with pytest.raises(ReasonMissing):
            reject(actor=lab.carol, plan=plan, digest=plan.digest, reason=nothing)
    reject(actor=lab.carol, plan=plan, digest=plan.digest, reason="Not this quarter")
    request = Request.objects.get(pk=plan.request_id)
    assert (request.state, request.open_targets.count()) == ("rejected", 0)
    with pytest.raises(AlreadyDecided):
        approve(actor=lab.dave, plan=plan, digest=plan.digest)


# --- at one moment --------------------------------------------------------------------------------


def test_of_two_approvals_at_once_one_wins(committed_lab):
    lab = committed_lab
    plan = planned(asked(lab))
    results = at_once(
        lambda: approve(actor=lab.carol, plan=Plan.objects.get(pk=plan.pk), digest=plan.digest),
        lambda: approve(actor=lab.dave, plan=Plan.objects.get(pk=plan.pk), digest=plan.digest),
    )
    won = [each for each in results if isinstance(each, Apply)]
    lost = [each for each in results if isinstance(each, AlreadyDecided)]
    assert (len(won), len(lost)) == (1, 1), results
    assert Apply.objects.count() == 1
    assert "already decided" in str(lost[0])
    assert audit.verify("tenant:nlp").intact


def test_of_two_approvals_that_exceed_the_pool_together_one_is_refused(committed_lab):
    lab = committed_lab
    first, second = planned(asked(lab, devices=22)), planned(asked(lab, "cv-train", devices=14))
    results = at_once(
        lambda: approve(actor=lab.carol, plan=first, digest=first.digest),
        lambda: approve(actor=lab.dave, plan=second, digest=second.digest),
    )
    refused = [each for each in results if isinstance(each, PoolExceeded)]
    assert len([each for each in results if isinstance(each, Apply)]) == 1, results
    assert len(refused) == 1
    assert refused[0].details["free"] == 2
    assert refused[0].details["asked"] == 6


def test_approving_and_withdrawing_at_once_does_one_of_both(committed_lab):
    lab = committed_lab
    for _round in range(5):
        request = asked(lab, devices=17)
        plan = planned(request)
        results = at_once(
            lambda p=plan: approve(actor=lab.carol, plan=p, digest=p.digest),
            lambda r=request: requests.withdraw(actor=lab.alice, request=r),
        )
        request.refresh_from_db()
        failed = [each for each in results if isinstance(each, Exception)]
        assert len(failed) == 1, results
        assert isinstance(failed[0], Stale)
        approved = request.state == "approved"
        assert approved or request.state == "withdrawn"
        assert Apply.objects.filter(request=request).exists() == approved
        if approved:
            break


# --- further refusals -------------------------------------------------------------------------------


def test_edits_that_break_a_rule_by_now_void_the_plan(lab):
    plan = planned(asked(lab, devices=18))
    Request.objects.filter(pk=plan.request_id).update(
        edits=[{"edit": "set_stop_policy", "queue": "gone", "policy": "Hold"}]
    )
    with pytest.raises(PlanChanged):
        approve(actor=lab.carol, plan=plan, digest=plan.digest)
    plan.refresh_from_db()
    assert plan.state == "superseded"


def test_a_rejection_is_for_the_plan_that_was_shown_and_only_once(lab):
    plan = planned(asked(lab))
    with pytest.raises(PlanChanged):
        reject(actor=lab.carol, plan=plan, digest="0" * 64, reason="No")
    reject(actor=lab.carol, plan=plan, digest=plan.digest, reason="No")
    with pytest.raises(AlreadyDecided, match="Carol"):
        reject(actor=lab.dave, plan=plan, digest=plan.digest, reason="No")
    waiting = Plan.objects.create(request=asked(lab), cluster=lab.cluster)
    with pytest.raises(NotReady):
        reject(actor=lab.carol, plan=waiting, digest="", reason="No")
