"""The devices behind a promise: agreed, counted on nodes, or unknown."""

from dataclasses import replace

import pytest
from django.utils import timezone

from queues.models import ObservedObject
from queues.services import capacity, impact
from queues.services.capacity import PoolExceeded
from tests import cast

AGREED = cast.catalog()
OPEN = replace(AGREED, flavors=(replace(AGREED.flavors[0], capacity=None),))


def observed(cluster, kind, name, body):
    return ObservedObject.objects.create(
        cluster=cluster, kind=kind, name=name, uid=name, resource_version="1", body=body,
        observed_at=timezone.now(),
    )  # fmt: skip


def node(cluster, name, *, model="a100", ready=True, unschedulable=False):
    body = {
        "labels": {"gpu-lab.io/model": model},
        "allocatable": {"nvidia.com/gpu": "8"},
        "ready": ready,
        "unschedulable": unschedulable,
    }
    observed(cluster, "Node", name, body)


def only(cluster, catalog):
    [row] = capacity.facts(cluster, catalog)
    return row


def test_the_agreed_number_goes_first(lab):
    node(lab.cluster, "n1")
    row = only(lab.cluster, AGREED)
    assert (row["capacity"], row["source"], row["committed"], row["free"]) == (32, "agreed", 24, 8)


def test_else_the_ready_nodes_of_the_flavor_count(lab):
    for number in range(4):
        node(lab.cluster, f"n{number}")
    node(lab.cluster, "broken", ready=False)
    node(lab.cluster, "closed", unschedulable=True)
    node(lab.cluster, "other", model="h100")
    row = only(lab.cluster, OPEN)
    assert (row["capacity"], row["source"], row["nodes"]) == (32, "nodes", 4)
    assert row["observed_at"] is not None


def test_without_nodes_nobody_knows_and_nothing_is_refused(lab):
    row = only(lab.cluster, OPEN)
    assert (row["capacity"], row["source"], row["free"]) == (None, "unknown", None)
    assert capacity.decide(lab.cluster, OPEN, OPEN)[0]["committed_before"] == 24


def test_nodes_that_went_away_refuse_more_but_not_less(lab):
    node(lab.cluster, "n1")
    with pytest.raises(PoolExceeded) as refusal:
        capacity.decide(lab.cluster, replace(OPEN, tenants=OPEN.tenants[:1]), OPEN)
    assert refusal.value.details["free"] == 0
    assert capacity.decide(lab.cluster, OPEN, OPEN)


def test_a_reduction_shows_what_it_hits(lab):
    fewer = replace(OPEN, tenants=OPEN.tenants[:1])
    assert impact.of(lab.cluster, OPEN, fewer)["observed_at"] is None
    lines = [{"name": "nvidia.com/gpu", "total": "6"}]
    groups = [{"name": "a100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "8"}]}]
    body = {
        "spec": {"cohortName": "research", "resourceGroups": [{"flavors": groups}]},
        "status": {"flavorsReservation": [{"name": "a100", "resources": lines}]},
    }
    observed(lab.cluster, "ClusterQueue", "cv-train", body)
    told = impact.of(lab.cluster, OPEN, fewer)
    row = next(each for each in told["reductions"] if each["resource"] == "nvidia.com/gpu")
    assert (row["queue"], row["before"], row["after"]) == ("cv-train", 8, 0)
    assert (row["held"], row["over"], row["borrowers"], row["room_lost"]) == (6, 6, 1, 8)
    assert told["observed_at"] is not None
