"""The observer against a real cluster that loses it: rows equal a fresh list afterwards."""

import pytest

from kube.manifest import Ref
from queues.models import ObservedObject, Stream
from tests.real import faultproxy as fault
from tests.real import registered
from tests.real.faultproxy import FaultProxy
from tests.stack import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.real]
EXPIRED = b'{"type":"ERROR","object":{"kind":"Status","status":"Failure","message":"too old","code":410,"reason":"Expired"}}\n'


@pytest.fixture
def far(admin, place, settings):
    """A cluster that is registered through a proxy, and the proxy."""
    registered.seal_with_fresh_keys(settings)
    dave = registered.person("dave", "admin")
    with FaultProxy(place.server, place.ca_pem) as proxy:
        cluster = registered.register(admin, proxy, dave)
        yield cluster, proxy


def flavor(admin, name):
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": name},
        "spec": {"nodeLabels": {"example.com/model": name}},
    }
    admin.apply(body, manager="test-observer")


def remove(admin, name):
    ref = Ref("ResourceFlavor", "", name)
    admin.delete(ref, uid=admin.get(ref)["metadata"]["uid"])


def seen(cluster, prefix):
    rows = ObservedObject.objects.filter(
        cluster=cluster, kind="ResourceFlavor", name__startswith=prefix
    )
    return sorted(rows.values_list("name", flat=True))


def stream(cluster):
    return Stream.objects.get(cluster=cluster, kind="ResourceFlavor")


def test_a_deletion_while_nobody_listened_is_found_by_the_next_list(admin, far, name):
    cluster, _ = far
    flavor(admin, f"{name}-a")
    flavor(admin, f"{name}-b")
    with registered.observing(cluster):
        wait_for(lambda: seen(cluster, name) == [f"{name}-a", f"{name}-b"])
    remove(admin, f"{name}-a")
    flavor(admin, f"{name}-c")
    assert seen(cluster, name) == [f"{name}-a", f"{name}-b"]
    with registered.observing(cluster):
        wait_for(lambda: seen(cluster, name) == [f"{name}-b", f"{name}-c"])


def test_a_lost_line_is_said_and_what_happened_meanwhile_is_caught_up(admin, far, name):
    cluster, proxy = far
    flavor(admin, f"{name}-a")
    proxy.rules.add(path=".*resourceflavors", watch=True, action=fault.cut_watch(0), times=None)
    with registered.observing(cluster):
        wait_for(lambda: seen(cluster, name) == [f"{name}-a"])
        # Every open watch ends at its next event, whosever flavor that is; none is opened again.
        proxy.rules.replace(path=".*resourceflavors", action=fault.drop(), times=None)
        flavor(admin, f"{name}-b")
        wait_for(lambda: stream(cluster).lost_since is not None)
        remove(admin, f"{name}-a")
        proxy.rules.clear()
        wait_for(lambda: seen(cluster, name) == [f"{name}-b"])
        wait_for(lambda: stream(cluster).lost_since is None, seconds=120)


def test_a_position_that_is_too_old_starts_with_a_fresh_list(admin, far, name):
    cluster, proxy = far
    proxy.rules.add(path=".*resourceflavors", watch=True, action=fault.watch_line(EXPIRED), times=2)
    flavor(admin, f"{name}-a")
    with registered.observing(cluster):
        wait_for(lambda: seen(cluster, name) == [f"{name}-a"])
        flavor(admin, f"{name}-b")
        wait_for(lambda: seen(cluster, name) == [f"{name}-a", f"{name}-b"])
