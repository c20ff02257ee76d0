"""The texts with which Kueue says why a workload waits, as a table: one row per text.

A new text is one row here and one line in the tests. What no row knows becomes ``unknown``
and is shown as it came. Rows are tried in order; of two that match at the same place the
first counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final


class Stage(StrEnum):
    """How far a workload got on its way."""

    ROUTING = "routing"
    REQUEST = "request"
    ORDER = "order"
    QUOTA = "quota"
    CHECK = "check"
    TOPOLOGY = "topology"
    PODS = "pods"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason as a fact. ``never``: as things are set up, waiting will not help."""

    stage: Stage
    code: str
    params: dict[str, str] = field(default_factory=dict)
    never: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A text, where it belongs and what it means."""

    pattern: re.Pattern[str]
    stage: Stage
    code: str
    never: bool = False


def _row(stage: Stage, code: str, pattern: str, *, never: bool = False) -> Row:
    return Row(re.compile(pattern, re.IGNORECASE), stage, code, never)


_R, _T, _Q, _P = Stage.ROUTING, Stage.TOPOLOGY, Stage.QUOTA, Stage.PODS
_END = (
    r"(?=$|\. Pending |\. Preempting |; |, (?:topology|flavor|insufficient|untolerated|could not)\b"
    r"|, resource \S+ unavailable)"
)
_NODES = rf"(?:\. Total nodes: (?P<nodes>\d+)(?:; excluded: (?P<excluded>.+?))?)?{_END}"

ROWS: Final = (
    # Quota
    _row(
        _Q,
        "quota_short",
        r"insufficient unused quota for (?P<resource>\S+) in flavor (?P<flavor>\S+), "
        r"(?P<missing>\S+) more needed",
    ),
    _row(
        _Q,
        "max_capacity",
        r"insufficient quota for (?P<resource>\S+) in flavor (?P<flavor>\S+), previously "
        r"considered podsets requests \((?P<earlier>[^)]*)\) \+ current podset request "
        r"\((?P<asked>[^)]*)\) > maximum capacity \((?P<capacity>[^)]*)\)",
        never=True,
    ),
    _row(_Q, "lost_the_race", r"workload no longer fits after processing another workload"),
    _row(_Q, "overlapping_preemption", r"workload has overlapping preemption targets"),
    _row(
        _Q,
        "elastic_flavor",
        r"could not assign (?P<flavor>\S+) flavor since the original workload is assigned: "
        r"(?P<original>\S+)",
    ),
    _row(
        _Q,
        "preempted",
        r"preempted to accommodate a workload .*?due to (?P<why>prioritization in the "
        r"ClusterQueue|reclamation within the cohort while borrowing|reclamation within the "
        r"cohort|Fair Sharing within the cohort|UNKNOWN)",
    ),
    # What the job asks for
    _row(
        Stage.REQUEST,
        "resource_not_covered",
        r"resource (?P<resource>\S+) unavailable in ClusterQueue",
        never=True,
    ),
    _row(
        Stage.REQUEST,
        "selector_mismatch",
        r"flavor (?P<flavor>\S+) doesn't match node affinity",
        never=True,
    ),
    _row(
        Stage.REQUEST,
        "untolerated_taint",
        r"untolerated taint \{(?P<taint>[^}]*)\} in flavor (?P<flavor>[^\s,;]+)",
        never=True,
    ),
    _row(
        Stage.REQUEST,
        "requests_above_limits",
        r"resources validation failed: (?P<field>\S+?): .*must not exceed its limits",
        never=True,
    ),
    _row(
        Stage.REQUEST,
        "limit_range",
        r"resources didn't satisfy LimitRange constraints: (?P<field>\S+?): (?P<text>.*)",
        never=True,
    ),
    _row(Stage.REQUEST, "resources_invalid", r"resources validation failed: (?P<text>.*)"),
    _row(
        Stage.REQUEST,
        "resource_claims",
        r"(?:DynamicResourceAllocation|KueueDRAIntegration) feature (?:does not|gate is not)",
        never=True,
    ),
    # Topology
    _row(
        _T,
        "flavor_without_topology",
        r'flavor "(?P<flavor>[^"]*)" does not support TopologyAwareScheduling',
        never=True,
    ),
    _row(
        _T,
        "flavor_only_topology",
        r'flavor "(?P<flavor>[^"]*)" supports only TopologyAwareScheduling',
        never=True,
    ),
    _row(
        _T,
        "topology_level_unknown",
        r'flavor "(?P<flavor>[^"]*)" does not contain the requested level',
        never=True,
    ),
    _row(_T, "topology_not_cached", r'flavor "(?P<flavor>[^"]*)" information missing in TAS cache'),
    _row(
        _T,
        "topology_too_small",
        r'topology "(?P<topology>[^"]*)" doesn\'t allow to fit any of (?P<asked>\d+) '
        r"(?P<unit>pod|slice)\(s\)" + _NODES,
    ),
    _row(
        _T,
        "topology_too_small",
        r'topology "(?P<topology>[^"]*)" allows to fit only (?P<fits>\d+) out of (?P<asked>\d+) '
        r"(?P<unit>pod|slice)\(s\)" + _NODES,
    ),
    _row(_T, "topology_too_small", r'topology "(?P<topology>[^"]*)" doesn\'t allow to fit; '),
    _row(
        _T,
        "topology_level_unknown",
        r"no (?:requested topology level(?: for slices)?|topology domains at level): (?P<level>\S+)",
    ),
    _row(
        _T,
        "topology_invalid",
        r"topology level not specified|podset slice topology \S+ is above|additional slice layer"
        r"|slice topology requested, but slice size|invalid (?:affinity )?node selectors"
        r"|(?:no|more than one) TAS flavor assigned|Cannot find optimal domain set"
        r"|workload requires Topology, but there is no TAS|topology is not supported with Elastic",
    ),
    _row(
        _T,
        "node_not_replaced",
        r"cannot find replacement assignment for unhealthy node: (?P<node>\S+)"
        r"|cannot replace the node",
    ),
    # The way to a queue
    _row(_R, "flavor_missing", r"flavor (?P<flavor>\S+) not found", never=True),
    _row(
        _R,
        "entry_missing",
        r"LocalQueue (?P<entry>\S+) (?:doesn't exist|is terminating or missing)",
    ),
    _row(_R, "entry_stopped", r"LocalQueue (?P<entry>\S+) is (?:inactive|stopped)"),
    _row(_R, "entry_without_queue", r"ClusterQueue  doesn't exist", never=True),
    _row(
        _R,
        "queue_missing",
        r"ClusterQueue (?P<queue>\S+) (?:doesn't exist|not found|is terminating or missing)",
    ),
    _row(_R, "queue_stopped", r"ClusterQueue (?P<queue>\S+) is stopped"),
    _row(_R, "queue_inactive", r"ClusterQueue (?P<queue>\S+) is inactive"),
    _row(_R, "queue_drained", r"the ClusterQueue is stopped"),
    _row(_R, "entry_drained", r"the LocalQueue is stopped"),
    _row(
        _R,
        "namespace_mismatch",
        r"workload namespace doesn't match ClusterQueue selector",
        never=True,
    ),
    _row(
        _R,
        "namespace_unknown",
        r"could not obtain workload namespace|workload namespace \S+ does not exist",
    ),
    _row(_R, "namespace_mismatch", r"invalid namespace selector", never=True),
    # Checks and gates
    _row(Stage.CHECK, "check_failed", r"the workload has failed admission checks"),
    _row(
        Stage.CHECK,
        "check_retry",
        r"at least one admission check is false|evicted due to AdmissionChecks? in Retry state"
        r'(?:: "(?P<check>[^"]*)")?',
    ),
    _row(Stage.CHECK, "gated", r"admission is gated by: (?P<gates>.*)"),
    _row(Stage.CHECK, "gate_cleared", r"AdmissionGatedBy cleared, waiting for quota"),
    _row(Stage.CHECK, "preemption_gated", r"workload requires preemption, but it's gated"),
    # Pods of this or of other jobs
    _row(_P, "other_pods_not_ready", r"waiting for all admitted workloads to be in PodsReady"),
    _row(_P, "pods_ready_timeout", r"exceeded the PodsReady timeout"),
    _row(
        _P,
        "node_failed",
        r"workload was evicted as there was no replacement for unhealthy node\(s\): "
        r"(?P<nodes>\S+)",
    ),
    # Order
    _row(Stage.ORDER, "not_looked_at", r"workload is pending evaluation in the scheduling queue"),
    _row(Stage.ORDER, "same_as_another", r"bypassed scheduling evaluation because an equivalent"),
    _row(
        Stage.ORDER,
        "other_variant",
        r"a more favorable variant is already admitted|target flavor is below LastAcceptable",
    ),
    _row(Stage.ORDER, "on_hold", r"StatefulSet scaled to zero; workload on hold"),
    _row(Stage.ORDER, "kueue_failed", r"failed to admit workload: (?P<text>.*)"),
)

_NOISE = re.compile(r"skipping flavor \S+ (?:as it is not found|due to Workload)[^,;]*", re.I)
_POD_SET = re.compile(r"(?:couldn't|failed to) assign flavors to pod set (?P<name>[^\s:]+): ")
_PREEMPTING = re.compile(r"\. Pending the preemption of (?P<count>\d+) workload")
_PREEMPTION_FAILED = re.compile(r"\. Preempting (?P<count>\d+) workload\(s\) failed")


@dataclass(frozen=True, slots=True)
class PendingText:
    """What one message says: reasons by pod set, and whether others are being preempted."""

    reasons: tuple[Reason, ...]
    preempting: int = 0


def read(text: str) -> PendingText:
    """Read the message of a ``QuotaReserved=False`` condition."""
    found = tuple(_reasons(_NOISE.sub("", text)))
    preempting = _PREEMPTING.search(text) or _PREEMPTION_FAILED.search(text)
    if not found:
        found = (Reason(Stage.ORDER, "unknown"),)
    return PendingText(found, int(preempting["count"]) if preempting else 0)


def _reasons(text: str) -> Iterator[Reason]:
    parts = list(_POD_SET.finditer(text))
    if not parts:
        yield from _matches(text)
        return
    ends = [part.start() for part in parts[1:]] + [len(text)]
    for part, end in zip(parts, ends, strict=True):
        for reason in _matches(text[part.end() : end]):
            yield replace(reason, params={"pod_set": part["name"], **reason.params})


def _matches(text: str) -> Iterator[Reason]:
    """Yield what the rows find, left to right, no character twice."""
    found = [
        (match.start(), number, match)
        for number, row in enumerate(ROWS)
        for match in row.pattern.finditer(text)
    ]
    end = 0
    for start, number, match in sorted(found, key=lambda each: each[:2]):
        if start < end:
            continue
        end = match.end()
        row = ROWS[number]
        params = {key: value for key, value in match.groupdict().items() if value}
        yield Reason(row.stage, row.code, params, row.never)
