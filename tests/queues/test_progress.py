"""How far a request has come, step by step, and what it asks for in words."""

import pytest
from django.utils import timezone

from queues.models import Apply, Plan
from queues.selectors.requests import course
from queues.services.approve import approve, reject
from queues.services.plan import request_plan
from queues.views.progress import Way, summary
from tenants.models import Request
from tests.queues import plans

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"edit": "set_quota", "queue": "q", "flavor": "a100", "resource": "nvidia.com/gpu",
          "nominal": 9}, ["q: 9 GPUs of a100"]),
        ({"edit": "set_quota", "queue": "q", "flavor": "a100", "resource": "cpu",
          "nominal": "72"}, []),
        ({"edit": "set_stop_policy", "queue": "q", "policy": "Hold"},
         ["queue q takes no new jobs; what runs goes on"]),
        ({"edit": "set_stop_policy", "queue": "q", "policy": "None"}, ["queue q takes jobs again"]),
        ({"edit": "put_tenant", "slug": "new"}, ["tenant new"]),
        ({"edit": "put_flavor", "flavor": {"name": "h100"}}, ["flavor h100 with all its values"]),
        ({"edit": "put_cohort", "cohort": {"name": "lab"}}, ["department lab with all its values"]),
        ({"edit": "replace", "catalog": {}}, ["a whole catalog"]),
    ],
)  # fmt: skip
def test_says_in_words_what_is_asked(edit, words):
    assert summary(Request(edits=[edit])) == words


def states(request, viewer):
    request.refresh_from_db()
    return [step.state for step in Way(course(request), viewer).steps()]


def test_each_step_follows_the_one_before(lab):
    request = plans.asked(lab, devices=20)
    assert states(request, lab.alice) == ["done", "now", "todo", "todo", "todo"]
    plan = plans.planned(request)
    assert states(request, lab.alice) == ["done", "done", "now", "todo", "todo"]
    apply = approve(actor=lab.carol, plan=plan, digest=plan.digest)
    assert states(request, lab.alice) == ["done", "done", "done", "now", "todo"]
    Apply.objects.filter(pk=apply.pk).update(state="succeeded", finished_at=timezone.now())
    assert states(request, lab.alice) == ["done", "done", "done", "done", "now"]
    Apply.objects.filter(pk=apply.pk).update(seen_at=timezone.now())
    assert states(request, lab.alice) == ["done", "done", "done", "done", "done"]


def test_a_rejection_ends_the_way(lab):
    request = plans.asked(lab, devices=20)
    plan = plans.planned(request)
    reject(actor=lab.carol, plan=plan, digest=plan.digest, reason="Too much")

    assert states(request, lab.alice)[2:] == ["failed", "todo", "todo"]


@pytest.mark.parametrize(
    ("state", "steps"),
    [
        ("refused", ["done", "failed", "todo"]),
        ("withdrawn", ["done", "todo", "failed"]),
    ],
)
def test_what_ended_early_is_told(lab, state, steps):
    request = plans.asked(lab, devices=20)
    Request.objects.filter(pk=request.pk).update(state=state)

    assert states(request, lab.alice)[:3] == steps


def test_an_apply_that_stopped_is_a_failed_step(lab):
    request = plans.asked(lab, devices=20)
    plan = plans.planned(request)
    apply = approve(actor=lab.carol, plan=plan, digest=plan.digest)
    Apply.objects.filter(pk=apply.pk).update(state="conflict")

    assert states(request, lab.alice)[3] == "failed"


def test_what_holds_a_plan_up_stands_in_its_step(lab):
    request = plans.asked(lab, devices=20)
    waiting = request_plan(request=request)
    Plan.objects.filter(pk=waiting.pk).update(error="The cluster does not answer.")

    step = Way(course(request), lab.alice).steps()[1]
    assert step.note == "The cluster does not answer."


@pytest.mark.parametrize(("who", "links"), [("bob", False), ("alice", True), ("carol", True)])
def test_the_plan_is_a_link_for_those_who_may_read_it(lab, who, links):
    request = plans.asked(lab, devices=20)
    plans.planned(request)
    request.refresh_from_db()

    step = Way(course(request), getattr(lab, who)).steps()[1]
    assert bool(step.url) == links
