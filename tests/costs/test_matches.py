"""Bills joined with nodes: W18 and W19 through the product, and that no amount is lost."""

import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest
import time_machine
from django.db import DatabaseError, transaction
from django.db.models import Sum

from costs.facts import Pool
from costs.models import BilledHour, BillFinding, BillMatch, BillSource
from costs.selectors.months import Month
from costs.selectors.pool_month import pool_month
from costs.services import bills, matches
from costs.times import HOUR, moment
from costs.waterfall import Row
from tests.costs import noted, stored
from tests.costs.focus import table
from tests.costs.ledger_rows import bills_of, book_of, closed, item
from tests.costs.make import A100
from tests.costs.stored import NOVEMBER

RATE = "32.77"


@pytest.fixture
def source(db):
    return BillSource.objects.create(name="aws", currency="USD")


def hour(number, machine, cost=RATE, length=1, **more):
    """Return a row of one hour of November (or of several), counted from its first."""
    starts, ends = (moment(NOVEMBER + at * HOUR) for at in (number, number + length))
    return {
        "ResourceId": machine, "BilledCost": cost, "EffectiveCost": cost, "ListCost": cost,
        "ChargePeriodStart": f"{starts:%FT%TZ}", "ChargePeriodEnd": f"{ends:%FT%TZ}",
    } | more  # fmt: skip


def take(source, *rows):
    names = list(dict.fromkeys([*table(hour(0, "x")).decode().split("\r\n")[0].split(","),
                                *(name for row in rows for name in row)]))  # fmt: skip
    content = io.BytesIO(table(*rows, names=names))
    bill = bills.take_focus(source=source, file=content, name="bill.csv", actor=None)
    assert bill.state == "active", list(bill.problems.all())
    return bill


def found(bill):
    """Return the findings of a bill: code, hours and money."""
    return {
        each.subject: (each.code, each.difference / HOUR, round(each.money, 2))
        for each in BillFinding.objects.filter(file=bill)
    }


def cost(bill, **of):
    return BilledHour.objects.filter(file=bill, **of).aggregate(sum=Sum("cost"))["sum"]


def test_w19_a_month_of_three_nodes(lab, source):
    noted.node(lab.cluster, "n1", (0, 718.5), machine="i-1")
    noted.node(lab.cluster, "n2", (0, 400), machine="i-2")
    noted.node(lab.cluster, "n3", (0, 24), machine="i-3")
    noted.counted(lab.cluster, 0, 720)
    bill = take(source, *[hour(at, key) for at in range(720) for key in ("i-1", "i-2")])
    matches.match(file=bill)

    assert found(bill) == {
        "i-1": ("within_tolerance", Decimal("1.5"), Decimal("49.16")),
        "i-2": ("orphan_node", Decimal(320), Decimal("10486.40")),
        "n3": ("cluster_not_billed", Decimal(-24), Decimal("786.48")),
    }
    whole = BillMatch.objects.filter(file=bill, subject="i-1").aggregate(
        seconds=Sum("seconds"), cost=Sum("effective")
    )
    assert whole == {"seconds": 720 * HOUR, "cost": Decimal("23594.40")}
    last = BilledHour.objects.get(file=bill, hour=moment(NOVEMBER + 719 * HOUR))
    assert (last.seconds, last.orphan, last.cost) == (16 * HOUR, 16 * HOUR, Decimal("65.54"))
    assert cost(bill) == bill.effective == 1440 * Decimal(RATE)


