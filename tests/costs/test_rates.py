"""Prices: looked up for every hour, never 0 by accident; and rates made from a node's price."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from costs import units
from costs.billing import provider_key
from costs.lost import since_checkpoint
from costs.money import shown
from costs.rates import (
    Basis,
    NotKnown,
    Parts,
    PriceBook,
    PriceKey,
    Purchase,
    Unpriced,
    price,
    scaled_to_node,
    split_cost,
    whole_node,
)
from costs.steps import Dated
from costs.times import HOUR
from costs.used import Use
from tests.costs.make import DAY
from tests.costs.test_policy import fact


def book(**rates):
    """Return a price book for the a100 from the start of the day on."""
    rows = {
        PriceKey("a100", Basis(basis)): Dated([(DAY, Decimal(r))]) for basis, r in rates.items()
    }
    return PriceBook("USD", rows)


def test_each_basis_has_its_own_line():
    found = price(
        fact("a", committed=8, borrowed=2, lent=1, own=5, running=3),
        book(committed="2.50", borrowed="1.25", lent_credit="1.25", idle="0.10", running="1"),
        [Basis.COMMITTED, Basis.BORROWED, Basis.LENT_CREDIT, Basis.IDLE, Basis.RUNNING],
    )

    assert {x.key.basis: x.amount for x in found} == {
        "committed": 20,
        "borrowed": Fraction("2.5"),
        "lent_credit": Fraction("-1.25"),
        "idle": Fraction("0.2"),
        "running": 3,
    }


def test_an_hour_without_a_price_is_an_error():
    early = replace(fact("a", committed=8), hour=DAY - HOUR)
    with pytest.raises(Unpriced, match=r"no committed price for a100 \(on_demand\) at 2026-11-01"):
        list(price(early, book(committed="2.50"), [Basis.COMMITTED]))


def test_a_price_that_has_ended_is_an_error_and_no_zero():
    key = PriceKey("a100", Basis.COMMITTED)
    ended = PriceBook("USD", {key: Dated([(0, Decimal(2)), (DAY, None)])})

    assert ended.rate(key, DAY - 1) == 2
    with pytest.raises(Unpriced):
        ended.rate(key, DAY)


def test_a_price_of_zero_is_a_price():
    (found,) = price(fact("a", committed=8), book(committed="0"), [Basis.COMMITTED])

    assert found.amount == 0


def test_what_nobody_had_needs_no_price():
    assert list(price(fact("a"), book(), [Basis.COMMITTED, Basis.USED])) == []


def test_spot_has_prices_of_its_own():
    with pytest.raises(Unpriced, match="spot"):
        list(price(fact("a", committed=1), book(committed="2"), [Basis.COMMITTED], Purchase.SPOT))


def test_used_time_is_paid_for_what_was_seen_and_only_if_enough_was():
    seen = replace(fact("a", running=1), use=Use(1_800_000, 3500, HOUR))
    dim = replace(seen, use=Use(1_800_000, 2000, HOUR))
    (found,) = price(seen, book(used="2"), [Basis.USED])

    assert found.amount == 1
    with pytest.raises(NotKnown):
        list(price(dim, book(used="2"), [Basis.USED]))


@pytest.mark.parametrize("basis", [Basis.OVERHEAD, Basis.LOST_CREDIT])
def test_what_no_hour_counts_is_refused(basis):
    with pytest.raises(NotKnown, match=basis):
        list(price(fact("a"), book(), [basis]))


def test_a_gpu_costs_its_part_of_the_node():
    assert whole_node(Decimal("32.77"), 8) == Fraction("4.09625")


def test_listed_prices_are_scaled_to_the_node():
    listed = Parts(Decimal(10), Decimal(30), Decimal(30))

    assert scaled_to_node(Decimal(35), listed) == (5, 15, 15)


def test_split_cost_leaves_most_of_a_node_unused():
    rate = split_cost(Decimal(10), Parts(Decimal(8), Decimal(64), Decimal(488)))

    assert shown(rate, 3) == Decimal("0.504")
    assert shown(rate * 8, 2) == Decimal("4.04")


@pytest.mark.parametrize(
    ("model", "whole"),
    [("NVIDIA A100-SXM4-40GB", 7), ("NVIDIA-H100-80GB-HBM3", 7), ("A30", 4), ("nvidia_b200", 7),
     ("NVIDIA RTX PRO 6000 Blackwell", 4)],
)  # fmt: skip
def test_models_are_known_however_they_are_written(model, whole):
    assert units.compute_slices(model) == whole


def test_memory_may_weigh_more_than_compute():
    assert units.slices("A100", "3g.20gb") == Fraction(3, 7)
    assert units.slices("A100", "3g.20gb", units.Weigh.LARGER, 40) == Fraction(4, 8)
    assert units.slices("A100", "1g.5gb+me", units.Weigh.LARGER, 40) == Fraction(1, 7)
    assert units.stranded("A100", ["3g.20gb", "3g.20gb"]) == Fraction(1, 7)


@pytest.mark.parametrize(
    "make",
    [
        lambda: units.slices("A30", "7g.40gb"),
        lambda: units.slices("A100", "half"),
        lambda: units.slices("T4", "1g.5gb"),
        lambda: units.slices("A100", "3g.20gb", units.Weigh.LARGER),
        lambda: units.slices("A100", "0g.5gb"),
        lambda: units.replica(0),
    ],
)
def test_what_is_no_part_of_a_device_is_refused(make):
    with pytest.raises(units.NotAPart):
        make()


def test_without_checkpoints_all_of_a_run_is_lost():
    assert (since_checkpoint(7800, 0), since_checkpoint(7800, 1800)) == (7800, 600)


@pytest.mark.parametrize(
    ("provider_id", "key"),
    [
        ("aws:///eu-1a/i-0abc", "i-0abc"), ("gce://lab/europe-west4-a/gpu-1", "gpu-1"),
        ("azure:///subscriptions/S/VM/Gpu-1", "/subscriptions/s/vm/gpu-1"), ("", ""),
        ("kwok://n1", "n1"), ("i-0abc", "i-0abc"),
    ],
)  # fmt: skip
def test_a_node_is_found_in_the_bill_by_its_provider_id(provider_id, key):
    assert provider_key(provider_id) == key
