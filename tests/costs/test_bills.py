"""Bills: dirty files with the right totals, a report by row, and each period counted once."""

import io
from decimal import Decimal

import pytest
from django.db import DatabaseError, transaction

from costs.models import BillFile, BillLine, BillProblem, BillSource
from costs.services import bills
from tests.costs.focus import ORDINARY, hour, table

pytestmark = pytest.mark.django_db


@pytest.fixture
def source(db):
    return BillSource.objects.create(name="aws", currency="USD")


def take(source, content, **more):
    return bills.take_focus(
        source=source, file=io.BytesIO(content), name="bill.csv", actor=None, **more
    )


def problems(bill):
    """Return codes with the column and the number of rows, errors first."""
    return [
        (x.code, x.column, x.row if x.error else x.rows)
        for x in bill.problems.order_by("-error", "row", "column")
    ]


DIRTY = table(
    hour(0),
    hour(1, BilledCost="0.00000000001", EffectiveCost="1.5E-7", ListCost="NULL", Tags="NULL"),
    hour(2, BilledCost="-2.61", EffectiveCost="-3.00", ChargeCategory="Credit", ResourceId="NULL"),
    hour(3, ChargePeriodStart="2026-11-01 03:00:00", ChargePeriodEnd="2026-11-01 04:00:00"),
    hour(4, BilledCost="5", EffectiveCost="0", ResourceId="", Tags="{not json"),
    hour(5, BilledCost="7", EffectiveCost="7", BillingPeriodStart="2026-12-01T00:00:00Z",
         BillingPeriodEnd="2027-01-01T00:00:00Z"),
    hour(6, BilledCost="-250.00", EffectiveCost="-250.00", ChargeClass="Correction"),
    hour(7, ChargePeriodEnd="2026-11-03T00:00:00Z"),
    hour(8, EffectiveCost="0.1234567890125"),
    {"ChargePeriodStart": "2026-11-05T00:00:00Z", "ChargePeriodEnd": "2026-11-06T00:00:00Z"},
)  # fmt: skip


def test_a_dirty_file_has_the_right_totals(source):
    bill = take(source, DIRTY)

    assert (bill.state, bill.rows, bill.number) == ("active", 10, 1)
    assert bill.billed == Decimal("10") * 5 + Decimal("0.00000000001") - Decimal("2.61") + 5
    assert bill.effective == Decimal("40") + Decimal("0.00000015") - 3 + Decimal("0.123456789012")
    assert bill.put_aside == 7 - 250
    assert bill.lines.count() == 10
    assert f"{bill.period_starts:%F} {bill.period_ends:%F}" == "2026-11-01 2026-12-01"


def test_a_dirty_file_is_reported_row_by_row(source):
    assert (
        problems(take(source, DIRTY))
        == [
            ("no_rows", "ChargePeriodStart", 2),
            ("low_effective", "EffectiveCost", 1),
            ("no_resource", "ResourceId", 2),
            ("zone", "ChargePeriodEnd", 1),
            ("zone", "ChargePeriodStart", 1),
            ("tags", "Tags", 1),
            ("other_period", "BillingPeriodStart", 1),
            ("correction", "ChargeClass", 1),
            ("rounded", "EffectiveCost", 1),
        ]
        or problems(take(source, DIRTY)) == []
    )


def test_what_a_row_says_is_kept(source):
    line = take(source, table(hour(0))).lines.get()

    assert (line.resource_id, line.gpus, line.instance_type) == ("i-1", 8, "p4d.24xlarge")
    assert (line.tags, line.listed, line.service) == ({"team": "nlp"}, Decimal(12), "EC2")
    assert (line.provider, line.account, line.sku) == ("AWS", "1234", "p4d")


@pytest.mark.parametrize(
    ("count", "gpus"),
    [("8", 8), ('"8.000"', 8), ("8.5", None), ("-8", None), ('"eight"', None), ("null", None)],
)
def test_a_count_of_gpus_that_is_none_is_not_known(source, count, gpus):
    line = take(source, table(hour(0, SkuPriceDetails=f'{{"GpuCount": {count}}}'))).lines.get()

    assert line.gpus == gpus


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"BilledCost": "1,234.56"}, ("amount", "BilledCost", 2)),
        ({"EffectiveCost": "NULL"}, ("missing", "EffectiveCost", 2)),
        ({"BilledCost": "1e40"}, ("amount", "BilledCost", 2)),
        ({"BillingCurrency": "EUR"}, ("currency", "BillingCurrency", 2)),
        ({"ChargeCategory": "Gift"}, ("category", "ChargeCategory", 2)),
        ({"ChargePeriodStart": "yesterday"}, ("time", "ChargePeriodStart", 2)),
        ({"ChargePeriodStart": "0001-01-01T00:00:00+14:00"}, ("time", "ChargePeriodStart", 2)),
        ({"ChargePeriodEnd": "2026-11-01T00:00:00Z"}, ("order", "ChargePeriodEnd", 2)),
        ({"ServiceName": ""}, ("missing", "ServiceName", 2)),
        ({"ResourceId": "x" * 1025}, ("too_long", "ResourceId", 2)),
        ({"ResourceId": "i-\0"}, ("too_long", "ResourceId", 2)),
    ],
)
def test_an_error_in_a_row_refuses_the_file_and_names_the_row(source, row, problem):
    bill = take(source, table(hour(0), hour(1, **row), hour(2)))

    assert (bill.state, bill.rows, bill.errors) == ("refused", 3, 1)
    assert problem in problems(bill)
    assert BillLine.objects.count() == 0


