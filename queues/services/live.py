"""One planned object against the live one: what may be done with it now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kube import keys
from kube.diff import Change, diff, owned_digest
from kube.errors import FieldConflict
from kube.manifest import Ref
from queues.models import PlanObject

Object = dict[str, Any]


class Verdict(StrEnum):
    """What comparing an object with its plan says."""

    WRITE = "write"
    FOUND = "found"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, the reason in words, and the object it was passed on."""

    verdict: Verdict
    live: Object | None
    reason: str = ""

    @property
    def uid(self) -> str | None:
        """Return the uid that a write must name, if the object exists."""
        return str(self.live["metadata"]["uid"]) if self.live else None

    @property
    def version(self) -> str:
        """Return the live resourceVersion."""
        return str(self.live["metadata"].get("resourceVersion", "")) if self.live else ""


def ref_of(planned: PlanObject) -> Ref:
    """Return the address of a planned object."""
    return Ref(planned.kind, planned.namespace, planned.name)


def judge(planned: PlanObject, live: Object | None, revision: int) -> Judgement:
    """Decide: as the plan saw it, already as wanted by our own hand, or something else."""
    if live is None:
        if not planned.base_uid:
            return Judgement(Verdict.WRITE, None)
        return Judgement(Verdict.STALE, None, "it was deleted since the plan was made")
    same = not differences(live, planned.wanted)
    if same and written_by_us(live):
        return Judgement(Verdict.FOUND, live)
    return _judge_other(planned, live, revision, same=same)


def _judge_other(planned: PlanObject, live: Object, revision: int, *, same: bool) -> Judgement:
    uid = str(live["metadata"]["uid"])
    if planned.base_uid and uid != planned.base_uid:
        return Judgement(Verdict.STALE, live, "it was deleted and made anew since the plan")
    if same:
        return Judgement(Verdict.WRITE, live)
    if not planned.base_uid:
        return Judgement(Verdict.STALE, live, "somebody made it since the plan was made")
    newer = stamped_revision(live)
    if newer > revision:
        return Judgement(Verdict.STALE, live, f"revision {newer} has been applied to it already")
    if owned_digest(live, planned.wanted) != planned.base_digest:
        return Judgement(Verdict.STALE, live, "it was changed since the plan was made")
    return Judgement(Verdict.WRITE, live)


def differences(live: Object | None, wanted: Mapping[str, Any]) -> list[Change]:
    """Return where the live object differs from what is wanted; stamps do not count."""
    return list(diff(live, wanted))


def written_by_us(live: Object) -> bool:
    """Tell whether our field manager has applied this object."""
    return any(
        entry.get("manager") == keys.FIELD_MANAGER_QUOTA and entry.get("operation") == "Apply"
        for entry in live["metadata"].get("managedFields") or ()
    )


def stamped_revision(live: Object) -> int:
    """Return the revision that the portal last applied to the object; 0 if none."""
    text = str((live["metadata"].get("annotations") or {}).get(keys.REVISION, ""))
    return int(text) if text.isascii() and text.isdecimal() else 0


def is_terminating(live: Object | None) -> bool:
    """Tell whether the object is being deleted."""
    return bool(live and live["metadata"].get("deletionTimestamp"))


def stamped(wanted: Mapping[str, Any], *, revision: int, plan: str, version: str = "") -> Object:
    """Return what is sent: the wanted object, who wrote it and from which version on."""
    metadata = dict(wanted["metadata"])
    marks = {keys.REVISION: str(revision), keys.PLAN: plan}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **marks}
    if version:
        metadata["resourceVersion"] = version
    return {**wanted, "metadata": metadata}


def told(changes: list[Change]) -> list[dict[str, Any]]:
    """Return changes as stored values."""
    return [
        {"path": each.path, "before": each.before, "after": each.after, "kind": each.kind}
        for each in changes
    ]


def conflicts(
    error: FieldConflict, found: Object | None, wanted: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return who owns which field, with both values: ours and what stands in the cluster.

    A conflict names a whole list; the values are those inside it that differ.
    """
    changes = differences(found, wanted) if found else []
    return [
        {
            "manager": owner.manager,
            "field": owner.field.removeprefix("."),
            "values": [
                {"path": each.path, "theirs": each.before, "ours": each.after}
                for each in changes
                if each.path.startswith(owner.field.removeprefix("."))
            ],
        }
        for owner in error.conflicts
    ]
