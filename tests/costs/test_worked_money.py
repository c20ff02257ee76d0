"""The worked examples about money: W12 to W16 and W18 to W20, with exactly these numbers."""

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest

from costs.billing import BillLine, Category, match, sort, sums
from costs.facts import UseTime
from costs.money import from_grains, grains, rounded, shown
from costs.policy import Base, Bucket, Policy, Rest, allocate, weigh
from costs.rates import Basis, PriceBook, PriceKey, cost
from costs.rounding import split
from costs.statements import adjust, amounts, as_restated, statement
from costs.states import BILLED_AND_PROVISIONED, Code
from costs.steps import Dated
from costs.times import HOUR, hours, month
from costs.used import Use
from tests.costs.make import A100, DAY, grant, hold, one_hour, records

NODE_RATE = Decimal("32.77")


def cents(parts):
    return amounts(parts, "USD")


def money(text):
    return {key: Decimal(value) for key, value in text.items()}


def test_w12_a_price_changes_in_the_middle_of_the_month():
    november = month(2026, 11)
    key = PriceKey("a100", Basis.COMMITTED)
    change = november.starts + 15 * 24 * HOUR
    book = PriceBook(
        "USD", {key: Dated([(november.starts, Decimal("2.50")), (change, Decimal("2.20"))])}
    )
    charges = [book.charge(key, hour.starts, 8 * HOUR).amount for hour in hours(november)]

    assert (sum(charges[: 15 * 24]), sum(charges[15 * 24 :])) == (7_200, 6_336)
    assert rounded(sum(charges), "USD") == Decimal("13536.00")


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        (10_000, {"a": 1, "b": 1, "c": 1}, {"a": "33.34", "b": "33.33", "c": "33.33"}),
        (1_000, {"a": 1, "b": 2, "c": 4}, {"a": "1.43", "b": "2.86", "c": "5.71"}),
        (-1_000, {"a": 1, "b": 2, "c": 4}, {"a": "-1.43", "b": "-2.86", "c": "-5.71"}),
    ],
    ids=["W13-equal", "W13-powers", "W14-credit"],
)
def test_w13_and_w14_the_largest_remainder_gets_the_cent(total, weights, parts):
    assert cents(split(total, weights)) == money(parts)


def test_w15_money_is_rounded_once():
    lines = [Decimal("0.335")] * 3
    half_up = [line.quantize(Decimal("0.01"), ROUND_HALF_UP) for line in lines]

    assert sum(half_up) == Decimal("1.02")
    assert sum(lines).quantize(Decimal("0.01"), ROUND_HALF_UP) == Decimal("1.01")
    assert sum(lines).quantize(Decimal("0.01"), ROUND_HALF_EVEN) == Decimal("1.00")
    assert rounded(sum(lines), "USD") == Decimal("1.00")
    assert sum(statement({str(n): grains(x) for n, x in enumerate(lines)}, "USD").values()) == 100


def pool_of_w16():
    """32 GPUs, 16 of A and 8 of B; A holds 18, two of them from B, and B holds 6."""
    found = records(
        [hold("00:00", "01:00", 18, "a"), hold("00:00", "01:00", 6, "b")],
        nodes=32,
        a=grant(16, "lab"),
        b=grant(8, "lab"),
    )
    for tenant, used, held in (("A", "12.6", 18), ("B", "3", 6)):
        use = Use(int(Decimal(used) * 1000 * HOUR), held * HOUR, held * HOUR)
        found.uses.append(UseTime(tenant, A100, DAY, use))
    return one_hour(found)


@pytest.mark.parametrize(
    ("policy", "parts"),
    [
        (Policy(), {"A": "51.00", "B": "21.00", Bucket.UNSOLD: "24.00"}),
        (
            Policy(base=Base.ADMITTED, rest=Rest.COMMITTED),
            {"A": "70.00", "B": "26.00"},
        ),
        (Policy(base=Base.USED, rest=Rest.ADMITTED), {"A": "74.70", "B": "21.30"}),
    ],
    ids=["P1", "P2", "P3"],
)
def test_w16_each_policy_divides_the_same_bill(policy, parts):
    hour = pool_of_w16()
    (pool,) = hour.pools
    bill = grains(cost(pool.provisioned, Decimal("3.00")))
    found = allocate(bill, weigh(hour.facts, pool, policy))

    assert from_grains(bill) == Decimal("96")
    assert sum(found.values()) == bill
    assert cents(statement(found, "USD")) == money(parts)


def test_w18_only_effective_cost_says_what_a_node_costs():
    lines = [
        BillLine(Category.PURCHASE, Decimal(2160), Decimal(0)),
        BillLine(Category.USAGE, Decimal(0), Decimal(1800), "i-1", "Used", gpus=8),
        BillLine(Category.USAGE, Decimal(0), Decimal(360), "", "Unused"),
    ]
    found = sort(lines, ["i-1"])

    assert sums(lines) == (Decimal(2160), Decimal(2160))
    assert found.nodes == {"i-1": Decimal(1800)}
    assert found.buckets == {Bucket.SHARED: Decimal(0), Bucket.UNUSED: Decimal(360)}
    assert found.total == Decimal(2160)


def test_w19_a_node_within_one_percent_is_matched():
    found = match("n1", 720 * HOUR, 718 * HOUR + HOUR // 2, NODE_RATE)
    part = found.finding.difference * Fraction(100, 720 * HOUR)

    assert rounded(found.billed, "USD") == Decimal("23594.40")
    assert shown(part, 3) == Decimal("0.208")
    assert BILLED_AND_PROVISIONED.relative == Fraction(1, 100)
    assert found.finding.code is Code.WITHIN_TOLERANCE


def test_w19_a_node_that_left_is_an_orphan_for_the_rest():
    found = match("n2", 720 * HOUR, 400 * HOUR, NODE_RATE)

    assert found.finding.code is Code.ORPHAN_NODE
    assert found.finding.difference == 320 * HOUR
    assert rounded(found.money, "USD") == Decimal("10486.40")


def test_w19_a_node_without_a_bill_is_estimated():
    found = match("n3", 0, 24 * HOUR, NODE_RATE)

    assert found.finding.code is Code.CLUSTER_NOT_BILLED
    assert rounded(found.money, "USD") == Decimal("786.48")


def test_w20_a_late_correction_leaves_the_closed_month_as_it_was():
    october = {"A": 1_000_000, "B": 666_667}
    booked = adjust(Decimal("-250.00"), {"A": 60, "B": 40}, of="2026-10", currency="USD")

    assert [(x.payer, x.amount, x.of) for x in booked] == [
        ("A", -15_000, "2026-10"),
        ("B", -10_000, "2026-10"),
    ]
    assert october["A"] == 1_000_000
    assert cents(as_restated(october, booked, "2026-10"))["A"] == Decimal("9850.00")
    assert as_restated(october, booked, "2026-09") == october