def test_w18_a_commitment_is_paid_once(lab, source):
    noted.node(lab.cluster, "n1", (0, 720), machine="i-1")
    noted.counted(lab.cluster, 0, 720)
    month = {"ChargePeriodStart": "2026-11-01T00:00:00Z", "ChargePeriodEnd": "2026-12-01T00:00:00Z"}
    none = {"ResourceId": "", "SkuPriceDetails": ""}
    bill = take(
        source,
        month | none | {"ChargeCategory": "Purchase", "BilledCost": "2160", "EffectiveCost": "0"},
        month | {"ResourceId": "i-1", "CommitmentDiscountStatus": "Used", "BilledCost": "0", "EffectiveCost": "1800"},
        month | none | {"CommitmentDiscountStatus": "Unused", "BilledCost": "0", "EffectiveCost": "360"},
    )  # fmt: skip
    matches.match(file=bill)

    assert (bill.billed, bill.effective) == (2160, 2160)
    assert cost(bill, bucket="") == 1800
    assert cost(bill, bucket="*unused") == 360
    assert cost(bill, bucket="*shared") == 0
    assert found(bill)["i-1"][0] == "matched"
    one = BilledHour.objects.filter(file=bill, bucket="").first()
    assert (one.cost, one.seconds, one.spread) == (Decimal("2.5"), 8 * HOUR, True)


def test_a_day_is_spread_over_the_hours_in_which_the_machine_was_there(lab, source):
    noted.node(lab.cluster, "n1", (6, 10), (20, 21), machine="i-1")
    noted.counted(lab.cluster, 0, 24)
    bill = take(source, hour(0, "i-1", "50", 24, ConsumedQuantity="5", ConsumedUnit="Hours"))
    matches.match(file=bill)

    rows = BilledHour.objects.filter(file=bill, cost__gt=0).order_by("hour")
    assert [each.hour.hour for each in rows] == [6, 7, 8, 9, 20]
    assert {(each.cost, each.seconds, each.orphan, each.spread) for each in rows} == {
        (Decimal(10), 8 * HOUR, 0, True)
    }
    assert found(bill)["i-1"][0] == "matched"


def test_savings_and_demand_of_one_hour_are_one_hour(lab, source):
    noted.node(lab.cluster, "n1", (0, 2), machine="i-1")
    noted.counted(lab.cluster, 0, 2)
    part = {"ConsumedUnit": "Hours"}
    bill = take(
        source,
        hour(0, "i-1", "4", ConsumedQuantity="0.6", **part),
        hour(0, "i-1", "6", ConsumedQuantity="0.4", SkuId="demand", **part),
        hour(0, "i-1", "1", ConsumedQuantity="3", ConsumedUnit="GB", SkuId="traffic", SkuPriceDetails=""),
        hour(1, "i-1", "10", ConsumedQuantity="1", **part),
    )  # fmt: skip
    matches.match(file=bill)

    rows = BilledHour.objects.filter(file=bill).order_by("hour")
    assert [(each.seconds, each.cost) for each in rows] == [(8 * HOUR, 11), (8 * HOUR, 10)]


def test_what_is_no_machine_goes_by_tag_then_by_kind_then_to_a_bucket(lab, source):
    noted.node(lab.cluster, "n1", (0, 4), machine="i-1")
    noted.counted(lab.cluster, 0, 4)
    tags = '{"gpuportal.io/cluster": "lab", "gpuportal.io/flavor": "a100"}'
    bill = take(
        source,
        hour(0, "i-1", "8"),
        hour(0, "licence", "4", 4, Tags=tags, SkuPriceDetails="", SkuId="l"),
        hour(0, "", "-2", 4, ChargeCategory="Credit", SkuPriceDetails=""),
        hour(0, "vol-1", "3", SkuId="disk", SkuPriceDetails=""),
        hour(0, "i-9", "10"),
        hour(3, "i-9", "10"),
    )  # fmt: skip
    matches.match(file=bill)

    by = dict(BillMatch.objects.filter(file=bill).values_list("method").annotate(Sum("effective")))
    assert by == {"machine": 8, "tag": 4, "kind": -2, "none": 23}
    assert cost(bill, bucket="*shared") == 3
    assert found(bill)["i-9"] == ("orphan_node", 2, 20)
    first = BilledHour.objects.get(file=bill, hour=moment(NOVEMBER))
    assert (first.seconds, first.orphan, first.cost) == (16 * HOUR, 8 * HOUR, Decimal("18.5"))
    assert cost(bill) == bill.effective


