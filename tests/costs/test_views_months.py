"""Pages of months: what they say is what is stored, each step is taken by who may, nothing by GET."""

import csv
import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest
import time_machine

from costs.facts import Quality
from costs.models import Discrepancy, Dispute, Period, StatementLine
from costs.selectors.periods import as_restated
from costs.services import disputes, findings, periods, reconcile
from costs.times import HOUR
from portal.web.wording import DASH, MINUS
from tenants.models import AuditEvent
from tests.cast import MARK
from tests.costs import stored
from tests.costs.ledger_rows import ITEMS, bill_of, book_of, closed, item, written
from tests.costs.test_reconcile import november, w16
from tests.query_counts import counted
from tests.queues import pages

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def in_december():
    with time_machine.travel(datetime(2026, 12, 2, 9, 30, tzinfo=UTC), tick=False):
        yield


@pytest.fixture
def month(lab):
    """A November of chargeback with a gap and a difference, reconciled."""
    period = november(lab, purpose="chargeback", hours=3)
    lost = stored.fact(stored.at(30, 20), "nlp", quality=Quality.MISSING, committed=16)
    stored.store(lab.cluster, lost)
    reconcile.run(period=period)
    period.refresh_from_db()
    return period


def ask(client, lab, who, url, data=None):
    client.force_login(getattr(lab, who))
    return client.get(url) if data is None else client.post(url, data)


def actions(scope="platform"):
    rows = AuditEvent.objects.filter(scope=scope, outcome="done").order_by("seq")
    return [f"{each.action} {each.actor_name}" for each in rows if each.action != "revision.commit"]


def test_the_home_ties_the_bill_and_names_what_keeps_a_month_open(lab, month, client):
    said = stored.said(ask(client, lab, "erin", "/costs/"))
    sums = month.statements.filter(tenant__isnull=False)
    tenants = sum(each.total for each in sums)

    assert f"Tenants {tenants:.2f} + Platform {96 - tenants:.2f} = Bill USD 96.00" in said
    assert "Every cent of the bill is in one place." in said
    assert "30 Nov 20:00 to 30 Nov 21:00 UTC. Settle" in said
    assert "6.0 borrowed hours of a100 have no price in the book. Settle" in said
    assert "Nobody has reviewed it." in said
    assert "Open a month" not in said  # an auditor changes nothing


def test_the_board_lists_findings_with_size_tolerance_and_words(lab, month, client):
    url = f"/costs/periods/{month.pk}/"
    said = stored.said(ask(client, lab, "dave", url))

    assert "Nobody listened to lab for 1.0 of 1 hour, 30 Nov 20:00 to 30 Nov 21:00 UTC." in said
    assert f"Blocks the close 1.0 h {DASH}" in said
    assert "6.0 device-h" in said
    row = f"Blocks the close 1.0 h {DASH}"
    assert row not in stored.said(client.get(url + "?code=unpriced"))
    assert row in stored.said(client.get(url + "?state=blocks"))
    assert "No finding matches." in stored.said(client.get(url + "?state=settled"))
    assert row in stored.said(client.get(url + "?state=nonsense&sort=password&who=x"))


def test_the_file_has_all_findings(lab, month, client):
    answer = ask(client, lab, "erin", f"/costs/periods/{month.pk}.csv")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))

    assert {each["finding"] for each in rows} == set(
        month.discrepancies.values_list("code", flat=True)
    )
    assert {each["period"] for each in rows} == {"2026-11"}
    assert all(each["explanation"] for each in rows)


