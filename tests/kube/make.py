"""Small catalogs and answers for the tests of the pure part of kube."""

from dataclasses import replace

from kube.catalog import (
    CPU,
    MEMORY,
    Catalog,
    CohortSpec,
    EntrySpec,
    FlavorSpec,
    PrioritySpec,
    QueueSpec,
    QuotaSpec,
    TenantSpec,
)
from kube.problems import InvalidCatalog, Refused
from kube.rules import check

GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-1g.10gb"
GI = 1 << 30


def answer(rule, *arguments):
    """Return what a function gives, or its refusal."""
    try:
        return rule(*arguments)
    except (Refused, InvalidCatalog) as refused:
        return refused


def code_of(rule, *arguments):
    """Return the code of a refusal, or a dash."""
    return getattr(answer(rule, *arguments), "code", "-")


def flavor(name="a100", **more):
    """Make a flavor with 12 CPUs and 128Gi per GPU."""
    facts = {
        "capability": "a100-80gb",
        "resource": GPU,
        "node_labels": (("gpuportal.io/flavor", name),),
        "cpu_per_device": 12_000,
        "memory_per_device": 128 * GI,
    }
    return FlavorSpec(name=name, **{**facts, **more})


def lines(devices, name="a100", resource=GPU, **limits):
    """Make the three quota lines of a flavor in proportion."""
    shares = ((CPU, 12_000), (MEMORY, 128 * GI), (resource, 1))
    return tuple(
        QuotaSpec(
            flavor=name,
            resource=each,
            nominal=devices * share,
            **{key: value * share for key, value in limits.items()},
        )
        for each, share in shares
    )


def queue(name="nlp-train", **more):
    """Make a queue of 8 GPUs with one entry in the namespace nlp."""
    facts = {
        "quotas": lines(8),
        "entries": (EntrySpec(namespace="nlp", name=f"{name}-in"),),
    }
    return QueueSpec(name=name, **{**facts, **more})


def tenant(*queues, slug="nlp", **more):
    """Make a tenant."""
    return TenantSpec(slug=slug, display_name=slug.upper(), queues=queues, **more)


def catalog(**more):
    """Make a catalog without any problem: one flavor, one department, one queue, one priority."""
    facts = {
        "flavors": (flavor(),),
        "cohorts": (CohortSpec(name="research"),),
        "tenants": (tenant(queue(cohort="research")),),
        "priorities": (PrioritySpec(name="normal", value=1000, contract="Everyday work."),),
    }
    return Catalog(**{**facts, **more})


def with_queue(**more):
    """Make the same catalog with another queue in it."""
    return catalog(tenants=(tenant(queue(**{"cohort": "research", **more})),))


def with_flavor(**more):
    """Make the same catalog with other facts about its flavor."""
    return catalog(flavors=(replace(flavor(), **more),))


def found(of, **options):
    """Return what the rules say as pairs of code and field."""
    return [(each.code, each.field) for each in check(of, **options)]
