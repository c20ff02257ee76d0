"""The texts with which Kueue says why a workload waits, as a table: one row per text.

A new text is one row here and one line in the tests. What no row knows becomes ``unknown`` and
is shown as it came. Rows are tried in order; of two that match at the same place the first
counts. A row is only tried on a text that holds its sign, which is what makes this fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kube.reason_codes import reason
from kube.reasons import Reason

#: Longer texts are read each time: keeping them would cost more than reading them.
_LONGEST_KEPT: Final = 1000


@dataclass(frozen=True, slots=True)
class Row:
    """A text and what it means. ``sign`` is a part of it that every such text holds."""

    sign: str
    pattern: re.Pattern[str]
    code: str


def _row(code: str, sign: str, pattern: str) -> Row:
    return Row(sign.lower(), re.compile(pattern, re.IGNORECASE), code)


_END = (
    r"(?=$|\. Pending |\. Preempting |; |, (?:topology|flavor|insufficient|untolerated|could not)\b"
    r"|, resource \S+ unavailable)"
)
_NODES = rf"(?:\. Total nodes: (?P<nodes>\d+)(?:; excluded: (?P<excluded>.+?))?)?{_END}"

_QUOTA = (
    _row(
        "quota_short",
        "insufficient unused quota for",
        r"insufficient unused quota for (?P<resource>\S+) in flavor (?P<flavor>\S+), "
        r"(?P<missing>\S+) more needed",
    ),
    _row(
        "max_capacity",
        "> maximum capacity",
        r"insufficient quota for (?P<resource>\S+) in flavor (?P<flavor>\S+), previously "
        r"considered podsets requests \((?P<earlier>[^)]*)\) \+ current podset request "
        r"\((?P<asked>[^)]*)\) > maximum capacity \((?P<capacity>[^)]*)\)",
    ),
    _row("lost_the_race", "no longer fits", r"workload no longer fits after processing another"),
    _row(
        "overlapping_preemption",
        "overlapping preemption",
        r"workload has overlapping preemption targets",
    ),
    _row(
        "elastic_flavor",
        "the original workload is assigned",
        r"could not assign (?P<flavor>\S+) flavor since the original workload is assigned: "
        r"(?P<original>\S+)",
    ),
    _row(
        "preempted",
        "preempted to accommodate",
        r"preempted to accommodate a workload .*?due to (?P<why>prioritization in the "
        r"ClusterQueue|reclamation within the cohort while borrowing|reclamation within the "
        r"cohort|Fair Sharing within the cohort|UNKNOWN)",
    ),
    _row("flavor_migration", "pending the migration of", r"Pending the migration of \d+ workload"),
)

_REQUEST = (
    _row(
        "resource_not_covered",
        "unavailable in clusterqueue",
        r"resource (?P<resource>\S+) unavailable in ClusterQueue",
    ),
    _row(
        "selector_mismatch",
        "match node affinity",
        r"flavor (?P<flavor>\S+) doesn't match node affinity",
    ),
    _row(
        "untolerated_taint",
        "untolerated taint",
        r"untolerated taint \{(?P<taint>[^}]*)\} in flavor (?P<flavor>[^\s,;]+)",
    ),
    _row(
        "requests_above_limits",
        "must not exceed its limits",
        r"resources validation failed: (?P<field>\S+?): .*must not exceed its limits",
    ),
    _row(
        "limit_range",
        "limitrange constraints",
        r"resources didn't satisfy LimitRange constraints: (?P<field>\S+?): (?P<text>.*)",
    ),
    _row(
        "resources_invalid",
        "resources validation failed",
        r"resources validation failed: (?P<text>.*)",
    ),
    _row(
        "resource_claims",
        "feature",
        r"(?:DynamicResourceAllocation|KueueDRAIntegration) feature (?:does not|gate is not)",
    ),
    _row(
        "device_class_unmapped",
        "dra configuration",
        r"(?P<field>spec\.podSets\S+): Not found: \"?DeviceClass (?P<device_class>\S+) is not mapped",
    ),
    _row(
        "resources_invalid",
        "spec.podsets[",
        r"(?P<field>spec\.podSets\[\S+): (?P<text>(?:Not found|Internal error|Invalid value|"
        r"Unsupported value|Forbidden|Required value): .*)",
    ),
)

_TOPOLOGY = (
    _row(
        "flavor_without_topology",
        "does not support topologyawarescheduling",
        r'flavor "(?P<flavor>[^"]*)" does not support TopologyAwareScheduling',
    ),
    _row(
        "flavor_only_topology",
        "supports only topologyawarescheduling",
        r'flavor "(?P<flavor>[^"]*)" supports only TopologyAwareScheduling',
    ),
    _row(
        "topology_level_unknown",
        "does not contain the requested level",
        r'flavor "(?P<flavor>[^"]*)" does not contain the requested level',
    ),
    _row(
        "topology_not_cached",
        "missing in tas cache",
        r'flavor "(?P<flavor>[^"]*)" information missing in TAS cache',
    ),
    _row(
        "topology_too_small",
        "allow to fit any of",
        r'topology "(?P<topology>[^"]*)" doesn\'t allow to fit any of (?P<parts>\d+) '
        r"(?P<unit>pod|slice)\(s\)" + _NODES,
    ),
    _row(
        "topology_partly",
        "allows to fit only",
        r'topology "(?P<topology>[^"]*)" allows to fit only (?P<fits>\d+) out of (?P<parts>\d+) '
        r"(?P<unit>pod|slice)\(s\)" + _NODES,
    ),
    _row(
        "topology_partly",
        "allow to fit; ",
        r'topology "(?P<topology>[^"]*)" doesn\'t allow to fit; '
        r"(?P<levels>\d+/\d+ \S+ fit on level \S+(?:; \d+/\d+ \S+ fit on level [^\s.;]+)*)"
        + _NODES,
    ),
    _row(
        "topology_no_nodes",
        "no topology domains at level",
        r"no topology domains at level: (?P<level>\S+)",
    ),
    _row(
        "topology_level_unknown",
        "no requested topology level",
        r"no requested topology level(?: for slices)?: (?P<level>\S+)",
    ),
    _row(
        "topology_elastic",
        "elasticjobsviaworkloadslices",
        r"topology is not supported with ElasticJobsViaWorkloadSlices",
    ),
    _row(
        "topology_not_cached",
        "no tas cache information",
        r"workload requires Topology, but there is no TAS cache information",
    ),
    _row(
        "topology_partly",
        "cannot find optimal domain set",
        r"Cannot find optimal domain set",
    ),
    *(
        _row("topology_invalid", sign, pattern)
        for sign, pattern in (
            ("topology level not specified", r"topology level not specified"),
            ("podset slice topology", r"podset slice topology \S+ is above"),
            ("additional slice layer", r"additional slice layer"),
            ("slice size not provided", r"slice topology requested, but slice size"),
            ("node selectors", r"invalid (?:\(?affinity\)? )?node selectors"),
            ("tas flavor assigned", r"(?:no|more than one) TAS flavor assigned"),
        )
    ),
    _row(
        "node_not_replaced",
        "cannot find replacement assignment",
        r"cannot find replacement assignment for unhealthy node: (?P<node>\S+)",
    ),
    _row("node_not_replaced", "cannot replace the node", r"cannot replace the node"),
)

_ROUTING = (
    _row("flavor_missing", "not found", r"\bflavor (?P<flavor>\S+) not found"),
    _row(
        "entry_missing",
        "localqueue",
        r"LocalQueue (?P<entry>\S+) (?:doesn't exist|is terminating or missing)",
    ),
    _row("entry_stopped", "localqueue", r"LocalQueue (?P<entry>\S+) is (?:inactive|stopped)"),
    _row("entry_without_queue", "clusterqueue  ", r"ClusterQueue  (?:doesn't exist|not found|is )"),
    _row(
        "queue_missing",
        "clusterqueue",
        r"ClusterQueue (?P<queue>\S+) (?:doesn't exist|not found|is terminating or missing)",
    ),
    _row("queue_stopped", "is stopped", r"ClusterQueue (?P<queue>\S+) is stopped"),
    _row("queue_inactive", "is inactive", r"ClusterQueue (?P<queue>\S+) is inactive"),
    _row("queue_drained", "the clusterqueue is stopped", r"the ClusterQueue is stopped"),
    _row("entry_drained", "the localqueue is stopped", r"the LocalQueue is stopped"),
    _row(
        "namespace_mismatch",
        "match clusterqueue selector",
        r"workload namespace doesn't match ClusterQueue selector",
    ),
    _row("namespace_unknown", "workload namespace", r"could not obtain workload namespace"),
    _row("namespace_unknown", "workload namespace", r"workload namespace \S+ does not exist"),
    _row("selector_invalid", "invalid namespace selector", r"invalid namespace selector"),
)

_CHECK = (
    _row("check_failed", "failed admission checks", r"the workload has failed admission checks"),
    _row(
        "check_retry",
        "admission check is false",
        r"at least one admission check is false",
    ),
    _row(
        "check_retry",
        "in retry state",
        r"evicted due to AdmissionChecks? in Retry state"
        r'(?:: "(?P<check>[^"]*)"(?: \((?P<message>[^)]*)\))?)?',
    ),
    _row(
        "check_rejected",
        "in rejected state",
        r"deactivated due to AdmissionChecks? in Rejected state"
        r'(?:: "(?P<check>[^"]*)"(?: \((?P<message>[^)]*)\))?)?',
    ),
    _row(
        "check_rejected",
        "were rejected",
        r"deactivated due to Admission check\(s\): (?P<check>.*?),? were rejected",
    ),
    _row("gated", "is gated by", r"admission is gated by: (?P<gates>.*)"),
    _row(
        "gate_cleared", "admissiongatedby cleared", r"AdmissionGatedBy cleared, waiting for quota"
    ),
    _row("preemption_gated", "but it's gated", r"workload requires preemption, but it's gated"),
)

_PODS = (
    _row(
        "other_pods_not_ready",
        "podsready condition",
        r"waiting for all admitted workloads to be in PodsReady",
    ),
    _row("pods_ready_timeout", "podsready timeout", r"exceeded the PodsReady timeout"),
    _row(
        "node_failed",
        "unhealthy node(s)",
        r"workload was evicted as there was no replacement for unhealthy node\(s\): "
        r"(?P<nodes>[^\s,]+(?:, ?[^\s,]+)*)",
    ),
    _row("too_many_retries", "re-queuing retries", r"exceeding the maximum number of re-queuing"),
)

_ORDER = (
    _row(
        "not_looked_at", "pending evaluation", r"workload is pending evaluation in the scheduling"
    ),
    _row("same_as_another", "bypassed scheduling", r"bypassed scheduling evaluation because an"),
    _row(
        "other_variant", "more favorable variant", r"a more favorable variant is already admitted"
    ),
    _row("other_variant", "lastacceptable", r"target flavor is below LastAcceptable"),
    _row("on_hold", "workload on hold", r"StatefulSet scaled to zero; workload on hold"),
    _row("kueue_failed", "failed to admit", r"failed to admit workload: (?P<text>.*)"),
    _row("time_limit", "execution time", r"exceeding the maximum execution time"),
    _row("deactivated", "is deactivated", r"the workload is deactivated(?! due)"),
)

ROWS: Final = (*_QUOTA, *_REQUEST, *_TOPOLOGY, *_ROUTING, *_CHECK, *_PODS, *_ORDER)

#: Flavors that Kueue did not even try. Beside other reasons they are noise, alone they are all.
_SKIPPED: Final = (
    _row(
        "flavor_not_allowed",
        "due to workloadallowedresourceflavor",
        r"skipping flavor (?P<flavor>\S+) due to WorkloadAllowedResourceFlavor[^,;]*",
    ),
    _row(
        "flavor_not_chosen",
        "in the nomination mapping",
        r"skipping flavor (?P<flavor>\S+) as it is not found in the nomination mapping"
        r"(?: for resource (?P<resource>[^\s,;]+))?[^,;]*",
    ),
)
_NOISE = re.compile(r"skipping flavor \S+ (?:as it is not found|due to Workload)[^,;]*", re.I)
_POD_SET = re.compile(r"(?:couldn't|failed to) assign flavors to pod set (?P<name>[^\s:]+): ")
_PREEMPTING = re.compile(r"\. (?:Pending the preemption of|Preempting) (?P<count>\d+) workload")
_NAMED: Final = ("resource", "flavor", "pod_set")


@dataclass(frozen=True, slots=True)
class PendingText:
    """What one message says: its reasons, left to right, and how many are being stopped for it."""

    reasons: tuple[Reason, ...]
    preempting: int = 0


def read(text: str) -> PendingText:
    """Read the message of a ``QuotaReserved=False`` condition."""
    return _kept(text) if len(text) <= _LONGEST_KEPT else _read(text)


def _read(text: str) -> PendingText:
    found = tuple(_reasons(_NOISE.sub("", text))) or tuple(_reasons(text, _SKIPPED))
    preempting = _PREEMPTING.search(text)
    if not found:
        found = (reason("unknown"),)
    return PendingText(
        tuple(each._replace(raw=text) for each in found),
        int(preempting["count"][:9]) if preempting else 0,
    )


_kept = lru_cache(maxsize=4096)(_read)


def _reasons(text: str, rows: tuple[Row, ...] = ROWS) -> Iterator[Reason]:
    parts = list(_POD_SET.finditer(text))
    if not parts:
        yield from _matches(text, rows)
        return
    ends = [part.start() for part in parts[1:]] + [len(text)]
    for part, end in zip(parts, ends, strict=True):
        for each in _matches(text[part.end() : end], rows):
            yield each._replace(pod_set=part["name"])


def _matches(text: str, rows: tuple[Row, ...]) -> Iterator[Reason]:
    """Yield what the rows find, left to right, no character twice."""
    lower = text.lower()
    found = [
        (match.start(), number, match)
        for number, row in enumerate(rows)
        if row.sign in lower
        for match in row.pattern.finditer(text)
    ]
    end = 0
    for start, number, match in sorted(found, key=lambda each: each[:2]):
        if start < end:
            continue
        end = match.end()
        said = {key: value for key, value in match.groupdict().items() if value}
        named = {key: said.pop(key) for key in _NAMED if key in said}
        yield reason(rows[number].code, params=said, **named)
