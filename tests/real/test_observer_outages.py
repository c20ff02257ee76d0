"""Whatever happens to the API server, etcd or the observer: afterwards the rows equal a list.

The API server here has Kueue's kinds and nobody who reconciles them, so it may be frozen,
stopped and set back without harm to another test.
"""

import os
import shutil
import signal
import time
from http import HTTPStatus

import pytest

from cluster.api import ApiError
from kube import rbac
from kube.client import ClusterClient
from kube.credentials import read_kubeconfig
from queues.models import Lifetime, Link, Stream, Workload
from queues.services import links, pulse
from tests import plane
from tests.bench.scale import generator
from tests.real import faultproxy as fault
from tests.real import registered
from tests.real.faultproxy import FaultProxy
from tests.stack import PATIENCE, stack, wait_for

pytestmark = [
    pytest.mark.django_db(transaction=True), pytest.mark.real, pytest.mark.fault,
    pytest.mark.xdist_group("lone"),
]  # fmt: skip
ROOT = f"/apis/{generator.API}/namespaces"
SOME = 40


@pytest.fixture(scope="module")
def lone(tmp_path_factory):
    """An API server of this module's own, without Kueue."""
    found = plane.Plane(tmp_path_factory.mktemp("lone") / "plane")
    found.start()
    try:
        found.install()
        for name in ("outages", "kueue-system"):
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            found.api.request("POST", "/api/v1/namespaces", namespace)
        found.wait(found.cached, "the API server's cache")
        yield found
    finally:
        found.stop()


@pytest.fixture
def token(lone):
    """A token of the reader, which has no right to write anything."""
    with ClusterClient(read_kubeconfig(lone.layout.kubeconfig("admin").read_text())) as client:
        rbac.install(client)
        return rbac.issue_token(client, rbac.Identity.READER, 3600).value


@pytest.fixture
def dave(settings):
    registered.seal_with_fresh_keys(settings)
    return registered.person("dave", "admin")


@pytest.fixture
def far(lone, token, dave):
    """The cluster as the portal knows it, through a proxy, and the proxy."""
    with FaultProxy(lone.layout.server, (lone.layout.pki / "ca.crt").read_text()) as proxy:
        yield register(dave, "lone", proxy.server, proxy.ca_pem, token), proxy
    for name in workloads(lone):
        delete(lone, name)


def register(dave, slug, server, ca_pem, token):
    return links.register_cluster(
        actor=dave, slug=slug, display_name=slug.title(), server=server, ca_pem=ca_pem,
        reader_token=token, applier_token=token,
    )  # fmt: skip


def keys(settings):
    """Return what a process needs to open the credentials that this one has sealed."""
    return {
        "GPUPORTAL_SEALING_PUBLIC_KEY": settings.SEALING_PUBLIC_KEY,
        "GPUPORTAL_SEALING_PRIVATE_KEY": settings.SEALING_PRIVATE_KEY,
    }


def make(lone, *names):
    for name in names:
        body = generator._workload(name, generator._waiting(generator.WAITING["quota"]))
        body["metadata"] |= {"namespace": "outages", "finalizers": []}
        lone.api.request("POST", f"{ROOT}/outages/workloads", body)


def delete(lone, name):
    lone.api.request("DELETE", f"{ROOT}/outages/workloads/{name}")


def touch(lone, name, priority):
    lone.api.patch(f"{ROOT}/outages/workloads/{name}", {"spec": {"priority": priority}})


def workloads(lone):
    found = lone.api.get(f"/apis/{generator.API}/workloads")["items"]
    return {item["metadata"]["name"]: item["spec"]["priority"] for item in found}


def rows(cluster):
    return dict(Workload.objects.filter(cluster=cluster).values_list("name", "priority"))


def equal(cluster, lone, seconds=PATIENCE):
    def same():
        try:
            return rows(cluster) == workloads(lone)
        except ApiError as error:
            if error.status != HTTPStatus.TOO_MANY_REQUESTS:
                raise
            return False  # a server that was set back reads its storage anew, more than once

    wait_for(same, seconds)


def line(cluster):
    return Stream.objects.get(cluster=cluster, kind="Workload")


def numbered(count):
    return [f"w{number}" for number in range(count)]


def test_deletions_and_changes_while_nobody_is_connected(lone, far):
    cluster, proxy = far
    make(lone, *numbered(SOME))
    with registered.observing(cluster):
        equal(cluster, lone)
        proxy.rules.add(path=".*workloads", watch=True, action=fault.drop(), times=None)
        proxy.cut()
        for name in numbered(SOME)[5:]:
            delete(lone, name)
        make(lone, "new")
        touch(lone, "w1", 7)
        wait_for(lambda: line(cluster).lost_since is not None)
        proxy.rules.clear()
        equal(cluster, lone)
        assert len(rows(cluster)) == 6


def test_a_watch_that_is_cut_in_the_middle_of_a_line(lone, far):
    cluster, proxy = far
    make(lone, *numbered(3))
    proxy.rules.add(path=".*workloads", watch=True, action=fault.cut_watch(1), times=3)
    with registered.observing(cluster):
        equal(cluster, lone)
        for priority in range(1, 7):
            touch(lone, "w1", priority)
            delete(lone, "w2") if priority == 3 else None
        equal(cluster, lone)


