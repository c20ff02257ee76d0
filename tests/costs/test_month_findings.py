"""Findings of a month about use and tags: each is there when it is true, with both sides, or not at all."""

import json
from datetime import UTC, datetime

import pytest
from django.db import transaction

from costs.models import BillFinding, BillSource, UsedHour
from costs.services import matches, periods, reconcile
from costs.times import HOUR, moment
from costs.views import finding_words
from queues.models import PodInterval
from tests.costs import noted
from tests.costs.ledger_rows import book_of
from tests.costs.stored import NOVEMBER
from tests.costs.test_matches import hour, take
from tests.costs.test_reconcile import AFTER

pytestmark = pytest.mark.django_db
DAY = 24


@pytest.fixture
def tagged(lab):
    """A source whose tag ``team`` names tenants, and one node of eight GPUs."""
    noted.node(lab.cluster, "n1", (0, DAY), machine="i-1")
    noted.counted(lab.cluster, 0, DAY)
    return BillSource.objects.create(name="aws", currency="USD", tenant_tag="team")


def pod(lab, name, namespace, hours, *, node="n1", resource="nvidia.com/gpu", amount=8):
    """Note a pod that had devices for these hours of November."""
    starts, ends = (moment(NOVEMBER + at * HOUR) for at in hours)
    PodInterval.objects.create(
        cluster=lab.cluster, uid=f"uid-{name}", namespace=namespace, name=name, node=node,
        resource=resource, amount=amount, kind="running", starts=starts, ends=ends,
    )  # fmt: skip


def used(lab, name, *, namespace="nlp", node="n1", profile="", busy=0, shared=1, seen=HOUR, at=0):
    """Store what one pod used in one hour; ``busy`` in percent."""
    UsedHour.objects.create(
        cluster=lab.cluster, hour=moment(NOVEMBER + at * HOUR), namespace=namespace if name else "",
        pod=name, node=node, model="A100", profile=profile, used=seen * 10 * busy, seen=seen,
        expected=seen, shared=shared,
    )  # fmt: skip


def bill(source, *tags, gpus=8):
    rows = [
        hour(at, "i-1", "8.00", SkuPriceDetails=json.dumps({"GpuCount": gpus}))
        | ({"Tags": json.dumps({"team": tags[at % len(tags)]})} if tags else {})
        for at in range(DAY)
    ]
    found = take(source, *rows)
    matches.match(file=found)
    return {
        (each.code, each.subject): each
        for each in BillFinding.objects.filter(file=found).exclude(code="matched")
    }


def month(lab):
    period = periods.open_period(book=book_of(lab, "showback"), year=2026, number=11)
    reconcile.run(period=period, now=AFTER)
    codes = ("shared_device", "unattributed_use", "mig_mismatch", "untagged", "mistagged")
    rows = period.discrepancies.filter(code__in=codes).order_by("code", "subject")
    return {(each.code, each.subject): each for each in rows}


@pytest.mark.parametrize("tag", ["nlp", "NLP", " nlp "])
def test_a_tag_that_says_what_kubernetes_says_is_no_finding(lab, tagged, tag):
    pod(lab, "train", "nlp", (0, DAY))
    assert bill(tagged, tag) == {}


def test_a_machine_that_nobody_had_contradicts_no_tag(lab, tagged):
    assert bill(tagged, "cv") == {}


def test_a_source_without_a_tag_of_tenants_asks_for_none(lab, tagged):
    BillSource.objects.update(tenant_tag="")
    tagged.refresh_from_db()
    assert bill(tagged) == {}


def test_a_machine_without_the_tag_is_told_with_its_cost_and_who_had_it(lab, tagged):
    pod(lab, "train", "nlp", (0, 18))
    pod(lab, "see", "cv", (18, 24))
    ((key, one),) = bill(tagged, "nlp", "").items()

    assert key == ("untagged", "i-1")
    assert (one.difference, one.whole, one.money) == (12 * HOUR, 24 * HOUR, 96)
    (row,) = month(lab).values()
    assert (row.code, row.money, row.blocks) == ("untagged", 96, False)
    assert finding_words.sentence(row) == (
        "n1 has no tag of a tenant. Its pods were of: nlp 75 %, cv 25 %."
    )