def test_a_month_goes_from_findings_to_closed_by_two_people(lab, month, client):
    url = f"/costs/periods/{month.pk}/"
    for row in Discrepancy.objects.filter(period=month):
        step = f"/costs/findings/{row.pk}/resolve/"
        refused = ask(client, lab, "dave", step, {"reason": "  "})
        assert (refused.status_code, "This field is required." in pages.text(refused)) == (
            422,
            True,
        )
        assert ask(client, lab, "dave", step, {"reason": "looked at it"}).status_code == 302
    row = Discrepancy.objects.filter(period=month).first()
    ask(client, lab, "dave", f"/costs/findings/{row.pk}/resolve/", {"step": "reopen"})
    ask(client, lab, "dave", f"/costs/findings/{row.pk}/assign/", {"to": lab.carol.pk})
    row.refresh_from_db()
    assert (row.resolved_at, row.assignee) == (None, lab.carol)
    ask(client, lab, "dave", f"/costs/findings/{row.pk}/resolve/", {"reason": "looked again"})

    assert "Say that it is reviewed" in pages.text(client.get(url))
    ask(client, lab, "dave", f"{url}review/", {})
    assert "closed by somebody else" in stored.said(client.get(f"{url}close/"))
    assert ask(client, lab, "dave", f"{url}close/", {"sure": "on"}).status_code == 422
    month.refresh_from_db()
    assert month.state == "review"
    shown = stored.said(ask(client, lab, "carol", f"{url}close/"))
    assert "= Bill USD 96.00" in shown
    assert "main chargeback, version 1" in shown
    assert "Tenants pay the quota that is committed to them." in shown
    unsure = ask(client, lab, "carol", f"{url}close/", {})
    assert (unsure.status_code, "Tick this" in pages.text(unsure)) == (422, True)
    assert ask(client, lab, "carol", f"{url}close/", {"sure": "on"}).status_code == 302
    month.refresh_from_db()
    assert (month.state, month.reviewed_by, month.closed_by) == ("closed", lab.dave, lab.carol)
    assert actions()[-2:] == ["period.review Dave (dave)", "period.close Carol (carol)"]
    assert "finding.assign Dave (dave)" in actions()
    again = ask(client, lab, "dave", f"/costs/findings/{row.pk}/resolve/", {"reason": "late"})
    assert again.status_code == 422


def test_a_run_by_hand_and_a_review_that_is_taken_back(lab, month, client):
    url = f"/costs/periods/{month.pk}/"
    for row in Discrepancy.objects.filter(period=month):
        findings.resolve(finding=row, actor=lab.dave, reason="x")
    ask(client, lab, "carol", f"{url}review/", {})
    stored.store(lab.cluster, *w16(stored.at(30, 20)))
    assert "have changed since the last run" in stored.said(client.get(f"{url}close/"))
    ask(client, lab, "dave", f"{url}run/", {})
    month.refresh_from_db()

    assert (month.state, month.reviewed_by) == ("provisional", None)
    assert month.runs.order_by("-pk").first().actor == lab.dave


@pytest.mark.parametrize("reason", ["", " ", "\u00a0", "\u200b\u2060", "\u3164", "x" * 501])
def test_a_month_goes_back_only_with_a_reason(lab, month, client, reason):
    for row in Discrepancy.objects.filter(period=month):
        findings.resolve(finding=row, actor=lab.dave, reason="x")
    url = f"/costs/periods/{month.pk}/"
    ask(client, lab, "carol", f"{url}review/", {})
    refused = ask(client, lab, "dave", f"{url}review/", {"step": "back", "reason": reason})

    month.refresh_from_db()
    assert (refused.status_code, month.state) == (422, "review")
    assert "field-error" in pages.text(refused)
    again = ask(client, lab, "dave", f"{url}review/", {"step": "back", "reason": "A100 is missing"})
    month.refresh_from_db()
    assert (again.status_code, month.state, month.reviewed_by) == (302, "provisional", None)
    event = AuditEvent.objects.filter(action="period.back").get()
    assert event.data["reason"] == "A100 is missing"


@pytest.mark.parametrize("reason", ["\u200b", "\u00a0\u2060", "\u2800"])
def test_a_reason_that_nobody_can_read_is_none(lab, month, client, reason):
    row = Discrepancy.objects.filter(period=month).first()
    refused = ask(client, lab, "dave", f"/costs/findings/{row.pk}/resolve/", {"reason": reason})

    assert (refused.status_code, "field-error" in pages.text(refused)) == (422, True)
    with pytest.raises(findings.NoReason):
        findings.resolve(finding=row, actor=lab.dave, reason=reason)
    row.refresh_from_db()
    assert row.resolved_at is None


