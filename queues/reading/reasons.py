"""Every reason of a job in words, the deciding one first."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from kube.catalog import CPU, MEMORY
from kube.reasons import Change
from queues import sentences
from queues.models import Workload
from queues.reason_texts import HELP
from queues.sentences import Viewer

UNITS: Mapping[str, str] = {CPU: "milliCPU", MEMORY: "bytes"}


@dataclass(frozen=True, slots=True)
class ReasonShown:
    """One reason: where on the way, what, and how much of what is missing.

    Amounts are in ``unit``: thousandths of a CPU, bytes, whole devices, or pods for a topology.
    """

    stage: str
    code: str
    never: bool
    text: SafeString
    help: str
    raw: str
    flavor: str = ""
    resource: str = ""
    pod_set: str = ""
    asked: int | None = None
    free: int | None = None
    missing: int | None = None
    freed_by: str = ""
    stale: bool = False
    oscillating: bool = False
    change: Change | None = None

    @property
    def unit(self) -> str:
        """Give the unit of the amounts; nothing when there are none."""
        if self.stage == "topology" and not self.resource:
            return "" if self.missing is None else "pods"
        return unit_of(self.resource)


def unit_of(resource: str) -> str:
    """Give the unit in which amounts of a resource are written."""
    return UNITS.get(resource, "devices") if resource else ""


def reasons(job: Workload, viewer: Viewer) -> tuple[ReasonShown, ...]:
    """Put every reason into words for one viewer."""
    return tuple(
        _shown(job, row, viewer, first=not number) for number, row in enumerate(rows_of(job))
    )


def rows_of(job: Workload) -> list[Mapping[str, Any]]:
    """Give the reasons as they were stored; a row without any has the one in its columns."""
    kept = getattr(job, "reasons", None) or ()
    stored: list[Mapping[str, Any]] = [row for row in kept if isinstance(row, Mapping)]
    return stored or [_in_columns(job)]


def _in_columns(job: Workload) -> dict[str, Any]:
    named = {name: job.params.get(name, "") for name in ("resource", "flavor", "pod_set")}
    figures = sentences.figures(job)
    amounts = (
        {"asked": figures.asked, "free": figures.free, "missing": figures.missing}
        if figures
        else {}
    )
    return {
        "stage": job.stage, "code": job.code, "never": job.never, "params": job.params,
        "raw": job.raw, **named, **amounts,
    }  # fmt: skip


def _shown(job: Workload, row: Mapping[str, Any], viewer: Viewer, *, first: bool) -> ReasonShown:
    code, raw = str(row.get("code", "")), str(row.get("raw", ""))
    return ReasonShown(
        stage=str(row.get("stage") or ""),
        code=code,
        never=bool(row.get("never")),
        text=sentences.reason(job if first else _alone(job, row), viewer),
        help=str(HELP.get(code, "")),
        raw="" if job.state in sentences.QUIET else sentences.cleaned(raw, viewer),
        freed_by=str(row.get("freed_by", "")),
        stale=bool(row.get("stale")),
        flavor=_clean(row, "flavor", viewer),
        resource=_clean(row, "resource", viewer),
        pod_set=_clean(row, "pod_set", viewer),
        asked=_amount(row.get("asked")),
        free=_amount(row.get("free")),
        missing=_amount(row.get("missing")),
        oscillating=bool(row.get("oscillating")),
        change=_change(row.get("change")),
    )


def _change(row: object) -> Change | None:
    """Read the smallest change after which the job could start; None where it is not known."""
    if not isinstance(row, Mapping):
        return None
    before, after = _amount(row.get("from")), _amount(row.get("to"))
    if before is None or after is None:
        return None
    names = {name: str(row.get(name, "")) for name in ("queue", "flavor", "resource", "field")}
    return Change(before=before, after=after, kind=str(row.get("kind", "")), **names)


def _alone(job: Workload, row: Mapping[str, Any]) -> Workload:
    """Give the job as if this were its only reason, so that one way of speaking serves all."""
    alone = copy.copy(job)
    named = {name: str(row[name]) for name in ("resource", "flavor", "pod_set") if row.get(name)}
    alone.stage, alone.code = str(row.get("stage") or ""), str(row.get("code", ""))
    alone.params = {**(row.get("params") or {}), **named}
    alone.raw, alone.never = str(row.get("raw", "")), bool(row.get("never"))
    alone.preempted = alone.preempting = False
    return alone


def _clean(row: Mapping[str, Any], name: str, viewer: Viewer) -> str:
    return sentences.cleaned(str(row.get(name) or ""), viewer)


def _amount(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
