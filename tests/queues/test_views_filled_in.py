"""The form of a request as a link has filled it in: only what could be sent, and never sent."""

import pytest

from tenants.models import Request
from tests.queues import pages, plans, seen

NEW = "/t/nlp/requests/new"
FIELD = "nlp-train/a100/nominal"


@pytest.fixture
def alice(lab, client):
    seen.lab(lab.cluster)
    client.force_login(lab.alice)
    return client


def test_a_link_fills_in_numbers_and_shows_what_they_would_change(lab, alice):
    seen.workload(lab.cluster, "train-1")
    link = {FIELD: "24", "reason": "For train-1", "job": "nlp/train-1", "cluster": "lab"}
    answer = alice.get(NEW, link)
    said = pages.words(answer)

    assert f'name="{FIELD}" value="24"' in pages.text(answer)
    assert "today 16" in said
    assert "For train-1" in said
    assert "Filled in for the job train-1" in said
    assert "/c/lab/jobs/nlp/job-train-1-0a1b2/" in pages.text(answer)
    assert "24 → 32 GPUs promised of 32, 0 left" in said
    assert not Request.objects.exists()


def test_a_link_can_lift_a_limit_and_opens_it(alice):
    answer = alice.get(NEW, {"nlp-train/a100/borrowing_limit": "4"})

    assert 'name="nlp-train/a100/borrowing_limit" value="4"' in pages.text(answer)
    assert "<details open>" in pages.text(answer)
    assert "today unlimited" in pages.words(answer)


def test_a_limit_of_today_stays_closed(alice):
    answer = alice.get(NEW, {"nlp-train/a100/borrowing_limit": "unlimited"})

    assert "<details open>" not in pages.text(answer)
    assert "nothing would change" in pages.words(answer)


@pytest.mark.parametrize("bad", ["", "-1", "1.5", "٣", "1e3", "9" * 30, "<b>", "\0", "16 17"])
def test_what_nobody_could_send_is_not_filled_in(alice, bad):
    answer = alice.get(NEW, {FIELD: bad})

    assert answer.status_code == 200
    assert f'name="{FIELD}" value="16"' in pages.text(answer)
    assert "could not be used" in pages.words(answer)


def test_a_number_that_came_twice_is_not_guessed(alice):
    answer = alice.get(f"{NEW}?{FIELD}=24&{FIELD}=32")

    assert f'name="{FIELD}" value="16"' in pages.text(answer)


def test_a_link_cannot_name_the_queue_of_others(alice):
    answer = alice.get(NEW, {"cv-train/a100/nominal": "0", "csrfmiddlewaretoken": "x"})

    assert "cv-train/a100/nominal" not in pages.text(answer).replace("cv-train%2Fa100", "")
    assert "Filled in" not in pages.words(answer)


@pytest.mark.parametrize("job", ["cv/secret", "nlp/none", "nlp", "/", "nlp/", "\0/x", "nlp/\0"])
def test_a_job_that_the_viewer_does_not_see_is_not_named(lab, alice, job):
    seen.workload(lab.cluster, "secret", namespace="cv", queue="cv-train")
    answer = alice.get(NEW, {FIELD: "24", "job": job})

    assert "Filled in by a link" in pages.words(answer)
    assert "Filled in for" not in pages.words(answer)


def test_text_of_a_link_is_only_text(alice):
    answer = alice.get(NEW, {"reason": "<script>alert(1)</script>"})

    assert "<script>alert" not in pages.text(answer)
    assert "&lt;script&gt;alert(1)" in pages.text(answer)


def test_a_correction_keeps_what_was_asked(lab, alice):
    request = plans.asked(lab, devices=20)
    Request.objects.filter(pk=request.pk).update(state="refused")
    answer = alice.get(f"/requests/{request.pk}/edit", {FIELD: "31"})

    assert f'name="{FIELD}" value="20"' in pages.text(answer)


def test_what_was_typed_counts_more_than_the_link(alice):
    answer = alice.post(f"{NEW}?{FIELD}=24", {FIELD: "20", "reason": "", "preview": "1"})

    assert f'name="{FIELD}" value="20"' in pages.text(answer)
