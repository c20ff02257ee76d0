"""Pages of bills: handing a file in, its report beside the form, versions and what they changed."""

import csv
import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Sum
from django.test import Client

from costs.models import BillFile, BillLine, BillPart, BillSource
from costs.services import bills, matches
from portal.web.wording import DASH, MINUS
from tenants.models import AuditEvent
from tests.costs import noted, stored
from tests.costs.focus import hour, table
from tests.query_counts import counted
from tests.queues import pages

URL = "/costs/bills/"


@pytest.fixture(autouse=True)
def no_broker(monkeypatch):
    monkeypatch.setattr("portal.celery.WakeUp.wake", lambda *args: True)


@pytest.fixture
def source(lab):
    return BillSource.objects.create(name="AWS main", currency="USD")


def post(client, lab, source, content, name="bill.csv", who="dave", **more):
    client.force_login(getattr(lab, who))
    file = SimpleUploadedFile(name, content, "text/csv")
    return client.post(f"{URL}{source.pk}/", {"file": file} | more)


def report(client, answer):
    return stored.said(client.get(answer["Location"]))


def test_a_file_is_handed_in_and_counts(lab, source, client):
    answer = post(client, lab, source, table(hour(0), hour(1)), finalized="on")
    bill = BillFile.objects.get()
    said = report(client, answer)

    assert (bill.state, bill.finalized, bill.taken_by) == ("active", True, lab.dave)
    assert "November 2026 · AWS main" in said
    assert "Billed 20.00" in said
    assert not BillPart.objects.exists()
    trail = AuditEvent.objects.filter(scope="platform").order_by("seq")
    assert [(e.action, e.actor) for e in trail if e.action.startswith("bill.")] == [
        ("bill.take", lab.dave), ("bill.result", lab.dave),
    ]  # fmt: skip


@pytest.mark.parametrize("code", ["ABC", "XAU", "US", "chf", "\uff35SD", "USDX"])
def test_a_source_has_a_currency_that_exists(lab, client, code):
    client.force_login(lab.dave)
    data = {"name": "Lambda", "kind": "focus", "currency": code}
    refused = client.post(f"{URL}new/", data)

    assert refused.status_code == 422
    assert "This is no currency of ISO 4217" in pages.text(refused)
    assert client.post(f"{URL}new/", data | {"currency": " CHF "}).status_code == 302
    assert BillSource.objects.get(name="Lambda").currency == "CHF"


def test_b102_all_errors_stand_beside_the_form_and_nothing_is_kept(lab, source, client):
    bad = table(hour(0), hour(1, BilledCost="eight"), hour(2, ChargeCategory="Gift"), hour(3))
    answer = post(client, lab, source, bad)
    text = pages.text(client.get(answer["Location"]))
    said = stored.said(client.get(answer["Location"]))

    assert not BillLine.objects.exists()
    assert "2 BilledCost Not an amount." in said
    assert "eight" in said
    assert "3 ChargeCategory Not one of Usage" in said
    assert 'name="file"' in text
    mended = post(client, lab, source, table(*map(hour, range(4))))
    assert BillLine.objects.count() == 4
    again = post(client, lab, source, table(*map(hour, range(4))))
    assert again.status_code == 422
    assert "This file was taken before. Nothing has changed." in stored.said(again)
    assert BillLine.objects.count() == 4
    assert mended.status_code == 302


def test_another_encoding_is_named_with_its_row(lab, source, client):
    """A spreadsheet may write Latin-1: the row is said, and what to do, and nothing of Python."""
    kept = table(hour(0), hour(1, ServiceName="M\u00fcnchen"))
    answer = post(client, lab, source, kept.decode().encode("latin-1"))
    said = stored.said(client.get(answer["Location"]))

    assert "2 \u2013 This row is not in UTF-8. Save the file as CSV in UTF-8" in said
    assert "0xFC" in said
    assert "codec" not in said
    assert not BillLine.objects.exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The file is empty."),
        (b"PK\x03\x04zip\xff\xfe", "This is no table of text in UTF-8 with commas."),
        (table(hour(0), delimiter=";"), "Missing:"),
        (b"a,b\r\n1,2\r\n", "Missing: BilledCost"),
        (
            table(hour(0)).replace(b"\r\n", b",BilledCost\r\n"),
            "Columns that are there twice: BilledCost.",
        ),
    ],
)
def test_what_is_no_bill_is_said_beside_the_field(lab, source, client, content, sentence):
    answer = post(client, lab, source, content)

    assert answer.status_code == 422
    assert sentence in stored.said(answer)
    assert ": -." not in stored.said(answer)
    assert not BillFile.objects.exists()


