"""Asking, the list of requests, and one request on its way: what each person finds there."""

import pytest

from queues.models import Apply, Plan
from queues.services.approve import approve
from tenants.models import OpenTarget, Request
from tests.query_counts import counted
from tests.queues import pages, plans, seen

NEW = "/t/nlp/requests/new"
KEY = "form-key-of-this-test"
FIELD = "nlp-train/a100/nominal"
LIMITS = {
    "nlp-train/a100/borrowing_limit": "unlimited",
    "nlp-train/a100/lending_limit": "everything",
}
HTMX = {"HX-Request": "true"}


def filled(devices="24", reason="A bigger model", **more):
    return {FIELD: devices, "reason": reason, "form_key": KEY, **LIMITS, **more}


@pytest.fixture
def alice(lab, client):
    seen.lab(lab.cluster)
    client.force_login(lab.alice)
    return client


# --- asking -----------------------------------------------------------------------------------


def test_form_shows_the_numbers_of_today(alice):
    said = pages.words(alice.get(NEW))

    assert "today 16" in said
    assert "held now" in said
    assert "8 CPU, 64 GiB for each GPU" in said


def test_sends_a_request_once_for_a_double_click(alice):
    first = alice.post(NEW, filled())
    second = alice.post(NEW, filled())

    assert (first.status_code, second.status_code) == (303, 303)
    assert first["Location"] == second["Location"]
    assert Request.objects.get().edits[-1]["nominal"] == 24


def test_htmx_is_sent_to_the_request(alice):
    answer = alice.post(NEW, filled(), headers=HTMX)

    assert answer.status_code == 204
    assert answer["HX-Redirect"].startswith("/requests/")


def test_preview_shows_fields_and_capacity_and_stores_nothing(alice):
    answer = alice.post(NEW, filled(reason="", preview="1"), headers=HTMX)
    said = pages.words(answer)

    assert answer.status_code == 200
    assert "<!doctype" not in pages.text(answer)
    assert "ClusterQueue/nlp-train" in said
    assert "24 → 32 GPUs promised of 32, 0 left" in said
    assert not Request.objects.exists()


def test_preview_works_as_a_whole_page(alice):
    answer = alice.post(NEW, filled(preview="1"))

    assert answer.status_code == 200
    assert "24 → 32 GPUs promised" in pages.words(answer)
    assert "A bigger model" in pages.text(answer)


@pytest.mark.parametrize(
    ("devices", "told"),
    [
        ("16", "nothing would change"),
        ("1.5", "cannot be read yet"),
        ("40", "32"),
    ],
)
def test_preview_tells_what_stands_against_it(alice, devices, told):
    assert told in pages.words(alice.post(NEW, filled(devices, preview="1"), headers=HTMX))


@pytest.mark.parametrize("devices", ["", "-1", "1.5", "٣", "1e3", "40", "9" * 30])
def test_bad_numbers_stay_in_the_form_with_their_message(alice, devices):
    answer = alice.post(NEW, filled(devices))

    assert answer.status_code == 422
    assert "field-error" in pages.text(answer)
    assert "A bigger model" in pages.text(answer)
    assert not Request.objects.exists()


def test_every_mistake_is_told_at_once_beside_its_field(alice):
    answer = alice.post(NEW, filled("40", reason=""))
    said = pages.words(answer)

    assert pages.text(answer).count('class="field-error"') == 2
    assert "of 32, 16 too many" in said
    assert "cannot be read yet" not in said


@pytest.mark.parametrize("reason", [" ", "\u00a0", "\u3164", "\u200b"])
def test_a_reason_is_needed(alice, reason):
    answer = alice.post(NEW, filled(reason=reason))

    assert answer.status_code == 422
    assert not Request.objects.exists()


def test_a_second_open_request_for_the_same_is_refused(alice):
    alice.post(NEW, filled())
    answer = alice.post(NEW, filled("20", form_key="another-key-of-this-test"))

    assert answer.status_code == 422
    assert "open request" in pages.words(answer)
    assert OpenTarget.objects.count() == 1


def test_a_tenant_without_queues_is_told_the_next_step(lab, client):
    from tenants.models import Tenant

    Tenant.objects.create(slug="new", display_name="New")
    client.force_login(lab.dave)

    assert "No queue to ask for" in pages.words(client.get("/t/new/requests/new"))


# --- the list ---------------------------------------------------------------------------------


def test_list_says_in_words_what_is_asked(lab, alice):
    plans.planned(plans.asked(lab, devices=20))

    said = pages.words(alice.get("/requests/"))
    assert "nlp-train: 20 GPUs of a100" in said
    assert "Waiting for a decision" in said


def test_list_has_nothing_of_others(lab, alice):
    plans.asked(lab, "cv-train", 4)

    answer = alice.get("/requests/")
    pages.nothing_of_others(answer)
    assert "No requests yet" in pages.words(answer)


@pytest.mark.parametrize(
    ("query", "found"),
    [("show=decide", True), ("show=closed", False), ("show=open&tenant=nlp", True),
     ("tenant=cv", False), ("show=%00", True), ("sort=nonsense&after=broken", True)],
)  # fmt: skip
def test_list_is_narrowed(lab, client, query, found):
    plans.planned(plans.asked(lab, devices=20))
    client.force_login(lab.carol)

    assert ("A bigger model" in pages.text(client.get(f"/requests/?{query}"))) == found


def test_list_is_not_sent_twice(lab, alice):
    plans.planned(plans.asked(lab, devices=20))
    pages.unchanged(alice, "/requests/")