def test_w20_a_correction_is_shown_divided_and_booked(lab, client):
    book = book_of(lab)
    october = closed(lab, book, 10, item("nlp", "10000.00"), item("cv", "6666.67"))
    later = periods.open_period(book=book, year=2026, number=11)
    url = f"/costs/periods/{october.pk}/correct/"
    key = "k" * 20
    data = {"amount": "-250.00", "reason": "refund of the provider", "period": later.pk,
            "form_key": key}  # fmt: skip
    shown = stored.said(ask(client, lab, "dave", url, {**data, "step": "preview"}))

    assert f"{MINUS}150.00" in shown
    assert f"{MINUS}100.00" in shown
    assert not StatementLine.objects.filter(corrects=october).exists()
    for wrong in ({"amount": "-250.001"}, {"amount": "1,000.00"}, {"amount": "0"}, {"reason": ""},
                  {"period": october.pk}):  # fmt: skip
        assert client.post(url, {**data, **wrong, "step": "book"}).status_code == 422
    assert client.post(url, {**data, "step": "book", "form_key": ""}).status_code == 422
    for _twice in range(2):
        assert client.post(url, {**data, "step": "book"}).status_code == 302
    assert StatementLine.objects.filter(corrects=october, key=key).count() == 2
    assert as_restated(october)[str(lab.nlp)] == Decimal("9850.00")
    assert actions()[-1] == "period.correct Dave (dave)"
    said = stored.said(ask(client, lab, "alice", f"/t/nlp/statements/{october.pk}/"))
    assert "As billed 10,000.00 USD As restated 9,850.00 USD" in said
    pages.nothing_of_others(client.get(f"/t/nlp/statements/{later.pk}/"))


def test_a_dispute_is_seen_by_both_and_booked(lab, client):
    october = written(lab, book_of(lab), 10, *ITEMS)
    url = f"/t/nlp/statements/{october.pk}/dispute/"
    page = ask(client, lab, "frank", url)
    assert "Committed · a100 · 10,000.00 USD" in pages.text(page)
    assert ask(client, lab, "frank", url, {"line": "x/y", "text": "?"}).status_code == 422
    sent = ask(client, lab, "frank", url, {"line": "a100/committed", "text": "<b>given back</b>"})
    row = Dispute.objects.get()
    assert sent.url == f"/t/nlp/disputes/{row.pk}/"
    assert "There is an open dispute" in pages.text(
        ask(client, lab, "alice", url, {"line": "a100/committed", "text": "me too"})
    )
    seen = pages.text(ask(client, lab, "alice", sent.url))
    assert "&lt;b&gt;given back&lt;/b&gt;" in seen
    assert 'name="step"' not in seen
    for wrong in ({"step": "accept"}, {"step": "reject"}, {"step": "accept", "credit": "-1"},
                  {"step": "accept", "credit": "10000.01"}, {}):  # fmt: skip
        assert ask(client, lab, "dave", f"{sent.url}answer/", wrong).status_code == 422
    done = {"step": "accept", "credit": "12.50", "answer": "right"}
    assert ask(client, lab, "dave", f"{sent.url}answer/", done).status_code == 302
    said = stored.said(ask(client, lab, "frank", sent.url))
    assert "12.50 USD" in said
    assert "Booked in the statement of October 2026" in said
    assert actions("tenant:nlp")[-2:] == [
        "dispute.open Frank (frank)", "dispute.accept Dave (dave)"
    ]  # fmt: skip


def test_a_tenant_sees_its_own_statements_and_nothing_of_others(lab, client):
    """Names, amounts and disputes of others are on no page, in no file and in no error of a tenant."""
    book = book_of(lab)
    october = closed(lab, book, 10, *ITEMS)
    theirs = disputes.dispute(
        statement=october.statements.get(tenant=lab.cv), flavor="a100", basis="committed",
        text=f"{MARK} is wrong", actor=lab.grace,
    )  # fmt: skip
    mine = disputes.dispute(
        statement=october.statements.get(tenant=lab.nlp), flavor="a100", basis="committed",
        text="mine", actor=lab.alice,
    )  # fmt: skip
    for who in ("alice", "frank"):
        client.force_login(getattr(lab, who))
        for url, code in (
            ("/costs/", 200), (f"/t/nlp/statements/{october.pk}/", 200),
            (f"/t/nlp/statements/{october.pk}.csv", 200), (f"/t/nlp/disputes/{mine.pk}/", 200),
            (f"/t/nlp/statements/{october.pk}/dispute/", 200),
            (f"/t/nlp/disputes/{theirs.pk}/", 404), (f"/t/cv/disputes/{theirs.pk}/", 404),
            (f"/t/cv/statements/{october.pk}/", 404), (f"/costs/periods/{october.pk}/", 404),
            (f"/costs/periods/{october.pk}.csv", 404), ("/costs/books/", 404),
        ):  # fmt: skip
            answer = client.get(url)
            assert (url, answer.status_code) == (url, code)
            pages.nothing_of_others(answer)
            assert "6,666.67" not in pages.text(answer)
            # A number alone may be a part of another one.
            assert f"/disputes/{theirs.pk}/" not in answer.content.decode().replace(url, "")
        refused = client.post(
            f"/t/nlp/disputes/{theirs.pk}/answer/", {"step": "reject", "answer": "no"}
        )
        assert refused.status_code == 404
        pages.nothing_of_others(refused)
    assert Dispute.objects.get(pk=theirs.pk).state == "open"