def test_a_frozen_api_server_is_noticed_and_nothing_is_lost(lone, far, monkeypatch):
    cluster, _ = far
    monkeypatch.setattr(pulse, "EVERY", 0.5)
    monkeypatch.setattr(pulse, "LASTS", 2.0)
    make(lone, *numbered(3))
    with registered.observing(cluster):
        equal(cluster, lone)
        wait_for(lambda: line(cluster).alive_at is not None)
        lone.running["kube-apiserver"].send_signal(signal.SIGSTOP)
        try:
            wait_for(lambda: line(cluster).lost_since is not None)
            alive = line(cluster).alive_at
            time.sleep(1.0)
            assert line(cluster).alive_at == alive
        finally:
            lone.running["kube-apiserver"].send_signal(signal.SIGCONT)
        delete(lone, "w2")
        equal(cluster, lone)
        wait_for(lambda: line(cluster).lost_since is None)


def test_an_observer_that_is_killed(lone, far, tmp_path, settings):
    """The next one takes over, deletes what went meanwhile and writes nothing that stands there."""
    cluster, _ = far
    make(lone, *numbered(SOME))
    with stack(tmp_path, **keys(settings)) as processes:
        processes.observer("lone", "first")
        equal(cluster, lone, 4 * PATIENCE)
        processes.observer("lone", "second")
        wait_for(lambda: "observer_waiting_for_lease" in processes.log("second"), 4 * PATIENCE)
        written = dict(Workload.objects.values_list("name", "observed_at"))
        processes.kill("first")
        for name in numbered(SOME)[10:]:
            delete(lone, name)
        equal(cluster, lone)
        left = dict(Workload.objects.values_list("name", "observed_at"))
        assert left == {name: written[name] for name in left}


def test_an_observer_whose_cluster_is_let_go_and_comes_back(lone, far, dave, tmp_path, settings):
    """It reads nothing without an address, and goes on by itself when there is one again."""
    cluster, _ = far
    make(lone, *numbered(3))
    with stack(tmp_path, **keys(settings)) as processes:
        processes.observer("lone", "observer")
        equal(cluster, lone, 4 * PATIENCE)
        # Its history comes a moment after its rows; without any, all of it would be forgotten.
        wait_for(lambda: Lifetime.objects.filter(cluster=cluster).count() == 3)
        link = Link.objects.get(cluster=cluster)
        credentials = list(link.credentials.all())
        assert not links.disconnect_cluster(actor=dave, cluster=cluster)
        wait_for(lambda: "observer_waiting_for_connection" in processes.log("observer"))
        make(lone, "unseen")
        time.sleep(1.0)
        assert not Workload.objects.filter(name="unseen").exists()
        link.save(force_insert=True)
        for each in credentials:
            each.pk = None
            each.save(force_insert=True)
        equal(cluster, lone, 4 * PATIENCE)


def test_a_compacted_history_is_read_anew(lone, far):
    """The version that the watch wants to go on from is gone from etcd and from every cache."""
    cluster, proxy = far
    make(lone, *numbered(5))
    with registered.observing(cluster):
        equal(cluster, lone)
        epoch = line(cluster).epoch
        proxy.rules.add(path=".*workloads", action=fault.drop(), times=None)
        proxy.cut()
        for name in numbered(5)[2:]:
            delete(lone, name)
        lone.stop("kube-apiserver")
        lone.compact()
        lone.start("kube-apiserver")
        lone.wait(lone.cached, "the API server's cache")
        make(lone, "after")
        proxy.rules.clear()
        equal(cluster, lone)
        assert line(cluster).epoch > epoch


def test_a_cluster_that_was_set_back_to_a_backup(lone, far):
    """Versions go back, and a watch from the future would wait for ever."""
    cluster, _ = far
    make(lone, *numbered(3))
    lone.stop()
    backup = lone.data / "backup"
    shutil.copytree(lone.data / "etcd", backup)
    lone.start()
    lone.wait(lone.cached, "the API server's cache")
    make(lone, *(f"later{number}" for number in range(5)))
    with registered.observing(cluster):
        equal(cluster, lone)
        lone.stop()
        shutil.rmtree(lone.data / "etcd")
        os.replace(backup, lone.data / "etcd")
        lone.start()
        lone.wait(lone.cached, "the API server's cache")
        equal(cluster, lone)
        assert sorted(rows(cluster)) == numbered(3)
        assert line(cluster).went_back_at is not None


def test_one_cluster_that_is_down_does_not_hold_up_another(lone, far, dave, token):
    cluster, proxy = far
    make(lone, *numbered(3))
    down = register(dave, "down", "https://127.0.0.1:9", proxy.ca_pem, token)
    with registered.observing(down), registered.observing(cluster):
        equal(cluster, lone)
        delete(lone, "w1")
        equal(cluster, lone)
        wait_for(lambda: Stream.objects.filter(cluster=down, lost_since__isnull=False).exists())