def test_hours_that_nobody_counted_make_no_orphan(lab, source):
    noted.node(lab.cluster, "n1", (2, 4), machine="i-1")
    noted.counted(lab.cluster, 2, 4)
    bill = take(source, *[hour(at, "i-1") for at in range(4)])
    matches.match(file=bill)

    assert found(bill)["i-1"] == ("matched", 0, 0)
    assert sorted(BilledHour.objects.filter(file=bill).values_list("unknown", "orphan")) == [
        (0, 0), (0, 0), (8 * HOUR, 0), (8 * HOUR, 0),
    ]  # fmt: skip


def test_slices_share_a_machine_by_what_they_are_of_it(lab, source):
    devices = [
        {"flavor": "a100", "resource": "nvidia.com/mig-1g.5gb", "amount": 1},
        {"flavor": "a100", "resource": "nvidia.com/mig-3g.20gb", "amount": 2},
    ]
    noted.node(lab.cluster, "n1", (0, 1), machine="i-1", devices=devices)
    noted.counted(lab.cluster, 0, 1)
    bill = take(source, hour(0, "i-1", "14"))
    matches.match(file=bill)

    rows = BilledHour.objects.filter(file=bill).order_by("resource")
    assert [(each.resource[-6:], each.seconds, each.cost) for each in rows] == [
        ("1g.5gb", HOUR, 2), ("g.20gb", 2 * HOUR, 12),
    ]  # fmt: skip


def test_devices_that_nobody_can_weigh_are_a_conflict_and_not_a_guess(lab, source):
    devices = [
        {"flavor": "a100", "resource": "nvidia.com/gpu", "amount": 1},
        {"flavor": "a100", "resource": "nvidia.com/gpu.shared", "amount": 4},
    ]
    noted.node(lab.cluster, "n1", (0, 1), machine="i-1", devices=devices)
    noted.counted(lab.cluster, 0, 1)
    bill = take(source, hour(0, "i-1", "14"))
    matches.match(file=bill)

    assert cost(bill, bucket="*unattributed") == 14
    assert BillFinding.objects.get(file=bill, code="flavor_conflict").subject == "i-1"


def test_joined_again_it_is_the_same_and_late_hours_change_it(lab, source):
    noted.node(lab.cluster, "n1", (0, 2), machine="i-1")
    noted.counted(lab.cluster, 0, 2)
    bill = take(source, *[hour(at, "i-1") for at in range(4)])
    first, second = (matches.match(file=bill).result for _ in range(2))
    noted.counted(lab.cluster, 2, 4)

    assert first == second != matches.match(file=bill).result
    assert found(bill)["i-1"] == ("orphan_node", 2, Decimal("65.54"))
    assert BilledHour.objects.filter(file=bill).count() == 4


def test_a_newer_version_has_rows_of_its_own(lab, source):
    noted.node(lab.cluster, "n1", (0, 2), machine="i-1")
    noted.counted(lab.cluster, 0, 2)
    old = take(source, hour(0, "i-1", "10"))
    matches.match(file=old)
    new = take(source, hour(0, "i-1", "9"), hour(1, "i-1", "9"))
    matches.match(file=new)

    assert (cost(old), cost(new)) == (10, 18)
    assert list(matches.due(noted.when("2030-01-01T00:00:00Z"))) == []


def test_the_waterfall_begins_with_the_bill(lab, source, client):
    """Eight devices for four hours are billed, and another machine that never was a node."""
    noted.node(lab.cluster, "n1", (0, 4), machine="i-1")
    for at in range(3):
        stored.store(
            lab.cluster, stored.fact(stored.at(1, at), "nlp", committed=4, own=2), devices=8
        )
    bill = take(source, *[hour(at, key, "16") for at in range(4) for key in ("i-1", "i-9")])
    matches.match(file=bill)
    with time_machine.travel(datetime(2026, 11, 3, tzinfo=UTC), tick=False):
        client.force_login(lab.dave)
        said = stored.said(client.get("/clusters/lab/costs/?month=2026-11"))

    assert "Billed 64.0 128.00" in said
    assert "what became of the devices is not known 16.0 25.0 % 32.00" in said
    assert "Not in the cluster machines that are billed and were no nodes 24.0 37.5 % 48.00" in said
    assert "Unsold promised to nobody, cordoned devices too 12.0 18.8 % 24.00" in said
    assert "Idle quota of tenants that nobody had 6.0 9.4 % 12.00" in said
    assert "It begins with what the bill says." in said