def test_a_file_that_is_too_large_never_comes_in(lab, source, client, settings):
    settings.UPLOAD_LARGEST = 1 << 20
    answer = post(client, lab, source, table(hour(0)) + b"x" * (2 << 20))

    assert answer.status_code == 422
    assert "Larger than 1 MiB" in stored.said(answer)
    assert not BillPart.objects.exists()


@pytest.mark.parametrize(
    ("name", "kept"),
    [("../../etc/x.csv", "x.csv"), ("C:\\bills\\y.csv", "y.csv"), ("a\u202eb.csv", "a_b.csv")],
)
def test_a_file_keeps_the_last_part_of_its_name(lab, source, name, kept):
    content = io.BytesIO(table(hour(0)))

    assert bills.take(source=source, file=content, name=name, actor=None).name == kept


def test_a_large_file_waits_for_a_worker(lab, source, client, monkeypatch):
    monkeypatch.setattr("costs.views.bills._AT_ONCE", 10)
    answer = post(client, lab, source, table(hour(0)))
    bill = BillFile.objects.get()

    assert bill.state == "staged"
    assert "The file is being read" in report(client, answer)
    part = client.get(answer["Location"], headers={"HX-Request": "true"})
    assert "every 3s" in pages.text(part)
    assert bills.read(bill_id=bill.pk).state == "active"
    assert bills.read(bill_id=bill.pk) is None
    assert "every 3s" not in pages.text(client.get(answer["Location"]))


def test_a_final_bill_is_not_replaced_by_another(lab, source, client):
    post(client, lab, source, table(hour(0)), finalized="on")
    answer = post(client, lab, source, table(hour(1)))

    assert "The bill of this month is final." in report(client, answer)
    assert list(BillFile.objects.order_by("pk").values_list("state", flat=True)) == [
        "active", "refused",
    ]  # fmt: skip


def test_a_version_says_what_it_changed(lab, source, client):
    post(client, lab, source, table(hour(0), hour(1, ResourceId="i-2")))
    answer = post(
        client, lab, source, table(hour(0, EffectiveCost="12"), hour(1, ResourceId="i-3"))
    )
    said = stored.said(client.get(f"{answer['Location']}changes/"))

    assert "version 2 against version 1 · 3 resources with another cost" in said
    assert "i-1 10.00 12.00 2.00" in said
    assert f"i-2 10.00 {DASH}" in said
    assert f"i-3 {DASH} 10.00 10.00" in said


def test_b82_the_report_has_list_adjustments_and_what_is_left(lab, source, client):
    rows = [
        hour(0, BilledCost="115", EffectiveCost="115"),
        hour(0, BilledCost="-1.50", EffectiveCost="-1.50", ChargeCategory="Adjustment"),
        hour(0, BilledCost="-20", EffectiveCost="-20.00", ChargeCategory="Credit"),
        hour(0, BilledCost="0.25", EffectiveCost="0.25", ChargeCategory="Adjustment"),
    ]
    said = report(client, post(client, lab, source, table(*rows)))

    assert "Charges 115.00" in said
    assert f"Credits and adjustments {MINUS}21.25" in said
    assert "Effective 93.75" in said
    whole = BillLine.objects.aggregate(sum=Sum("effective"))["sum"]
    assert BillFile.objects.get().effective == whole