def test_the_first_month_of_a_book_is_opened_by_hand(lab, client):
    book = book_of(lab)
    data = {"book": book.pk, "month": "2026-11", "zone": "Europe/Berlin"}
    for wrong in ({"month": "11/2026"}, {"zone": "Nowhere/At_All"}, {"zone": "Asia/Kolkata"},
                  {"zone": "../etc/passwd"}, {"book": 999_999}):  # fmt: skip
        assert (
            ask(client, lab, "dave", "/costs/periods/open/", {**data, **wrong}).status_code == 422
        )
    assert not Period.objects.exists()
    assert ask(client, lab, "dave", "/costs/periods/open/", data).status_code == 302
    assert f"{Period.objects.get().starts:%F %H}" == "2026-10-31 23"
    stored.store(lab.cluster, *w16(stored.at(30, 20)))
    for unmeant in ("2000-01", "2026-09", "2199-12"):
        posted = {**data, "month": unmeant}
        assert ask(client, lab, "dave", "/costs/periods/open/", posted).status_code == 422
    assert Period.objects.count() == 1
    assert ask(client, lab, "dave", "/costs/periods/open/", data).status_code == 422


def test_a_source_is_left_out_and_taken_in_again(lab, month, client):
    other = bill_of(11, "97.00", source="own machines")
    url = f"/costs/periods/{month.pk}/"
    for data in ({"source": 999_999, "step": "out"}, {"source": other.source_id, "step": "away"}):
        said = stored.said(client.get(ask(client, lab, "dave", f"{url}bill/", data).url))
        assert "Nothing was changed." in said
    assert ask(client, lab, "erin", f"{url}bill/", {}).status_code == 403
    for step, expected in (("out", "96.00"), ("in", "193.00")):
        ask(client, lab, "dave", f"{url}bill/", {"source": other.source_id, "step": step})
        ask(client, lab, "dave", f"{url}run/", {})
        month.refresh_from_db()
        assert month.bill_total == Decimal(expected)
    assert "period.bill Dave (dave)" in actions()


@pytest.mark.parametrize("number", [1, 12])
def test_queries_do_not_grow(lab, month, client, number):
    for n in range(number):
        Discrepancy.objects.create(
            period=month, code="unmanaged", subject=f"s{n}", difference=HOUR, whole=HOUR,
            blocks=False, assignee=lab.carol, facts={"tenant": "nlp", "flavor": "a100"},
        )  # fmt: skip
    row = month.discrepancies.first()
    pages_of = {
        "home": "/costs/", "board": f"/costs/periods/{month.pk}/",
        "board as a file": f"/costs/periods/{month.pk}.csv",
        "finding": f"/costs/findings/{row.pk}/", "close": f"/costs/periods/{month.pk}/close/",
        "correct": f"/costs/periods/{month.pk}/correct/", "tolerances": "/costs/tolerances/",
    }  # fmt: skip
    client.force_login(lab.dave)
    for name, url in pages_of.items():
        with counted(f"costs: {name}"):
            client.get(url)


def test_a_pool_has_a_tolerance_of_its_own(lab, month, client):
    url = "/costs/tolerances/"
    place = "lab/a100/nvidia.com/gpu"
    assert "3.0 %" in stored.said(ask(client, lab, "erin", url))
    data = {"pool": place, "kind": "rate", "percent": "75", "hours": ""}
    for wrong in ({"percent": "101"}, {"hours": "-1"}, {"pool": "lab/x/y"}, {"kind": "x"}):
        assert ask(client, lab, "dave", url, {**data, **wrong}).status_code == 422
    assert month.discrepancies.get(code="rate_drift").resolved_at is None
    assert ask(client, lab, "dave", url, data).status_code == 302
    assert f"{place} the bill against the price book 75.0 %" in stored.said(client.get(url))
    run = reconcile.run(period=month)
    drift = month.discrepancies.get(code="rate_drift")
    assert (drift.settled_by, drift.resolved_by) == (run, None)
    ask(client, lab, "dave", url, {**data, "percent": ""})
    reconcile.run(period=month)
    drift.refresh_from_db()
    assert (drift.resolved_at, drift.settled_by) == (None, None)
    assert [each for each in actions() if each.startswith("tolerance")] == [
        "tolerance.set Dave (dave)"
    ] * 2
