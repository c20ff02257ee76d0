"""The owner of idle devices is told: on the tenant's home, and by one mail for each question."""

import smtplib
from datetime import timedelta

import pytest
import time_machine
from django.core.mail import EmailMessage

from costs import tasks
from costs.models import Case
from costs.services import cases, telling
from tenants.models import AuditEvent, Membership, User
from tests.costs import stored
from tests.costs.losing import GPU, clock
from tests.query_counts import counted
from tests.queues import pages

pytestmark = pytest.mark.django_db
NOON = clock("12:00")


@pytest.fixture(autouse=True)
def at_noon():
    with time_machine.travel(NOON, tick=False) as clock_:
        yield clock_


@pytest.fixture
def case(lab, settings):
    """A question of carol about a job of nlp; alice leads it, frank is its finance."""
    settings.MAIL_IS_ON = True
    settings.PUBLIC_URL = "https://gpu.example.com"
    settings.DEFAULT_FROM_EMAIL = "gpu@example.com"
    for person in User.objects.all():
        person.email = f"{person.username}@example.com"
        person.save()
    return question(lab)


def question(lab, subject="uid-1", **more):
    found = Case.objects.create(
        cluster=lab.cluster, tenant=lab.nlp, kind="not_running", subject=subject, flavor="a100",
        resource=GPU, devices=8, since=clock("10:00"), found_at=NOON, seen_at=NOON, queue="nlp-train",
        namespace="nlp", workload="secret-model", **more,
    )  # fmt: skip
    return cases.ask(actor=lab.carol, case=found)


def test_lead_and_finance_get_one_mail_and_nobody_else(case, lab, mailoutbox):
    tasks.tell_owners()
    tasks.tell_owners()
    (mail,) = mailoutbox
    case.refresh_from_db()

    assert mail.to == ["alice@example.com", "frank@example.com"]
    assert (mail.cc, mail.bcc, mail.from_email) == ([], [], "gpu@example.com")
    assert mail.subject == "Language: 8 GPUs held, not running"
    assert f"https://gpu.example.com/t/nlp/costs/idle/{case.pk}/" in mail.body
    assert f"{lab.carol} asks what they are kept for" in mail.body
    assert "nlp-train · a100 · Lab" in mail.body
    assert "secret-model" not in mail.body + mail.subject
    assert (case.told_to, case.told_at) == (2, NOON)
    assert AuditEvent.objects.filter(action="case.told").count() == 1


def test_off_by_default(case, mailoutbox, settings):
    settings.MAIL_IS_ON = False
    tasks.tell_owners()

    assert mailoutbox == []
    assert Case.objects.get().told_at is None


def test_who_has_no_address_or_has_left_is_not_told(case, lab, mailoutbox):
    User.objects.filter(pk=lab.alice.pk).update(email="")
    User.objects.filter(pk=lab.frank.pk).update(is_active=False)
    Membership.objects.create(user=lab.grace, tenant=lab.nlp, role="user")
    tasks.tell_owners()
    case.refresh_from_db()

    assert mailoutbox == []
    assert (case.told_to, case.told_at) == (0, NOON)


def test_one_person_with_two_roles_gets_one_mail(case, lab, mailoutbox):
    Membership.objects.create(user=lab.alice, tenant=lab.nlp, role="finance")
    tasks.tell_owners()

    assert mailoutbox[0].to == ["alice@example.com", "frank@example.com"]


def test_a_question_that_was_answered_is_not_sent(case, lab, mailoutbox):
    cases.justify(actor=lab.alice, case=case, text="For Monday.")
    tasks.tell_owners()

    assert mailoutbox == []


def test_a_question_that_is_asked_again_is_told_again(case, lab, mailoutbox, at_noon):
    tasks.tell_owners()
    case.refresh_from_db()
    cases.justify(actor=lab.alice, case=case, text="For Monday.")
    at_noon.shift(timedelta(days=8))
    case.refresh_from_db()
    cases.ask(actor=lab.carol, case=case)
    tasks.tell_owners()
    ids = [mail.extra_headers["Message-ID"] for mail in mailoutbox]

    assert len(set(ids)) == 2
    assert all(each.endswith("@gpu.example.com>") for each in ids)


