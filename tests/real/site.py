"""A catalog of its own names in the control plane, reached through the fault proxy."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from kube import rbac
from kube.catalog import (
    Catalog,
    CohortSpec,
    EntrySpec,
    FlavorSpec,
    QueueSpec,
    QuotaSpec,
    TenantSpec,
)
from kube.client import ClusterClient
from kube.edits import Edit, Replace, proportional
from kube.errors import Modified
from kube.manifest import Ref
from kube.transport import Request as Call
from queues.models import Apply, Credential, Link, Plan
from queues.services import apply as apply_service
from queues.services import links, plan, reconcile
from queues.services.approve import approve
from tenants.models import Cluster, Request, User
from tenants.services import requests
from tenants.services.catalog import head
from tests.real.faultproxy import FaultProxy

GIB = 2**30
RESOURCE = "nvidia.com/gpu"
_keys = itertools.count(1)


def lines(flavor: str, devices: int) -> tuple[QuotaSpec, ...]:
    shares = (("cpu", 8000), ("memory", 64 * GIB), (RESOURCE, 1))
    return tuple(
        QuotaSpec(flavor=flavor, resource=resource, nominal=devices * share)
        for resource, share in shares
    )


def tenant(prefix: str, number: int, devices: int = 4, cohort: str = "dept") -> TenantSpec:
    slug = f"{prefix}-t{number}"
    queue = QueueSpec(
        name=f"{slug}-q",
        cohort=f"{prefix}-{cohort}",
        quotas=lines(f"{prefix}-a100", devices),
        entries=(EntrySpec(namespace=slug, name="main"),),
    )
    return TenantSpec(slug=slug, display_name=f"Team {number}", queues=(queue,))


def catalog(prefix: str, tenants: int = 2, capacity: int = 1000) -> Catalog:
    flavor = FlavorSpec(
        name=f"{prefix}-a100", capability="large", resource=RESOURCE, capacity=capacity,
        node_labels=((f"{prefix}.example.com/model", "a100"),),
        cpu_per_device=8000, memory_per_device=64 * GIB,
    )  # fmt: skip
    cohorts = tuple(CohortSpec(name=f"{prefix}-{each}") for each in ("dept", "other"))
    return Catalog(
        flavors=(flavor,),
        cohorts=cohorts,
        tenants=tuple(tenant(prefix, number) for number in range(1, tenants + 1)),
    )


@dataclass
class Site:
    """One registered cluster, two people, and the steps of the main job."""

    prefix: str
    admin: ClusterClient
    proxy: FaultProxy
    cluster: Cluster
    author: User
    approver: User
    place: Any
    processes: Any = None

    # -- people ----------------------------------------------------------------------------

    def propose(self, *edits: Edit) -> Request:
        return requests.submit(
            actor=self.author, cluster=self.cluster, tenant=None, kind=Request.Kind.CATALOG,
            edits=edits, reason="For this test", key=f"site-key-{next(_keys):06d}",
        )  # fmt: skip

    def ask(self, number: int, devices: int) -> Request:
        return self.propose(*edits_for(self, number, devices))

    def approve(self, request: Request, **more: Any) -> Apply:
        ready = request.plans.get(state="ready")
        return approve(actor=self.approver, plan=ready, digest=ready.digest, **more)

    # -- workers ---------------------------------------------------------------------------

    def plan(self, request: Request) -> Plan:
        plan.request_plan(request=request)
        made = request.plans.get(state="waiting")
        plan.make_plan(made.pk)
        made.refresh_from_db()
        return made

    def run(self, apply: Apply) -> Apply:
        apply_service.run(apply.pk)
        apply.refresh_from_db()
        return apply

    def work(self) -> None:
        steps = {"plan": plan.make_plan, "apply": apply_service.run}
        for step in reconcile.next_steps(self.cluster.pk):
            if step.what in steps:
                steps[step.what](UUID(str(step.key)))

    def start(self, tenants: int = 2, **more: Any) -> Request:
        """Bring the first catalog into the cluster, past the proxy because that is quicker."""
        Link.objects.update(server=self.place.server, ca_pem=self.place.ca_pem)
        request = self.propose(Replace(catalog=catalog(self.prefix, tenants, **more)))
        self.plan(request)
        applied = self.run(self.approve(request))
        assert applied.state == "succeeded", applied.error
        Link.objects.update(server=self.proxy.server, ca_pem=self.proxy.ca_pem)
        request.refresh_from_db()
        return request

    # -- the cluster -----------------------------------------------------------------------

    def queue(self, number: int = 1) -> dict[str, Any]:
        found = self.admin.get(Ref("ClusterQueue", "", f"{self.prefix}-t{number}-q"))
        assert found is not None
        return found

    def nominal(self, number: int = 1) -> str:
        resources = self.queue(number)["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
        return next(each["nominalQuota"] for each in resources if each["name"] == RESOURCE)

    def edit(self, number: int, devices: str) -> None:
        """Do what ``kubectl edit`` does: write the whole object as another manager."""
        for attempt in range(10):
            body = self.queue(number)
            for each in body["spec"]["resourceGroups"][0]["flavors"][0]["resources"]:
                if each["name"] == RESOURCE:
                    each["nominalQuota"] = devices
            name = body["metadata"]["name"]
            try:
                self.put(f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{name}", body, "kubectl-edit")
            except Modified:
                # Kueue wrote its status in between; kubectl would open the editor again.
                assert attempt < 9
            else:
                return

    def put(self, path: str, body: dict[str, Any], manager: str) -> None:
        query = (("fieldManager", manager),)
        self.admin.transport.send(Call("PUT", path, query, body, writes=True))

    def written(self) -> dict[str, int]:
        """Count the writes that reached the cluster, by object; touches are told apart."""
        found: dict[str, int] = {}
        for entry in self.proxy.writes():
            if entry.verb == "PATCH" and entry.field_manager == "gpuportal-quota":
                found[entry.path] = found.get(entry.path, 0) + 1
        return found


def register(admin: Any, proxy: Any, actor: User, slug: str) -> Cluster:
    """Register the control plane behind the proxy and allow writing."""
    tokens = {who: rbac.issue_token(admin, who, 3600).value for who in rbac.Identity}
    cluster = links.register_cluster(
        actor=actor, slug=slug, display_name="Site", server=proxy.server, ca_pem=proxy.ca_pem,
        reader_token=tokens[rbac.Identity.READER], applier_token=tokens[rbac.Identity.APPLIER],
    )  # fmt: skip
    # The preflight asks some 200 questions; it has tests of its own (test_preflight.py).
    Link.objects.update(preflight={"ok": True}, checked_at=timezone.now())
    Credential.objects.update(expires_at=timezone.now() + timedelta(hours=24))
    return links.set_writing(actor=actor, cluster=cluster, on=True)


def edits_for(lab: Site, number: int, count: int) -> tuple[Edit, ...]:
    """Return the edits that give one tenant's queue so many devices."""
    queue, flavor = f"{lab.prefix}-t{number}-q", f"{lab.prefix}-a100"
    return proportional(head(lab.cluster), queue, flavor, count)