def test_list_asks_as_often_for_30_rows_as_for_one(lab, client):
    client.force_login(lab.dave)
    plans.asked(lab)
    with counted("queues: requests"):
        client.get("/requests/")
    one = Request.objects.get()
    for number in range(29):
        Request.objects.create(
            cluster=one.cluster, tenant=one.tenant, kind="quota", author=lab.alice,
            reason="More", edits=one.edits, key=f"key-number-{number}", state="withdrawn",
        )  # fmt: skip
    with counted("queues: requests"):
        client.get("/requests/")


# --- one request ------------------------------------------------------------------------------


def page_of(client, request):
    return client.get(f"/requests/{request.pk}/")


def test_request_follows_the_way_of_a_change(lab, alice):
    request = plans.asked(lab, devices=20)
    assert "plan is being made" in pages.words(page_of(alice, request))

    plan = plans.planned(request)
    said = pages.words(page_of(alice, request))
    assert "Waits for a decision" in said
    assert "nlp-train: 20 GPUs of a100" in said

    approve(actor=lab.carol, plan=plan, digest=plan.digest)
    said = pages.words(page_of(alice, request))
    assert "Carol" in said
    assert "waiting for a worker" in said.lower()


def test_request_is_not_sent_twice(lab, alice):
    request = plans.asked(lab, devices=20)
    plans.planned(request)
    pages.unchanged(alice, f"/requests/{request.pk}/")


def test_request_page_moves_with_its_state(lab, alice):
    request = plans.asked(lab, devices=20)
    stamp = pages.stamp(alice, f"/requests/{request.pk}/")
    plans.planned(request)

    assert pages.changed(alice, f"/requests/{request.pk}/", stamp)


@pytest.mark.parametrize(
    ("state", "ways"),
    [
        ("submitted", {"withdraw"}),
        ("planned", {"withdraw"}),
        ("refused", {"withdraw", "edit", "plan-again"}),
        ("approved", set()),
        ("stale", {"plan-again", "abandon"}),
        ("conflict", {"plan-again", "abandon"}),
        ("partial", {"plan-again", "abandon"}),
        ("stuck", {"plan-again", "abandon"}),
        ("applied", set()),
        ("withdrawn", set()),
    ],
)
def test_each_state_offers_its_ways_out(lab, alice, state, ways):
    request = plans.asked(lab, devices=20)
    Request.objects.filter(pk=request.pk).update(state=state)
    text = pages.text(page_of(alice, request))
    known = {"withdraw", "edit", "plan-again", "abandon"}

    assert {each for each in known if f"/requests/{request.pk}/{each}" in text} == ways


def test_a_refused_request_shows_the_clusters_words_and_is_corrected(lab, alice):
    request = plans.asked(lab, devices=20)
    words = "spec.cohortName: Invalid value: the webhook does not like it"
    problem = {
        "field": "tenants[nlp].queues[nlp-train].cohort", "code": "GP-3103", "message": words,
        "severity": "error", "params": {},
    }  # fmt: skip
    Request.objects.filter(pk=request.pk).update(state="refused", problems=[problem])
    assert "the webhook does not like it" in pages.words(page_of(alice, request))

    form = alice.get(f"/requests/{request.pk}/edit")
    assert 'value="20"' in pages.text(form)
    answer = alice.post(f"/requests/{request.pk}/edit", filled("22"))
    request.refresh_from_db()
    assert answer.status_code == 303
    assert (request.state, request.edits[-1]["nominal"]) == ("submitted", 22)


def test_a_mistake_in_a_correction_stays_in_the_form(lab, alice):
    request = plans.asked(lab, devices=20)
    Request.objects.filter(pk=request.pk).update(state="refused")

    answer = alice.post(f"/requests/{request.pk}/edit", filled("40"))
    assert answer.status_code == 422
    assert "field-error" in pages.text(answer)


def test_withdraws(lab, alice):
    request = plans.asked(lab, devices=20)
    assert alice.post(f"/requests/{request.pk}/withdraw").status_code == 303
    request.refresh_from_db()
    assert request.state == "withdrawn"


def test_plans_again_and_gives_up(lab, alice):
    request = plans.asked(lab, devices=20)
    Request.objects.filter(pk=request.pk).update(state="stale")
    assert alice.post(f"/requests/{request.pk}/plan-again").status_code == 303
    request.refresh_from_db()
    assert request.state == "submitted"

    Request.objects.filter(pk=request.pk).update(state="stale")
    assert alice.post(f"/requests/{request.pk}/abandon").status_code == 422
    assert (
        alice.post(f"/requests/{request.pk}/abandon", {"reason": "Not needed"}).status_code == 303
    )
    request.refresh_from_db()
    assert request.state == "abandoned"


def test_request_asks_as_often_with_many_objects(lab, alice):
    request = plans.asked(lab, devices=20)
    plan = plans.planned(request)
    with counted("queues: request"):
        page_of(alice, request)
    one = plan.planned.first()
    for number in range(29):
        one.pk, one.position, one.name = None, 100 + number, f"queue-{number}"
        one.save(force_insert=True)
    with counted("queues: request"):
        page_of(alice, request)


def test_nothing_was_applied_or_planned_by_looking(lab, alice):
    request = plans.asked(lab, devices=20)
    before = (Plan.objects.count(), Apply.objects.count())
    page_of(alice, request)

    assert (Plan.objects.count(), Apply.objects.count()) == before