@pytest.mark.parametrize("error", [smtplib.SMTPServerDisconnected("x"), ConnectionRefusedError()])
def test_a_server_that_does_not_take_it_is_tried_again_later_and_later(
    case, mailoutbox, monkeypatch, at_noon, error
):
    tried = []

    def refuse(mail):
        tried.append(telling.timezone.now() - NOON)
        raise error

    with monkeypatch.context() as away:
        away.setattr(EmailMessage, "send", refuse)
        for _minute in range(16):
            tasks.tell_owners()
            at_noon.shift(timedelta(minutes=1))
    assert [int(each.total_seconds() // 60) for each in tried] == [0, 2, 6, 14]
    assert Case.objects.get().told_at is None

    at_noon.shift(timedelta(hours=6))
    tasks.tell_owners()
    assert len(mailoutbox) == 1


def test_mails_that_are_switched_on_later_do_not_tell_of_old_questions(case, mailoutbox, at_noon):
    at_noon.shift(timedelta(days=7, seconds=1))
    tasks.tell_owners()

    assert mailoutbox == []


def test_of_two_workers_one_sends(case, mailoutbox):
    found = telling.due()
    assert [telling.tell(pk) for pk in found * 2] == [True, False]
    assert len(mailoutbox) == 1


def test_many_questions_are_told_in_turns(case, lab, mailoutbox, monkeypatch):
    woken = []
    monkeypatch.setattr(tasks.tell_owners, "wake", lambda: woken.append(1))
    for number in range(telling.TURN):
        question(lab, f"uid-{number + 2}")
    tasks.tell_owners()
    assert (len(mailoutbox), len(woken)) == (telling.TURN, 1)
    tasks.tell_owners()
    assert len({mail.extra_headers["Message-ID"] for mail in mailoutbox}) == telling.TURN + 1


def test_asking_on_the_page_wakes_the_worker(
    case, lab, client, monkeypatch, django_capture_on_commit_callbacks
):
    woken = []
    monkeypatch.setattr(tasks.tell_owners, "wake", lambda: woken.append(1))
    row = Case.objects.create(
        cluster=lab.cluster, tenant=lab.nlp, kind="unheld", subject="nlp-train", flavor="a100",
        resource=GPU, devices=8, nominal=16, since=NOON, found_at=NOON, seen_at=NOON,
    )  # fmt: skip
    client.force_login(lab.carol)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(f"/t/nlp/costs/idle/{row.pk}/ask")

    assert woken == [1]


def test_the_case_says_who_was_told(case, lab, client):
    tasks.tell_owners()
    client.force_login(lab.bob)

    assert "by mail to 2 people" in stored.said(client.get(f"/t/nlp/costs/idle/{case.pk}/"))


def test_the_home_of_the_tenant_shows_the_question(case, lab, client):
    client.force_login(lab.bob)
    page = client.get("/t/nlp/")

    assert "A question about idle devices waits for an answer" in stored.said(page)
    assert f'href="/t/nlp/costs/idle/{case.pk}/"' in pages.text(page)
    assert "secret-model" not in pages.text(page).split('id="now"')[0]
    client.force_login(lab.grace)
    assert "idle devices" not in stored.said(client.get("/t/cv/"))
    cases.justify(actor=lab.alice, case=case, text="For Monday.")
    client.force_login(lab.bob)
    assert "waits for an answer" not in stored.said(client.get("/t/nlp/"))


def test_more_than_three_questions_are_counted(case, lab, client):
    for number in range(4):
        question(lab, f"uid-{number + 2}")
    client.force_login(lab.alice)
    with counted("costs: tenant's home with questions"):
        page = client.get("/t/nlp/")

    assert "5 questions about idle devices wait for an answer" in stored.said(page)
    assert 'href="/t/nlp/costs/idle/">All of them' in pages.text(page)
