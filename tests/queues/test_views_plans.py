"""The decision page binds what is decided to what is shown; the apply page tells each object."""

import pytest
from django.utils import timezone

from kube.edits import PutTenant
from queues.models import Apply, Decision, ObjectResult, Plan, PlanObject
from queues.services.approve import approve
from tenants.models import AuditEvent, Request
from tenants.services.catalog import head
from tests.query_counts import counted
from tests.queues import pages, plans, seen

CONFLICT = {
    "manager": "kubectl-edit",
    "field": ".spec.cohortName",
    "values": [{"path": "spec.cohortName", "theirs": "blue", "ours": "research"}],
}


@pytest.fixture
def plan(lab):
    seen.lab(lab.cluster)
    return plans.planned(plans.asked(lab, devices=20))


def open_(client, person, plan):
    client.force_login(person)
    return client.get(f"/plans/{plan.pk}/")


def test_shows_words_capacity_and_digest(lab, plan, client):
    answer = open_(client, lab.carol, plan)
    said = pages.words(answer)

    assert "nlp-train: 20 GPUs of a100" in said
    assert "24 → 28" in said
    assert plan.digest[:12] in said
    assert f'name="digest" value="{plan.digest}"' in pages.text(answer)


def test_the_approver_is_warned_of_letters_that_look_alike(lab, client):
    shape = next(each for each in head(lab.cluster).tenants if each.slug == "nlp")
    look_alike = PutTenant(slug="nlp", display_name="te\u0430m", cost_centre=shape.cost_centre)
    plan = plans.planned(plans.proposed(lab, [look_alike]))

    assert "mixes alphabets whose letters look alike" in pages.words(open_(client, lab.carol, plan))


def test_old_warnings_are_not_told_again(lab, plan, client):
    assert plan.impact["warnings"] == []
    assert "look twice" not in pages.words(open_(client, lab.carol, plan))


@pytest.mark.parametrize(
    ("who", "may"), [("alice", False), ("carol", True), ("dave", True), ("erin", False)]
)
def test_only_those_who_may_find_the_button(lab, plan, client, who, may):
    text = pages.text(open_(client, getattr(lab, who), plan))
    assert (f"/plans/{plan.pk}/approve" in text) == may


def test_the_author_is_told_that_somebody_else_decides(lab, plan, client):
    Request.objects.filter(pk=plan.request_id).update(author=lab.carol)
    said = pages.words(open_(client, lab.carol, plan))

    assert "Nobody decides on a request of their own" in said
    assert f"/plans/{plan.pk}/approve" not in said


def test_approves_what_was_shown(lab, plan, client):
    client.force_login(lab.carol)
    answer = client.post(f"/plans/{plan.pk}/approve", {"digest": plan.digest})

    assert answer.status_code == 303
    assert Apply.objects.get(plan=plan).state == "queued"
    assert Decision.objects.get(plan=plan).digest == plan.digest
    said = pages.words(open_(client, lab.carol, plan))
    assert "Approved" in said
    assert "Carol" in said


def test_the_pool_is_shown_as_it_is_now_not_as_it_was_planned(lab, plan, client):
    other = plans.planned(plans.asked(lab, "cv-train", devices=16))
    approve(actor=lab.dave, plan=other, digest=other.digest)
    answer = open_(client, lab.carol, plan)
    said = pages.words(answer)

    assert "32 → 36" in said
    assert "cannot be approved as it is" in said
    assert f"/plans/{plan.pk}/approve" not in pages.text(answer)
    assert f"/plans/{plan.pk}/reject" in pages.text(answer)


@pytest.mark.parametrize("digest", ["", "0" * 64])
def test_another_digest_is_refused(lab, plan, client, digest):
    client.force_login(lab.carol)
    answer = client.post(f"/plans/{plan.pk}/approve", {"digest": digest})

    assert answer.status_code == 409
    assert "GP-4201" in pages.text(answer)
    assert not Apply.objects.exists()


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_a_refused_decision_stays_on_the_plan_with_what_was_typed(lab, plan, client, verb):
    client.force_login(lab.carol)
    form = {"digest": "0" * 64, "reason": "Agreed with <Grace>"}
    answer = client.post(f"/plans/{plan.pk}/{verb}", form)

    assert answer.status_code == 409
    text = pages.text(answer)
    assert f'id="{verb}-reason"' in text
    assert "Agreed with &lt;Grace&gt;</textarea>" in text
    assert "What you typed is kept." in pages.words(answer)


