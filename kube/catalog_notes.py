"""What each field of a catalog means, in one line; the JSON Schema shows these to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kube import names
from kube.catalog import (
    Catalog,
    CohortSpec,
    EntrySpec,
    FlavorSpec,
    Fungibility,
    Preemption,
    PrioritySpec,
    QueueSpec,
    QuotaSpec,
    Taint,
    TenantSpec,
    Toleration,
    TopologySpec,
)
from kube.weight import WEIGHT_PATTERN

NOTES: Final[Mapping[type, Mapping[str, str]]] = {
    Catalog: {
        "topologies": "Orders of node labels that say how near nodes are to each other.",
        "flavors": "Kinds of machines that quota is given for.",
        "cohorts": "Departments; their queues lend idle quota to each other.",
        "tenants": "Teams and their queues.",
        "priorities": "Ranks that jobs can be given.",
    },
    TopologySpec: {
        "name": "Name of the topology; flavors refer to it.",
        "levels": "Node labels from the widest domain to the narrowest; never changed later.",
    },
    FlavorSpec: {
        "name": "Name of the flavor; quota lines refer to it.",
        "capability": "The class of capability that users choose by.",
        "model": "Product name of the device.",
        "resource": "Resource that the device plugin offers; empty without devices.",
        "device_kind": "Whether a unit is a whole device, a MIG part or a share.",
        "mig_profile": "MIG profile of the parts, for example 1g.10gb.",
        "purchase": "How the machines are paid for.",
        "interconnect": "Network between the machines.",
        "region": "Region of the machines.",
        "zone": "Zone of the machines.",
        "rack": "Rack of the machines, if it is one.",
        "power_domain": "Power domain of the machines, if it is one.",
        "node_labels": "Labels of the nodes that belong to the flavor.",
        "taints": "Taints of the nodes, which keep other pods away.",
        "tolerations": "Tolerations given to the pods of admitted jobs.",
        "topology": "Topology by which pods are placed together; never changed later.",
        "cpu_per_device": "CPUs that belong to one device.",
        "memory_per_device": "Memory that belongs to one device.",
        "capacity": "Devices in the pool as agreed; absent where only the nodes tell.",
    },
    Taint: {
        "key": "Key of the taint.",
        "value": "Value of the taint.",
        "effect": "What happens to pods that do not tolerate it.",
    },
    Toleration: {
        "key": "Key that is tolerated; empty with Exists tolerates every key.",
        "operator": "Equal compares the value, Exists takes any.",
        "value": "Value that is tolerated with Equal.",
        "effect": "Effect that is tolerated; empty means every effect.",
        "toleration_seconds": "Seconds that a pod may stay after NoExecute.",
    },
    QuotaSpec: {
        "flavor": "Flavor that the line is for.",
        "resource": "cpu, memory or the device resource of the flavor.",
        "nominal": "What is promised.",
        "borrowing_limit": "What may be borrowed on top; absent without limit, 0 nothing.",
        "lending_limit": "What others may borrow while it is idle; absent all, 0 nothing.",
    },
    CohortSpec: {
        "name": "Name of the department; queues and other departments refer to it.",
        "display_name": "Name for people.",
        "parent": "Department above; empty at the top.",
        "weight": "Share in fair sharing against departments and queues beside it.",
        "quotas": "Quota of the department itself, on top of that of its queues.",
    },
    TenantSpec: {
        "slug": "Short name of the team; label of its namespaces.",
        "display_name": "Name for people.",
        "cost_centre": "Who pays.",
        "queues": "Queues of the team.",
    },
    QueueSpec: {
        "name": "Name of the queue; the same in the cluster.",
        "purpose": "What the queue is for; keeps inference and training apart.",
        "cohort": "Department in which the queue borrows and lends; empty for neither.",
        "strategy": "Whether a job that does not fit holds up those behind it.",
        "stop_policy": "Whether the queue takes new work.",
        "preemption": "Who may stop whom.",
        "fungibility": "When the next flavor is tried.",
        "weight": "Share in fair sharing against queues and departments beside it.",
        "quotas": "Quota lines; flavors are tried in the order of their first line.",
        "entries": "LocalQueues through which jobs come in.",
    },
    Preemption: {
        "within_cluster_queue": "Whom a job may stop in its own queue.",
        "reclaim_within_cohort": "Whom a job may stop in other queues to take back quota.",
        "borrow_within_cohort": "Whether a job may stop others even to borrow.",
        "max_priority_threshold": "Highest priority that may be stopped for borrowing.",
    },
    Fungibility: {
        "when_can_borrow": "What to do when the job fits by borrowing.",
        "when_can_preempt": "What to do when the job fits by stopping others.",
    },
    EntrySpec: {
        "namespace": "Namespace of the jobs; belongs to one tenant.",
        "name": "Name that jobs put into their queue label.",
    },
    PrioritySpec: {
        "name": "Name that jobs put into their priority label.",
        "value": "Rank; higher goes first.",
        "contract": "Who may use it and what it may stop, in words.",
        "preemptions_per_day": "Stops of one job by others within a day that need a look.",
        "longest_wait_hours": "Hours without a place after which a job needs a look.",
    },
}

PATTERNS: Final[Mapping[tuple[type, str], str]] = {
    (TopologySpec, "name"): names.SUBDOMAIN_PATTERN,
    (FlavorSpec, "name"): names.SUBDOMAIN_PATTERN,
    (CohortSpec, "name"): names.SUBDOMAIN_PATTERN,
    (CohortSpec, "weight"): WEIGHT_PATTERN,
    (TenantSpec, "slug"): names.SLUG_PATTERN,
    (QueueSpec, "name"): names.LABEL_PATTERN,
    (QueueSpec, "weight"): WEIGHT_PATTERN,
    (EntrySpec, "namespace"): names.LABEL_PATTERN,
    (EntrySpec, "name"): names.LABEL_PATTERN,
    (PrioritySpec, "name"): names.SUBDOMAIN_PATTERN,
}

LENGTHS: Final[Mapping[tuple[type, str], int]] = {
    (TopologySpec, "name"): names.MAX_SUBDOMAIN,
    (FlavorSpec, "name"): names.MAX_SUBDOMAIN,
    (CohortSpec, "name"): names.MAX_SUBDOMAIN,
    (TenantSpec, "slug"): names.MAX_SLUG,
    (QueueSpec, "name"): names.MAX_LABEL,
    (EntrySpec, "namespace"): names.MAX_LABEL,
    (EntrySpec, "name"): names.MAX_LABEL,
    (PrioritySpec, "name"): names.MAX_LABEL,
    (PrioritySpec, "contract"): names.MAX_LONG_TEXT,
}

RANGES: Final[Mapping[tuple[type, str], tuple[int, int]]] = {
    (Toleration, "toleration_seconds"): (-(2**63), 2**63 - 1),
    (Preemption, "max_priority_threshold"): (-(2**31), 2**31 - 1),
    (PrioritySpec, "value"): (-(2**31), 2**31 - 1),
    (PrioritySpec, "preemptions_per_day"): (1, 1000),
    (PrioritySpec, "longest_wait_hours"): (1, 8760),
}
