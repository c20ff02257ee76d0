"""How much of an object is read: typed subsets for msgspec, which skips everything else.

What msgspec makes of them are plain dicts with only these keys, so a reader of whole objects
reads them as well. Values whose form does not matter here stay ``Any``: a cluster may hold
anything in them, and one odd value must not hide an object. A test holds that nothing which
:mod:`kube.explain` reads is left out.
"""

from __future__ import annotations

from typing import Any, TypedDict

Texts = dict[str, Any]


class Owner(TypedDict, total=False):
    """Who an object belongs to."""

    apiVersion: Any
    kind: Any
    name: Any
    uid: Any
    controller: Any


class Metadata(TypedDict, total=False):
    """Everything but the managed fields, which are half of an object's bytes."""

    name: str
    namespace: str
    uid: str
    resourceVersion: str
    generation: Any
    creationTimestamp: Any
    deletionTimestamp: Any
    labels: Texts | None
    annotations: Texts | None
    ownerReferences: list[Owner] | None


class Condition(TypedDict, total=False):
    """One condition of a status."""

    type: Any
    status: Any
    reason: Any
    message: Any
    lastTransitionTime: Any


class Resources(TypedDict, total=False):
    """What a container asks for."""

    requests: Texts | None
    limits: Texts | None


class Container(TypedDict, total=False):
    """A container without its image, command and environment."""

    name: Any
    restartPolicy: Any
    resources: Resources | None


class PodSpec(TypedDict, total=False):
    """What decides where a pod may run."""

    containers: list[Container] | None
    initContainers: list[Container] | None
    nodeName: Any
    nodeSelector: Texts | None
    affinity: Any
    tolerations: Any
    priorityClassName: Any
    schedulingGates: Any
    resourceClaims: Any
    overhead: Texts | None


class TemplateMetadata(TypedDict, total=False):
    """Labels and annotations of the pods to be."""

    labels: Texts | None
    annotations: Texts | None


class Template(TypedDict, total=False):
    """A pod template."""

    metadata: TemplateMetadata | None
    spec: PodSpec | None


class PodSet(TypedDict, total=False):
    """One group of equal pods of a workload."""

    name: Any
    count: Any
    minCount: Any
    template: Template | None
    topologyRequest: Any


class WorkloadSpec(TypedDict, total=False):
    """What a workload asks for."""

    active: Any
    queueName: Any
    priority: Any
    priorityClassRef: Any
    priorityClassName: Any
    maximumExecutionTimeSeconds: Any
    preemptionGates: Any
    podSets: list[PodSet] | None


class Assignment(TypedDict, total=False):
    """What one pod set was given, without the list of its nodes."""

    name: Any
    count: Any
    flavors: Texts | None
    resourceUsage: Texts | None
    delayedTopologyRequest: Any


class Admission(TypedDict, total=False):
    """The queue and the flavors that a workload holds."""

    clusterQueue: Any
    podSetAssignments: list[Assignment] | None


class Check(TypedDict, total=False):
    """One admission check, without the changes that it makes to the pods."""

    name: Any
    state: Any
    message: Any
    lastTransitionTime: Any
    requeueAfterSeconds: Any
    retryCount: Any


class WorkloadStatus(TypedDict, total=False):
    """What Kueue says about a workload."""

    conditions: list[Condition] | None
    admission: Admission | None
    admissionChecks: list[Check] | None
    requeueState: Any
    resourceRequests: Any
    reclaimablePods: Any
    accumulatedPastExecutionTimeSeconds: Any
    schedulingStats: Any
    clusterName: Any
    nominatedClusterNames: Any
    unhealthyNodes: Any
    preemptionGates: Any


class Workload(TypedDict, total=False):
    """A Kueue Workload."""

    metadata: Metadata
    spec: WorkloadSpec | None
    status: WorkloadStatus | None


class ContainerStatus(TypedDict, total=False):
    """How one container of a pod is."""

    name: Any
    ready: Any
    restartCount: Any
    state: Any


class PodStatus(TypedDict, total=False):
    """Where a pod is in its life."""

    phase: Any
    reason: Any
    startTime: Any
    conditions: list[Condition] | None
    containerStatuses: list[ContainerStatus] | None
    initContainerStatuses: list[ContainerStatus] | None


class PodMetadata(Metadata, total=False):
    """A pod that is being deleted says how long it may take."""

    deletionGracePeriodSeconds: Any


class Pod(TypedDict, total=False):
    """A pod."""

    metadata: PodMetadata
    spec: PodSpec | None
    status: PodStatus | None


class JobStatus(TypedDict, total=False):
    """Whether a job of any kind has ended."""

    conditions: list[Condition] | None
    completionTime: Any
    jobStatus: Any
    terminalState: Any


class Job(TypedDict, total=False):
    """A job of any kind; its spec is read whole, for the templates lie at different places."""

    metadata: Metadata
    spec: Any
    status: JobStatus | None


class NodeSpec(TypedDict, total=False):
    """What keeps pods from a node, and the machine that it is."""

    taints: Any
    unschedulable: Any
    providerID: Any


class NodeStatus(TypedDict, total=False):
    """What a node offers, without its images and addresses."""

    allocatable: Texts | None
    conditions: list[Condition] | None


class Node(TypedDict, total=False):
    """A node."""

    metadata: Metadata
    spec: NodeSpec | None
    status: NodeStatus | None


class Involved(TypedDict, total=False):
    """What an event is about."""

    kind: Any
    namespace: Any
    name: Any
    uid: Any


class Event(TypedDict, total=False):
    """An event, in the form of the core group."""

    metadata: Metadata
    involvedObject: Involved | None
    reason: Any
    message: Any
    type: Any
    count: Any
    series: Any
    firstTimestamp: Any
    lastTimestamp: Any
    eventTime: Any
    reportingComponent: Any
    source: Any


class Labelled(TypedDict, total=False):
    """A namespace: only its metadata says something here."""

    metadata: Metadata