def test_b79_parts_of_a_card_cost_what_they_are_of_it(lab, source, client):
    """A virtual GPU plugin makes ten parts of one card; five of them are held for a day."""
    vgpu = Pool("a100", "example.com/vgpu")
    devices = [{"flavor": "a100", "resource": "example.com/vgpu", "amount": 10}]
    noted.node(lab.cluster, "n1", (0, 24), machine="i-1", devices=devices)
    for at in range(24):
        fact = stored.fact(stored.at(1, at), "nlp", vgpu, committed=10, own=5)
        stored.store(lab.cluster, fact, devices=10)
    one = {"SkuPriceDetails": '{"GpuCount": 1}'}
    bill = take(source, *[hour(at, "i-1", "2.00", **one) for at in range(24)])
    matches.match(file=bill)
    fall = pool_month(lab.cluster.pk, Month(2026, 11), vgpu, stored.at(3)).fall

    assert {row: cost for row, cost in fall.money.items() if cost} == {
        Row.IDLE: 24,
        Row.STARTING: 24,
    }
    assert fall.cost == 48 == bill.effective
    assert min(fall.rows.values()) >= 0


def test_b79_devices_that_a_node_does_not_offer_are_never_negative_idle(lab, source):
    """Without devices nothing can be reconciled: the hours are named and in no row."""
    for at in range(2):
        fact = stored.fact(stored.at(1, at), "nlp", unmanaged=5)
        stored.store(lab.cluster, fact, devices=0)
    fall = pool_month(lab.cluster.pk, Month(2026, 11), A100, stored.at(3)).fall

    assert (len(fall.crowded), fall.hours, fall.whole) == (2, 0, 0)
    assert set(fall.rows.values()) == {0}


def test_a_closed_period_keeps_what_it_rests_on(lab):
    period = closed(lab, book_of(lab), 10, item("nlp", "5.00", "borrowed"))
    with pytest.raises(matches.Rested):
        matches.match(file=bills_of(period)[0])
    with pytest.raises(DatabaseError), transaction.atomic():
        BilledHour.objects.create(file=bills_of(period)[0], bucket="*shared", cost=1)


def test_a_split_that_is_not_its_whole_is_said(lab, source):
    noted.counted(lab.cluster, 0, 1)
    parts = [hour(0, "i-1", "4", AllocatedResourceId=f"pod-{n}") for n in range(2)]
    bill = take(
        source, hour(0, "i-1", "10"), *parts, hour(0, "i-1", "-5", ChargeClass="Correction")
    )
    matches.match(file=bill)

    codes = dict(BillFinding.objects.filter(file=bill).values_list("code", "money"))
    assert codes["double_split"] == -2
    assert codes["late_correction"] == -5


def test_names_of_machines_as_providers_write_them():
    from costs.machines import resource_key

    assert resource_key("arn:aws:ec2:eu-1:1:instance/i-0abc") == "i-0abc"
    assert resource_key("//compute.googleapis.com/projects/p/zones/z/instances/gke-1") == "gke-1"
    assert resource_key("/subscriptions/A/resourceGroups/B/virtualMachines/VM/") == (
        "/subscriptions/a/resourcegroups/b/virtualmachines/vm"
    )


def test_a_bill_that_cannot_be_joined_keeps_no_other_from_it(lab, source, monkeypatch):
    now = datetime(2026, 12, 3, tzinfo=UTC)
    for name in ("one", "two"):
        other = BillSource.objects.create(name=name, currency="USD", accounts=[])
        content = table({"BilledCost": "1.00", "EffectiveCost": "1.00", "SkuId": name})
        bills.take(source=other, file=io.BytesIO(content), name=name, actor=None)
    first, second = matches.due(now)
    real = matches.match

    def match(*, file):
        if file == first:
            message = "date value out of range"
            raise OverflowError(message)
        return real(file=file)

    monkeypatch.setattr(matches, "match", match)
    assert not matches.match_due(seconds=60, now=now)
    assert list(matches.due(now)) == [first]
    assert second.pk != first.pk
