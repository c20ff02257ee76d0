"""Positions of waiting jobs, asked from Kueue itself."""

import pytest

from kube import errors
from kube.rbac import Identity
from kube.visibility import pending
from tests.real import faultproxy as fault
from tests.real.conftest import eventually
from tests.real.objects import cluster_queue, flavor, job, local_queue, namespace

MANAGER = "gpuportal-quota"


@pytest.fixture
def two_namespaces(admin, name):
    """Two namespaces with a LocalQueue of the same name on one ClusterQueue without room."""
    admin.apply(flavor(name), manager=MANAGER)
    admin.apply(cluster_queue(name, "0", flavor=name), manager=MANAGER)
    spaces = [f"{name}-a", f"{name}-b"]
    for space in spaces:
        admin.apply(namespace(space), manager=MANAGER)
        admin.apply(local_queue("same", space, name), manager=MANAGER)
    for number, space in enumerate([spaces[0], spaces[1], spaces[0], spaces[1]]):
        admin.apply(job(f"job-{number}", space, "same", "1"), manager=MANAGER)
        eventually(lambda count=number + 1: len(_listed(admin, name)) == count)
    return spaces


def _listed(client, queue):
    try:
        return pending(client, queue).items
    except errors.NotFound:
        return ()


def test_entry_positions_count_their_own_namespace_only(reader, name, two_namespaces):
    first, second = two_namespaces
    found = pending(reader, name)
    assert found.complete
    assert [each.position for each in found.items] == [0, 1, 2, 3]
    assert [each.entry_position for each in found.items if each.namespace == first] == [0, 1]
    assert [each.entry_position for each in found.items if each.namespace == second] == [0, 1]
    assert {each.local_queue for each in found.items} == {"same"}


def test_pages_and_limits(connect, proxy, name, two_namespaces, monkeypatch):
    monkeypatch.setattr("kube.visibility.PAGE", 2)
    client = connect(Identity.READER, through=proxy)
    assert [each.position for each in pending(client, name, limit=3).items] == [0, 1, 2]
    assert not pending(client, name, limit=3).complete
    assert len(pending(client, name, limit=10).items) == 4
    assert {entry.query["limit"] for entry in proxy.log} == {"1", "2"}


def test_a_queue_that_kueue_does_not_know(reader, name):
    with pytest.raises(errors.NotFound):
        pending(reader, name)


def test_an_identity_without_the_right(applier, name):
    with pytest.raises(errors.Forbidden):
        pending(applier, name)


@pytest.mark.fault
def test_nobody_to_ask(connect, proxy, name):
    client = connect(Identity.READER, through=proxy)
    plain = b"error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused"
    down = fault.Action("down", False, lambda exchange: exchange.answer(503, plain))
    absent = fault.Action("absent", False, lambda exchange: exchange.answer(404, b"not found"))
    proxy.rules.add(path="visibility", action=down)
    with pytest.raises(errors.NotVisible) as caught:
        pending(client, name)
    assert caught.value.retry
    assert "connection refused" in caught.value.message
    proxy.rules.add(path="visibility", action=absent)
    with pytest.raises(errors.NotVisible) as caught:
        pending(client, name)
    assert not caught.value.retry
