"""Second opinions: read, compared with what is on record, and in no sum."""

import io
from fractions import Fraction

import pytest

from costs.models import BilledHour, BillSource, OpinionLine
from costs.selectors.opinions import beside
from costs.services import bills, matches
from costs.times import HOUR
from tests.costs import noted, stored
from tests.costs.focus import hour, table

HYPERPOD = b"""Amazon SageMaker HyperPod
Cluster Name: ml
Report Type: Summary Utilization Report
Report Date Generated: 2026-11-03
Report Date Range (UTC): 2026-11-01 to 2026-11-02
Missing data periods
2026-11-01 02:00:00 to 2026-11-01 03:00:00
,,,Instance,NeuronCore,,,GPU,,,vCPU,,
Date,Namespace,Team,Type,Total utilization (hours),Allocated utilization (hours),Borrowed utilization (hours),Total utilization (hours),Allocated utilization (hours),Borrowed utilization (hours),Total utilization (hours),Allocated utilization (hours),Borrowed utilization (hours)
2026-11-01,nlp,nlp,ml.p4d,0.00,0.00,0.00,24.00,20.00,4.00,1.00,1.00,0.00
2026-11-02,cv,vision,ml.p4d,0.00,0.00,0.00,10.50,10.00,0.50,1.00,1.00,0.00
"""


def cur(*rows):
    head = (
        "bill_billing_period_start_date,bill_billing_period_end_date,line_item_usage_start_date,"
        "line_item_usage_end_date,line_item_usage_type,line_item_resource_id,"
        "line_item_currency_code,split_line_item_parent_resource_id,split_line_item_split_cost,"
        "split_line_item_unused_cost,split_line_item_net_split_cost,split_line_item_reserved_usage"
    )
    times = "2026-11-01 00:00:00,2026-12-01 00:00:00,2026-11-01 00:00:00,2026-11-01 01:00:00"
    return "\n".join([head, *(f"{times},{row}" for row in rows)]).encode()


POD = "arn:aws:eks:eu-1:1:pod/ml/nlp/train-0/0a1b"


def take(kind, content):
    source = BillSource.objects.create(name=kind, currency="USD", kind=kind)
    return bills.take(source=source, file=io.BytesIO(content), name="x.csv", actor=None)


def test_the_usage_report_stands_beside_what_was_held(lab):
    stored.store(
        lab.cluster, *[stored.fact(stored.at(1, n), "nlp", committed=8, own=1) for n in range(24)]
    )
    bill = take("usage", HYPERPOD)

    assert bill.state == "active"
    assert f"{bill.period_starts:%F} {bill.period_ends:%F}" == "2026-11-01 2026-11-03"
    assert {(o.team, o.held, o.borrowed) for o in OpinionLine.objects.all()} == {
        ("nlp", 24 * HOUR, 4 * HOUR), ("vision", 10 * HOUR + HOUR // 2, HOUR // 2),
    }  # fmt: skip
    assert [(each.subject, each.theirs, each.ours, each.code) for each in beside(bill)] == [
        ("cv", Fraction(21, 2), None, "unattributed"), ("nlp", 24, 24, "matched"),
    ]  # fmt: skip
    assert bill.problems.get().code == "no_rows"


def test_the_split_stands_beside_the_bill_and_is_in_no_sum(lab):
    noted.node(lab.cluster, "n1", (0, 1), machine="i-1")
    noted.counted(lab.cluster, 0, 1)
    source = BillSource.objects.create(name="aws", currency="USD")
    paid = bills.take(source=source, file=io.BytesIO(table(hour(0))), name="b.csv", actor=None)
    matches.match(file=paid)
    other = take(
        "split",
        cur(f"EU-EKS-EC2-Accelerator-Hours,{POD},USD,i-1,7,1,6,8",
            f"EU-EKS-EC2-vCPU-Hours,{POD},USD,i-1,1,1,,4", "BoxUsage:p4d,i-1,USD,,0,0,,0"),
    )  # fmt: skip

    assert [(each.subject, each.theirs, each.ours, each.code) for each in beside(other)] == [
        ("i-1", 9, 10, "interval_gap")
    ]
    assert [(o.namespace, o.held) for o in other.opinions.order_by("row")] == [
        ("nlp", 8 * HOUR), ("nlp", None),
    ]  # fmt: skip
    assert list(matches.due(noted.when("2030-01-01T00:00:00Z"))) == []
    assert not BilledHour.objects.filter(file=other).exists()


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("usage", b"a,b\n1,2\n"), ("usage", b""), ("split", b"a,b\n1,2\n"),
        ("usage", HYPERPOD.replace(b"Type,Total", b"Other,Total")),
    ],
)  # fmt: skip
def test_what_is_no_such_report_is_refused(lab, kind, content):
    with pytest.raises(bills.NotABill):
        take(kind, content)


def test_rows_that_cannot_be_are_errors(lab):
    bad = HYPERPOD.replace(b"24.00,20.00", b"many,20.00").replace(
        b"2026-11-02,cv", b"2026-12-02,cv"
    )
    bill = take("usage", bad)

    assert bill.state == "refused"
    assert {each.code for each in bill.problems.filter(error=True)} == {
        "amount",
        "missing",
        "month",
    }
    assert not OpinionLine.objects.exists()
