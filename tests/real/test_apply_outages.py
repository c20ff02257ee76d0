"""Kueue stopped and the API server frozen, for real, on a control plane of this file's own."""

import os
import time

import pytest

from cluster import Cluster
from kube import rbac
from kube.client import ClusterClient
from kube.connection import Timeouts
from kube.credentials import read_kubeconfig
from queues.models import Apply
from queues.services import links
from tests.real import registered, site
from tests.real.faultproxy import Action, FaultProxy

pytestmark = [
    pytest.mark.fault,
    pytest.mark.xdist_group("apply"),
    pytest.mark.skipif("PORTAL_TEST_KUBECONFIG" in os.environ, reason="stops the cluster's parts"),
]


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    data = tmp_path_factory.mktemp("outages") / "cluster"
    with Cluster.start(name="outages", data=data, parent_pid=os.getpid()) as found:
        yield found


@pytest.fixture
def lab(transactional_db, settings, plane):
    registered.seal_with_fresh_keys(settings)
    own = read_kubeconfig(plane.kubeconfig_path.read_text())
    with ClusterClient(own) as admin, FaultProxy(own.server, own.ca_pem) as proxy:
        rbac.install(admin)
        author, approver = registered.person("ann", "admin"), registered.person("ben", "admin")
        cluster = site.register(admin, proxy, author, "site")
        prefix = f"out-{time.monotonic_ns() % 10**8}"
        yield site.Site(prefix, admin, proxy, cluster, author, approver, own)


def approved(lab):
    lab.start()
    request = lab.ask(1, 6)
    lab.plan(request)
    lab.proxy.log.clear()
    return lab.approve(request)


def again(lab, apply):
    Apply.objects.filter(pk=apply.pk).update(next_try_at=None)
    return lab.run(apply)


def test_a_stopped_kueue_leaves_nothing_half_done(lab, plane):
    apply = approved(lab)
    plane.stop_process("kueue")
    try:
        assert lab.run(apply).state == "queued"
        assert "webhook is not answering" in apply.error
        assert lab.proxy.writes() == []
        since = apply.held_since
        assert again(lab, apply).held_since == since
    finally:
        plane.start_process("kueue")
    assert again(lab, apply).state == "succeeded", apply.error
    assert list(lab.written().values()) == [1]


def test_a_frozen_api_server_makes_the_result_unknown_until_it_is_read_back(
    lab, plane, monkeypatch
):
    apply = approved(lab)
    monkeypatch.setattr(links, "TIMEOUTS", Timeouts(connect=1.0, read=2.0, total=5.0))

    # Frozen right when the write arrives: after the comparison and the dry run.
    def freeze(exchange):
        plane.freeze("kube-apiserver")
        exchange.handler.pass_on(exchange)

    lab.proxy.rules.add(verb="PATCH", dry_run=False, action=Action("freeze", True, freeze))
    try:
        assert lab.run(apply).state == "unknown"
        assert apply.results.get().state == "unknown"
        apply.request.refresh_from_db()
        assert apply.request.state == "unknown"
    finally:
        plane.thaw("kube-apiserver")
    time.sleep(1)
    assert again(lab, apply).state == "succeeded", apply.error
    assert lab.nominal(1) == "6"
    # The first write took effect after all, and no second one was sent.
    assert list(lab.written().values()) == [1]
