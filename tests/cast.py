"""The people and the catalog that tests about rights and requests play with.

    alice  lead of nlp          carol  approver      grace  lead of cv
    bob    user of nlp          dave   administrator heidi  no role at all
    frank  finance of nlp       erin   auditor

The cluster ``lab`` has 32 A100 in one department: nlp-train is promised 16, cv-train 8.
"""

from dataclasses import dataclass

from kube.catalog import (
    Catalog,
    CohortSpec,
    EntrySpec,
    FlavorSpec,
    PrioritySpec,
    Purpose,
    QueueSpec,
    QuotaSpec,
    TenantSpec,
    TopologySpec,
)
from tenants.models import Cluster, Membership, PlatformRole, Tenant, User
from tenants.services.catalog import commit_revision

PASSWORD = "correct-horse-battery-staple"
GIB = 2**30
MARK = "B-SECRET-7f3a"


@dataclass(frozen=True)
class Cast:
    cluster: Cluster
    nlp: Tenant
    cv: Tenant
    alice: User
    bob: User
    frank: User
    carol: User
    dave: User
    erin: User
    grace: User
    heidi: User


def lines(nominal: int, borrowing: int | None = None) -> tuple[QuotaSpec, ...]:
    """CPU, memory and devices of one flavor, in its ratio."""
    return tuple(
        QuotaSpec(
            flavor="a100",
            resource=resource,
            nominal=nominal * each,
            borrowing_limit=None if borrowing is None else borrowing * each,
        )
        for resource, each in (("cpu", 8000), ("memory", 64 * GIB), ("nvidia.com/gpu", 1))
    )


def queue(name: str, namespace: str, nominal: int, **more: object) -> QueueSpec:
    return QueueSpec(
        name=name,
        purpose=Purpose.TRAINING,
        cohort="research",
        quotas=lines(nominal),
        entries=(EntrySpec(namespace=namespace, name="main"),),
        **more,
    )


def catalog() -> Catalog:
    return Catalog(
        topologies=(
            TopologySpec(
                name="racks", levels=("topology.gpu-lab.io/rack", "kubernetes.io/hostname")
            ),
        ),
        flavors=(
            FlavorSpec(
                name="a100",
                capability="large training",
                model="NVIDIA A100 80 GB",
                resource="nvidia.com/gpu",
                node_labels=(("gpu-lab.io/model", "a100"),),
                cpu_per_device=8000,
                memory_per_device=64 * GIB,
                capacity=32,
            ),
        ),
        cohorts=(CohortSpec(name="research", display_name="Research"),),
        tenants=(
            TenantSpec(
                slug="nlp",
                display_name="Language",
                cost_centre="1001",
                queues=(queue("nlp-train", "nlp", 16),),
            ),
            TenantSpec(
                slug="cv",
                display_name=f"Vision {MARK}",
                cost_centre=MARK,
                queues=(queue("cv-train", "cv", 8),),
            ),
        ),
        priorities=(
            PrioritySpec(name="normal-batch", value=1000, contract="Everybody."),
            PrioritySpec(name="boss-urgent", value=1_000_000, contract="By agreement only."),
        ),
    )


def person(username: str, *, platform: str = "", tenant: Tenant | None = None, role: str = ""):
    user = User.objects.create_user(username, password=PASSWORD, display_name=username.title())
    if platform:
        PlatformRole.objects.create(user=user, role=platform)
    if tenant:
        Membership.objects.create(user=user, tenant=tenant, role=role)
    return user


def make(slug: str = "lab", *, writing: bool = True) -> Cast:
    cluster = Cluster.objects.create(slug=slug, display_name="Lab", writing=writing)
    commit_revision(cluster=cluster, catalog=catalog(), actor=None, summary="The first state")
    nlp, cv = Tenant.objects.get(slug="nlp"), Tenant.objects.get(slug="cv")
    return Cast(
        cluster=cluster,
        nlp=nlp,
        cv=cv,
        alice=person("alice", tenant=nlp, role="lead"),
        bob=person("bob", tenant=nlp, role="user"),
        frank=person("frank", tenant=nlp, role="finance"),
        carol=person("carol", platform="approver"),
        dave=person("dave", platform="admin"),
        erin=person("erin", platform="auditor"),
        grace=person("grace", tenant=cv, role="lead"),
        heidi=person("heidi"),
    )
