"""The ledger's rows: only added, never two phases of one Workload at a time."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from kube import phases
from queues.models import Gap, Interval, Lifetime, Phase, Quality

pytestmark = pytest.mark.django_db
START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


def at(minutes):
    return START + timedelta(minutes=minutes)


def lifetime(cluster, uid="u-1", **more):
    values = {
        "namespace": "nlp", "name": uid, "created_at": START, "first_seen_at": START,
        "noted_at": START, "resource_version": "1", "phase": "queued", "starts": START,
    }  # fmt: skip
    return Lifetime.objects.create(cluster=cluster, uid=uid, **(values | more))


def interval(life, starts, ends, phase="admitted"):
    return Interval.objects.create(
        cluster=life.cluster, lifetime=life, phase=phase, attempt=1, starts=at(starts),
        starts_quality="exact", ends=at(ends), ends_quality="exact", ended_by="evicted",
        queue="nlp-train", priority=0, devices=8,
        held=[{"flavor": "a100", "resource": "nvidia.com/gpu", "amount": 8}],
    )  # fmt: skip


@pytest.mark.parametrize(("starts", "ends"), [(5, 15), (0, 10), (2, 3), (-5, 30), (9, 11)])
def test_two_phases_of_one_workload_never_overlap(lab, starts, ends):
    life = lifetime(lab.cluster)
    interval(life, 0, 10)
    with pytest.raises(IntegrityError, match="interval_one_phase_at_a_time"), transaction.atomic():
        interval(life, starts, ends, phase="draining")


def test_phases_that_touch_and_phases_of_others_do_not_overlap(lab):
    first, second = lifetime(lab.cluster), lifetime(lab.cluster, "u-2")
    interval(first, 0, 10)
    interval(first, 10, 20)
    interval(second, 0, 20)
    assert Interval.objects.count() == 3


@pytest.mark.parametrize("ends", [0, -1])
def test_an_interval_has_a_length(lab, ends):
    life = lifetime(lab.cluster)
    with pytest.raises(IntegrityError, match="interval_has_length"), transaction.atomic():
        interval(life, 0, ends)


@pytest.mark.parametrize("wrong", [{"phase": ""}, {"starts": None}, {"phase": "asleep"}])
def test_an_open_phase_has_its_start(lab, wrong):
    with pytest.raises(IntegrityError, match="open_phase"), transaction.atomic():
        lifetime(lab.cluster, **wrong)


@pytest.mark.owner
@pytest.mark.parametrize("statement", ["UPDATE {} SET id = id", "DELETE FROM {}"])
@pytest.mark.parametrize("table", ["queues_interval", "queues_gap"])
def test_not_even_the_owner_rewrites_what_is_over(lab, table, statement):
    interval(lifetime(lab.cluster), 0, 10)
    Gap.objects.create(
        cluster=lab.cluster,
        kind="Workload",
        starts=at(0),
        ends=at(1),
        cause="lost",
        healed="listed",
    )
    with (
        pytest.raises(DatabaseError, match="rows are only added"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement.format(table))


def test_a_lifetime_is_never_removed(lab):
    life = lifetime(lab.cluster)
    with pytest.raises(DatabaseError, match="queues_lifetime is forbidden"), transaction.atomic():
        life.delete()


def test_rows_and_rules_have_the_same_phases_and_qualities():
    assert set(Phase.values) == {str(each) for each in phases.Phase}
    assert set(Quality.values) == {str(each) for each in phases.Quality}