def test_what_was_typed_is_shown_although_the_plan_was_replaced(lab, plan, client):
    plan.state = plan.State.SUPERSEDED
    plan.save(update_fields=["state"])
    client.force_login(lab.carol)
    form = {"digest": plan.digest, "reason": "Agreed with Grace"}
    answer = client.post(f"/plans/{plan.pk}/approve", form)

    assert answer.status_code == 409
    assert "Agreed with Grace" in pages.words(answer)
    assert not Apply.objects.exists()


def test_rejects_with_a_reason(lab, plan, client):
    client.force_login(lab.carol)
    form = {"digest": plan.digest}
    assert client.post(f"/plans/{plan.pk}/reject", form).status_code == 422
    assert client.post(f"/plans/{plan.pk}/reject", form | {"reason": "Too much"}).status_code == 303
    assert "Too much" in pages.words(open_(client, lab.alice, plan))


UNREADABLE = {
    "zero": "a\0b", "bidi": "a\u202egpj", "escape": "\x1b[31mred", "invisible": "a\u200bb",
    "long": "x" * 2001,
}  # fmt: skip


@pytest.mark.parametrize("reason", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("verb", ["approve", "reject", "keep-theirs", "abandon"])
def test_a_reason_that_nobody_could_read_is_refused(lab, plan, client, verb, reason):
    client.force_login(lab.dave)
    form = {"digest": plan.digest, "reason": reason}
    answer = client.post(f"/plans/{plan.pk}/{verb}", form)

    assert answer.status_code == 422
    plan.refresh_from_db()
    assert plan.state == "ready"
    assert AuditEvent.objects.filter(outcome="refused").exists()


def test_too_much_for_the_pool_is_refused_with_the_numbers(lab, plan, client):
    other = plans.planned(plans.asked(lab, "cv-train", 14))
    client.force_login(lab.carol)
    client.post(f"/plans/{other.pk}/approve", {"digest": other.digest})
    answer = client.post(f"/plans/{plan.pk}/approve", {"digest": plan.digest})

    assert answer.status_code == 422
    assert "32" in pages.words(answer)
    assert "GP-4204" in pages.text(answer)


@pytest.fixture
def contested(plan):
    plan.planned.update(tried=PlanObject.Tried.CONFLICT, conflicts=[CONFLICT])
    return plan


def test_a_conflict_names_manager_field_and_both_values(lab, contested, client):
    said = pages.words(open_(client, lab.dave, contested))

    for word in ("kubectl-edit", ".spec.cohortName", "blue", "research"):
        assert word in said


def test_a_conflict_has_three_ways_out_for_an_administrator(lab, contested, client):
    text = pages.text(open_(client, lab.dave, contested))

    assert 'name="take_back" value="yes"' in text
    assert f"/plans/{contested.pk}/keep-theirs" in text
    assert f"/plans/{contested.pk}/abandon" in text


def test_an_approver_cannot_take_fields_back(lab, contested, client):
    text = pages.text(open_(client, lab.carol, contested))

    assert "take_back" not in text
    assert "keep-theirs" not in text


def test_takes_back_with_a_reason(lab, contested, client):
    client.force_login(lab.dave)
    form = {"digest": contested.digest, "take_back": "yes"}
    url = f"/plans/{contested.pk}/approve"

    assert client.post(url, form).status_code == 422
    assert client.post(url, form | {"reason": "Ours by agreement"}).status_code == 303
    assert Apply.objects.get().force


def test_gives_up_from_the_plan(lab, contested, client):
    client.force_login(lab.dave)
    answer = client.post(f"/plans/{contested.pk}/abandon", {"reason": "Not worth it"})

    assert answer.status_code == 303
    assert Request.objects.get().state == "abandoned"


def test_what_was_not_tried_is_said(lab, plan, client):
    plan.planned.update(tried=PlanObject.Tried.NOT_YET)

    assert "cannot be tried before its namespace exists" in pages.words(
        open_(client, lab.carol, plan)
    )


def test_a_reduction_says_what_it_hits(lab, plan, client):
    row = {
        "queue": "nlp-train", "flavor": "a100", "resource": "nvidia.com/gpu", "before": 16,
        "after": 8, "held": 12, "over": 4, "borrowers": 1, "room_lost": 8,
    }  # fmt: skip
    Plan.objects.filter(pk=plan.pk).update(impact={"reductions": [row, row | {"resource": "cpu"}]})
    said = pages.words(open_(client, lab.carol, plan))

    assert "goes down from 16 to 8 of a100" in said
    assert "4 are above the new quota" in said
    assert "1 other queue can borrow 8 less" in said


def test_a_plan_that_is_being_made_polls(lab, client):
    seen.lab(lab.cluster)
    from queues.services.plan import request_plan

    waiting = request_plan(request=plans.asked(lab))
    text = pages.text(open_(client, lab.carol, waiting))
    assert "every 2s" in text
    assert "/approve" not in text


def test_a_replaced_plan_leads_to_the_newest(lab, plan, client):
    Plan.objects.filter(pk=plan.pk).update(state="superseded")
    Plan.objects.create(request=plan.request, cluster=plan.cluster, state="waiting")

    assert "A newer plan has replaced this one" in pages.words(open_(client, lab.carol, plan))


def test_plan_is_not_sent_twice(lab, plan, client):
    client.force_login(lab.carol)
    pages.unchanged(client, f"/plans/{plan.pk}/")


def test_plan_asks_as_often_with_many_objects(lab, plan, client):
    client.force_login(lab.carol)
    with counted("queues: plan"):
        client.get(f"/plans/{plan.pk}/")
    one = plan.planned.first()
    for number in range(29):
        one.pk, one.position, one.name = None, 100 + number, f"queue-{number}"
        one.save(force_insert=True)
    with counted("queues: plan"):
        client.get(f"/plans/{plan.pk}/")


# --- the apply ----------------------------------------------------------------------------------


@pytest.fixture
def apply(lab, plan):
    return approve(actor=lab.carol, plan=plan, digest=plan.digest)


def result(apply, state, **facts):
    row = apply.results.first()
    ObjectResult.objects.filter(pk=row.pk).update(state=state, at=timezone.now(), **facts)
    return row


def test_apply_counts_its_objects(lab, apply, client):
    client.force_login(lab.alice)
    assert "0 of 1 objects" in pages.words(client.get(f"/applies/{apply.pk}/"))
    result(apply, "applied")
    assert "1 of 1 objects" in pages.words(client.get(f"/applies/{apply.pk}/"))


def test_apply_shows_both_values_of_what_has_changed(lab, apply, client):
    found = [{"path": "spec.cohortName", "before": "blue", "after": "research", "kind": "change"}]
    result(apply, "stale", found=found, message="changed since the plan")
    client.force_login(lab.alice)
    said = pages.words(client.get(f"/applies/{apply.pk}/"))

    assert "blue" in said
    assert "research" in said


@pytest.mark.parametrize(("who", "may"), [("alice", False), ("carol", False), ("dave", True)])
def test_only_an_administrator_goes_on(lab, apply, client, who, may):
    Apply.objects.filter(pk=apply.pk).update(state="stuck")
    Request.objects.filter(pk=apply.request_id).update(state="stuck")
    client.force_login(getattr(lab, who))

    assert (f"/applies/{apply.pk}/retry" in pages.text(client.get(f"/applies/{apply.pk}/"))) == may


def test_goes_on_where_it_stopped(lab, apply, client):
    Apply.objects.filter(pk=apply.pk).update(state="stuck")
    Request.objects.filter(pk=apply.request_id).update(state="stuck")
    client.force_login(lab.dave)

    assert client.post(f"/applies/{apply.pk}/retry").status_code == 303
    apply.refresh_from_db()
    assert apply.state == "queued"


def test_apply_is_not_sent_twice(lab, apply, client):
    client.force_login(lab.alice)
    pages.unchanged(client, f"/applies/{apply.pk}/")


def test_apply_asks_as_often_with_many_objects(lab, apply, client):
    client.force_login(lab.alice)
    with counted("queues: apply"):
        client.get(f"/applies/{apply.pk}/")
    planned, row = apply.plan.planned.first(), apply.results.first()
    for number in range(29):
        planned.pk, planned.position, planned.name = None, 100 + number, f"queue-{number}"
        planned.save(force_insert=True)
        row.pk, row.object = None, planned
        row.save(force_insert=True)
    with counted("queues: apply"):
        client.get(f"/applies/{apply.pk}/")


@pytest.mark.parametrize(("who", "may"), [("alice", False), ("carol", False), ("dave", True)])
def test_what_another_writer_set_can_be_kept_after_the_apply(lab, apply, client, who, may):
    Request.objects.filter(pk=apply.request_id).update(state="conflict")
    client.force_login(getattr(lab, who))
    text = pages.text(client.get(f"/requests/{apply.request_id}/"))

    assert (f"/plans/{apply.plan_id}/keep-theirs" in text) == may