def test_the_report_of_a_joined_bill_names_what_does_not_agree(lab, source, client):
    noted.node(lab.cluster, "n1", (0, 2), machine="i-1")
    noted.counted(lab.cluster, 0, 8)
    answer = post(
        client, lab, source, table(*[hour(at) for at in range(8)], hour(0, ResourceId=""))
    )
    matches.match(file=BillFile.objects.get())
    said = report(client, answer)

    assert "Billed, not in the cluster it never joined, or has left 6.0 60.00" in said
    assert "Lab · a100" in said
    assert "by account, SKU and zone" in said
    assert "64.0" in said


def test_what_own_machines_cost_is_a_table_to_fill_in(lab, client):
    own = BillSource.objects.create(name="cellar", currency="EUR", kind="own")
    client.force_login(lab.dave)
    text = client.get(f"{URL}{own.pk}/template.csv").content.decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    noted.node(lab.cluster, "n1", (0, 4))
    noted.counted(lab.cluster, 0, 4)
    filled = text.replace(rows[0]["month"], "2026-11").replace("0.00", "36.00")
    post(client, lab, own, filled.encode())
    bill = BillFile.objects.get()
    matches.match(file=bill)

    assert {row["cluster"] for row in rows} == {"lab"}
    assert bill.state == "active"
    assert {each.spread for each in bill.hours.filter(bucket="")} == {True}
    assert sum(each.cost for each in bill.hours.filter(flavor="a100", hour__day=1)) == 108
    assert not bill.findings.exists()


def test_rows_of_own_machines_are_errors_by_row(lab, client):
    own = BillSource.objects.create(name="cellar", currency="EUR", kind="own")
    head = "month,cluster,flavor,kind,amount,currency\r\n"
    rows = (
        "2026-11,lab,a100,power,10.00,EUR\r\n2026-12,lab,a100,power,1,EUR\r\n"
        "2026-11,lab,v100,power,1,EUR\r\n2026-11,lab,a100,beer,1,EUR\r\n"
        '2026-11,lab,a100,power,"1,5",EUR\r\n2026-11,lab,a100,power,1,USD\r\n'
    )
    bill = bills.take(source=own, file=io.BytesIO((head + rows).encode()), name="x.csv", actor=None)

    assert [(each.row, each.code) for each in bill.problems.order_by("row")] == [
        (2, "month"), (3, "place"), (4, "kind"), (5, "amount"), (6, "currency"),
    ]  # fmt: skip
    assert not bill.lines.exists()


def test_problems_are_a_file_that_no_spreadsheet_runs(lab, source, client):
    bad = table(hour(0, BilledCost="=1+1"))
    answer = post(client, lab, source, bad)
    text = client.get(f"{answer['Location']}problems.csv").content.decode("utf-8-sig")

    assert list(csv.reader(io.StringIO(text)))[1] == [
        "error", "1", "BilledCost", "amount", "'=1+1", "1",
    ]  # fmt: skip


def test_a_source_is_added_once(lab, client):
    client.force_login(lab.dave)
    good = {"name": "GCP", "kind": "focus", "currency": "EUR", "accounts": "1\n2"}
    assert client.post(f"{URL}new/", good).status_code == 302
    found = BillSource.objects.get()
    assert (found.accounts, found.currency) == (["1", "2"], "EUR")
    for wrong in (good, good | {"name": "x", "currency": "eur"}, good | {"name": "y", "kind": "z"}):
        assert client.post(f"{URL}new/", wrong).status_code == 422
    assert BillSource.objects.count() == 1


def test_a_form_from_elsewhere_is_refused(lab, source):
    client = Client(enforce_csrf_checks=True)

    assert post(client, lab, source, table(hour(0))).status_code == 403
    assert not BillFile.objects.exists()


@pytest.mark.parametrize("number", [1, 30])
def test_queries_do_not_grow(lab, source, client, number):
    post(client, lab, source, table(*[hour(at % 24, ResourceId=f"i-{at}") for at in range(number)]))
    matches.match(file=BillFile.objects.get())
    address = f"{URL}files/{BillFile.objects.get().pk}/"
    with counted("costs: the report of a bill"):
        client.get(address)
    with counted("costs: all bills"):
        client.get(URL)
    with counted("costs: a source of bills"):
        client.get(f"{URL}{source.pk}/")