@pytest.mark.parametrize(
    ("tag", "had", "found"),
    [
        ("cv", {"nlp": 24}, True),  # a whole machine: the tag would win, so it is said
        ("nlp", {"nlp": 18, "cv": 6}, False),  # most of it
        ("cv", {"nlp": 18, "cv": 6}, True),
        ("nobody-we-know", {"nlp": 24}, True),
        ("nobody-we-know", {}, True),
    ],
)
def test_a_tag_of_another_tenant_shows_both(lab, tagged, tag, had, found):
    at = 0
    for namespace, hours in had.items():
        pod(lab, f"of-{namespace}", namespace, (at, at + hours))
        at += hours
    known = bill(tagged, tag)

    assert set(known) == ({("mistagged", f"i-1 {tag}")} if found else set())
    if found and had:
        one = known["mistagged", f"i-1 {tag}"]
        assert (one.difference, one.money, one.node) == (24 * HOUR, 192, "n1")
        assert one.facts["alone"] is (len(had) == 1)
        (row,) = month(lab).values()
        said = finding_words.sentence(row)
        assert f"The tag of n1 says {tag}; Kubernetes says" in said
        assert "nlp" in said


def test_slices_that_are_more_than_the_gpus_of_the_bill_are_named(lab):
    """Fourteen slices of 1g on what is billed as one GPU: seven are all that it has."""
    slices = [{"flavor": "a100", "resource": "nvidia.com/mig-1g.10gb", "amount": 14}]
    noted.node(lab.cluster, "n1", (0, DAY), machine="i-1", devices=slices)
    noted.counted(lab.cluster, 0, DAY)
    source = BillSource.objects.create(name="aws", currency="USD")
    one = bill(source, gpus=1)["mig_mismatch", "i-1"]
    assert (one.difference, one.whole) == (24 * HOUR, 24 * HOUR)
    assert one.facts == {"gpus": 1, "devices": "2.00"}
    row = month(lab)["mig_mismatch", "i-1"]
    assert finding_words.sentence(row) == (
        "The slices of n1 are 2.00 whole GPUs together, and the bill says that it has 1."
    )
    with transaction.atomic():
        assert bill(BillSource.objects.create(name="b", currency="USD"), gpus=2) == {}


def test_a_pod_on_another_slice_than_it_asked_for_is_named_once_for_its_namespace(lab):
    mig = "nvidia.com/mig-"
    for n in range(3):
        pod(lab, f"wrong-{n}", "nlp", (0, 2), resource=f"{mig}3g.20gb", amount=1)
        used(lab, f"wrong-{n}", profile="2g.10gb")
    pod(lab, "right", "nlp", (0, 2), resource=f"{mig}3g.20gb", amount=1)
    used(lab, "right", profile="3g.20gb")
    pod(lab, "media", "nlp", (0, 2), resource=f"{mig}1g.10gb.me", amount=1)
    used(lab, "media", profile="1g.10gb+me")
    # One strategy calls every slice a GPU: what was asked for says nothing of the profile.
    pod(lab, "single", "nlp", (0, 2), amount=1)
    used(lab, "single", profile="1g.10gb")
    ((key, row),) = month(lab).items()

    assert key == ("mig_mismatch", "lab nlp 3g.20gb 2g.10gb")
    assert (row.difference, row.facts["pods"], row.cluster) == (3 * HOUR, 3, lab.cluster)
    assert finding_words.sentence(row) == (
        "Pods of the namespace nlp asked for 3g.20gb and were seen on 2g.10gb for 3.0 hours: 3 of "
        "them, such as wrong-0."
    )


def test_shared_devices_and_use_of_nobody_are_findings_of_the_month(lab):
    for name in ("a", "b", "c"):
        used(lab, name, shared=3, busy=50)
    used(lab, "alone", node="n2", busy=90)
    used(lab, "", node="n3", busy=60)
    used(lab, "", node="n4", busy=2)  # what a quiet device does is nobody's work
    used(lab, "", node="n5", busy=99, at=-1)  # of October
    found = month(lab)

    assert set(found) == {("shared_device", "lab n1"), ("unattributed_use", "lab n3")}
    shared, busy = found.values()
    # Three pods had one device for an hour: that is one hour of it.
    assert (shared.difference, shared.facts["pods"], shared.blocks) == (HOUR, 3, False)
    assert (busy.difference, busy.whole, busy.blocks) == (HOUR * 6 // 10, HOUR, False)
    assert finding_words.sentence(shared) == (
        "Up to 3 pods had one device of n1 at the same time, for 1.0 device hours; what it did is "
        "divided equally among them."
    )
    assert finding_words.sentence(busy).startswith("Devices of n3 did 0.6 hours of work")


def test_what_is_not_found_any_more_is_settled_by_the_run(lab):
    used(lab, "", node="n3", busy=60)
    noted.counted(lab.cluster, 0, 1)
    period = periods.open_period(book=book_of(lab, "showback"), year=2026, number=11)
    reconcile.run(period=period, now=AFTER)
    UsedHour.objects.all().delete()
    noted.counted(lab.cluster, 0, 2)
    run = reconcile.run(period=period, now=datetime(2026, 12, 1, 2, tzinfo=UTC))
    assert period.discrepancies.get(code="unattributed_use").settled_by == run
