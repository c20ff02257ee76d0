"""The waterfall and the findings: examples of what an operator is shown."""

from dataclasses import replace
from fractions import Fraction

import pytest

from costs.billing import BillLine, Category, match, sort
from costs.checks import broken, findings
from costs.facts import HourFacts, Quality
from costs.policy import Bucket
from costs.states import BLOCKS, EXACT, HELD_AND_GAUGE, Code, Finding, compare
from costs.times import HOUR
from costs.used import Use
from costs.waterfall import OverCapacity, waterfall
from tests.costs.make import DAY
from tests.costs.test_policy import fact, pool


def rows(found):
    return {row: part / HOUR for row, part in found.rows.items() if part}


def busy():
    """16 of 24 committed; 10 held, 8 admitted, 7 run and 3.5 of them are used; 1 is taken."""
    use = Use(3500 * HOUR, 7 * HOUR, 7 * HOUR)
    one = fact("a", committed=16, held=10, own=10, reserved=2, admitted=8, running=7)
    return [replace(one, use=use), fact("b", unmanaged=1)]


def test_from_billed_down_to_used():
    found = waterfall(busy(), pool(22, nominal=2, down=2), billed=27 * HOUR, orphan=2 * HOUR)

    assert rows(found) == {
        "gap": 1, "orphan": 2, "down": 2, "unsold": 3, "pool": 2, "idle": 6, "waiting": 2,
        "starting": 1, "unmanaged": 1, "waste": Fraction("3.5"), "used": Fraction("3.5"),
    }  # fmt: skip
    assert found.total == found.billed == 27 * HOUR


def test_use_that_nobody_saw_is_unknown_and_not_waste():
    facts = [replace(fact("a", held=4, own=4, admitted=4, running=4, committed=4), use=None)]

    assert rows(waterfall(facts, pool(4))) == {"used_unknown": 4}


def test_pods_that_run_out_take_from_what_is_free():
    facts = [fact("a", committed=4, held=4, own=4, admitted=4, running=1, terminating=3)]
    found = waterfall([replace(facts[0], use=Use(0, HOUR, HOUR))], pool(4))

    assert rows(found) == {"terminating": 3, "waste": 1}


def test_more_taken_than_there_is_is_an_error():
    with pytest.raises(OverCapacity, match="3600 device-seconds"):
        waterfall([fact("a", committed=4, unmanaged=5)], pool(4))


def test_quota_below_its_use_is_no_second_device():
    over = fact("a", committed=2, held=6, own=6, excess=4, admitted=6, running=6)
    found = waterfall([replace(over, use=Use(0, 6 * HOUR, 6 * HOUR))], pool(8))

    assert rows(found) == {"unsold": 2, "waste": 6}
    assert found.overdraft == 4 * HOUR


def codes(facts, of):
    found = findings(HourFacts(DAY, tuple(facts), (of,)))
    return {each.code: each for each in found}


def test_findings_of_a_sound_hour_are_none():
    use = Use(3500 * HOUR, 7 * HOUR, 7 * HOUR)
    sound = fact("a", committed=8, held=7, own=7, admitted=7, running=7)

    assert codes([replace(sound, use=use)], pool(8)) == {}


@pytest.mark.parametrize(
    ("code", "one", "devices"),
    [
        (Code.HARVEST_GAP, replace(fact("a"), coverage=1800, quality=Quality.PARTIAL), 8),
        (Code.RUN_OVER_ADMIT, fact("a", admitted=1, running=3), 8),
        (Code.ADMIT_NOT_RUNNING, fact("a", admitted=4), 8),
        (Code.UNMANAGED, fact("a", unmanaged=1), 8),
        (Code.USED_UNKNOWN, fact("a", admitted=1, running=1), 8),
        (Code.OVERDRAFT, fact("a", borrowed=3, overdraft=1), 8),
        (Code.OVER_CAPACITY, fact("a", held=9), 8),
        (Code.UNATTRIBUTED, fact("", held=1), 8),
    ],
)
def test_a_finding_names_what_it_is(code, one, devices):
    assert code in codes([one], pool(devices))


@pytest.mark.parametrize(
    ("found", "code"),
    [(812, Code.MATCHED), (811, Code.WITHIN_TOLERANCE), (790, Code.INTERVAL_GAP)],
)
def test_a_difference_is_allowed_up_to_its_tolerance(found, code):
    one = compare("a", found * HOUR, 812 * HOUR, HELD_AND_GAUGE, Code.INTERVAL_GAP)

    assert one.code is code
    assert one.blocks == (code is Code.INTERVAL_GAP)


def test_money_has_no_tolerance():
    assert compare("bill", 9601, 9600, EXACT, Code.UNPRICED).code is Code.UNPRICED


@pytest.mark.parametrize(("part", "blocks"), [(5, False), (6, True)])
def test_a_little_that_is_nobodys_does_not_keep_a_month_open(part, blocks):
    found = Finding(Code.UNATTRIBUTED, "a100", Fraction(part), Fraction(1000))

    assert found.blocks is blocks
    assert Code.UNATTRIBUTED in BLOCKS


@pytest.mark.parametrize(
    ("billed", "seen", "absent", "code"),
    [
        (720, 720, None, Code.MATCHED), (720, 700, 0, Code.OVER_BILLED),
        (720, 700, 20, Code.ORPHAN_NODE), (700, 720, None, Code.UNDER_BILLED),
    ],
)  # fmt: skip
def test_a_node_that_is_billed_otherwise_is_named(billed, seen, absent, code):
    hours = None if absent is None else absent * HOUR
    found = match("n", billed * HOUR, seen * HOUR, Fraction(1), absent=hours)

    assert found.finding.code is code


def test_every_row_of_a_bill_goes_to_one_place():
    rows = [
        BillLine(Category.USAGE, 1, 1, "i-1", gpus=8), BillLine(Category.USAGE, 1, 2, "i-9", gpus=8),
        BillLine(Category.USAGE, 1, 4, "disk-1"), BillLine(Category.TAX, 1, 8),
        BillLine(Category.CREDIT, -1, -16, "i-1", charge_class="Correction"),
        BillLine(Category.USAGE, 0, 32, "i-1", "Unused", gpus=8),
    ]  # fmt: skip
    found = sort(rows, ["i-1"])

    assert found.nodes == {"i-1": 1}
    assert found.buckets == {Bucket.ORPHAN: 2, Bucket.SHARED: 12, Bucket.UNUSED: 32}
    assert found.corrections == -16
    assert found.total == sum(row.effective for row in rows)


def test_identities_that_do_not_hold_are_named():
    wrong = replace(fact("a", held=3, own=1, borrowed=1, lent=4, excess=2), held_least=4 * HOUR)
    found = broken(HourFacts(DAY, (wrong,), (replace(pool(1), overdraft=1, borrowed=-1),)))

    assert [each.split(": ")[1] for each in found] == [
        "own and borrowed are not what is held", "the phases are not what is held",
        "more is beyond quota than is held", "what is held is outside of its bounds", "less than nothing is idle",
        "borrowed is not what was lent", "overdraft is not the sum of its parts",
        "more is lent by cohorts than they have",
    ]  # fmt: skip