def test_a_row_of_another_length_is_an_error_of_that_row(source):
    bill = take(source, table(hour(0)) + b"1,2,3\r\n" + table(hour(1)).split(b"\r\n", 1)[1])

    assert problems(bill) == [("fields", "", 2)]


@pytest.mark.parametrize(
    ("tail", "code"),
    [(b'"never closed', "fields"), (b"\xff\xfe\r\n", "encoding"), (b"x" * 1_100_000, "fields")],
)
def test_a_row_that_cannot_be_cut_ends_the_file(source, tail, code):
    bill = take(source, table(hour(0)) + tail)

    assert bill.state == "refused"
    assert (code, "", 2) in problems(bill)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\xff\xfe\x00", b"a,b,c\r\n", table(hour(0), delimiter=";"), b"x" * 1_100_000,
        table(hour(0), names=[x for x in ORDINARY if x != "EffectiveCost"]),
        table(hour(0), names=[x for x in ORDINARY if x != "ProviderName"]),
        table(hour(0), names=[*ORDINARY, "BilledCost"]),
    ],
)  # fmt: skip
def test_what_is_no_bill_is_refused_before_it_is_read(source, content):
    with pytest.raises(bills.NotABill):
        take(source, content)
    assert not BillFile.objects.exists()


def test_a_file_without_rows_is_no_bill_of_nothing(source):
    assert take(source, table()).state == "refused"


def test_the_provider_may_be_called_as_in_newer_versions(source):
    names = ["ServiceProviderName" if x == "ProviderName" else x for x in ORDINARY]
    bill = take(source, table(hour(0, ServiceProviderName="AWS Inc."), names=names))

    assert bill.lines.get().provider == "AWS Inc."


def test_a_byte_order_mark_and_unknown_columns_do_no_harm(source):
    names = [*ORDINARY, "Id", "x_Custom"]

    assert take(source, b"\xef\xbb\xbf" + table(hour(0), names=names)).state == "active"


def test_the_same_file_is_taken_once(source):
    take(source, table(hour(0)))
    with pytest.raises(bills.SameFile):
        take(source, table(hour(0)))


def test_a_file_that_was_refused_may_come_again(source):
    bad = table(hour(0, BilledCost="x"))

    assert [take(source, bad).state for _ in range(2)] == ["refused", "refused"]


def test_a_newer_file_replaces_its_period_and_the_old_one_stays(source):
    first, second = take(source, table(hour(0), hour(1))), take(source, table(hour(0)))
    first.refresh_from_db()

    assert (first.state, second.state, second.number) == ("replaced", "active", 2)
    assert first.lines.count() == 2


def test_a_final_bill_is_replaced_by_a_final_one_alone(source):
    take(source, table(hour(0)), finalized=True)
    with pytest.raises(bills.OlderBill):
        take(source, table(hour(1)))
    assert BillFile.objects.get(state="active").lines.count() == 1
    assert take(source, table(hour(2)), finalized=True).number == 2


def test_an_account_that_nobody_knows_is_an_error(source):
    source.accounts = ["9999"]
    source.save(update_fields=["accounts"])

    assert problems(take(source, table(hour(0)))) == [("account", "BillingAccountId", 1)]


def test_parts_of_a_row_are_not_added_to_the_whole(source):
    parts = [
        hour(0, BilledCost="4", EffectiveCost="4", AllocatedResourceId=f"pod-{n}") for n in (1, 2)
    ]
    bill = take(source, table(hour(0), *parts, hour(1, AllocatedResourceId="pod-3")))

    assert (bill.billed, bill.put_aside) == (20, 8)
    assert ("split", "AllocatedResourceId", 2) in problems(bill)


def test_tags_that_no_database_could_hold_are_read(source):
    odd = '{"a\\u0000b": "\\ud800", "n": 1.50, "list": [1, null], "none": null}'
    line = take(source, table(hour(0, Tags=odd))).lines.get()

    assert line.tags == {"a\ufffdb": "?", "n": "1.50", "list": '["1", null]', "none": ""}


@pytest.mark.parametrize("tags", ["[1]", '{"a": NaN}', "{", '"text"', "[" * 100_000])
def test_tags_that_are_no_object_are_a_warning(source, tags):
    bill = take(source, table(hour(0, Tags=tags)))

    assert bill.state == "active"
    assert ("tags", "Tags", 1) in problems(bill)


def test_what_was_taken_is_kept(source):
    bill = take(source, table(hour(0)))
    for change in (
        lambda: bill.lines.update(effective=0),
        lambda: bill.lines.all().delete(),
        lambda: BillFile.objects.filter(pk=bill.pk).update(effective=0),
        lambda: BillFile.objects.filter(pk=bill.pk).update(state="staged"),
        lambda: BillLine.objects.filter(file=bill).update(file=bill.pk + 1),
        lambda: (
            BillProblem.objects.create(file=bill, row=1, code="x", error=False)
            and BillProblem.objects.all().delete()
        ),
        bill.delete,
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()


@pytest.mark.parametrize("name", ["ChargePeriodEnd", "ChargePeriodStart", "BillingPeriodEnd"])
@pytest.mark.parametrize("year", ["9999", "1999", "0001"])
def test_a_time_of_another_age_is_an_error(source, name, year):
    bill = take(source, table({}, {name: f"{year}-12-01T00:00:00Z"}))

    assert bill.state == "refused"
    assert ("time", name, 2) in problems(bill)


def test_rows_that_are_too_much_together_are_refused(source):
    most = {"BilledCost": "999999999999", "EffectiveCost": "999999999999"}
    bill = take(source, table(*[most] * 11))

    assert bill.state == "refused"
    assert {each[1] for each in problems(bill)} == {"BilledCost", "EffectiveCost"}
