"""What differs between a live object and the wanted one, in the fields that the portal owns.

The portal owns the fields that it writes, and the fields of :data:`COMPLETE` even when it does
not write them: a limit, a label or a parent that is gone from the catalog must be gone from the
cluster too. Defaults of the server, status, other people's labels and the portal's own stamps
never show up. Comparing is by meaning, so another spelling of a number is no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from kube import keys
from kube.digest import digest
from kube.leaves import GROUPS, GroupNames, Leaves, leaves
from kube.manifest import Manifest, Ref

Body = Mapping[str, Any]

#: Fields that belong to the portal in every object it writes, written or not.
COMPLETE: Final = (
    GROUPS,
    "spec.cohortName",
    "spec.parentName",
    "spec.namespaceSelector",
    "spec.preemption.borrowWithinCohort.maxPriorityThreshold",
    "spec.nodeLabels",
    "spec.nodeTaints",
    "spec.tolerations",
    "spec.topologyName",
    "spec.levels",
    "description",
    f"metadata.labels[{keys.PREFIX}",
    f"metadata.annotations[{keys.PREFIX}",
)
_STAMPS: Final = frozenset(f"metadata.annotations[{each}]" for each in keys.STAMPS)


@dataclass(frozen=True, slots=True)
class Change:
    """One field of one object: what stands there, and what will."""

    ref: Ref
    path: str
    before: Any
    after: Any
    kind: Literal["add", "remove", "change"]


def diff(live: Body | None, wanted: Body | None) -> tuple[Change, ...]:
    """Return the changes that turn the owned part of ``live`` into ``wanted``.

    Without ``live`` every field is added; without ``wanted`` the whole object goes, which is
    one change with an empty path.
    """
    if wanted is None:
        return () if live is None else (_whole(live),)
    ref = Manifest.of(wanted).ref
    names = GroupNames.of(wanted)
    target = _portal_only(leaves(wanted, names))
    present = {} if live is None else _owned_part(leaves(live, names), target)
    found = [
        _change(ref, path, present, target) for path in target if _differs(path, present, target)
    ]
    found += [_change(ref, path, present, target) for path in present if path not in target]
    return tuple(found)


def owned(live: Body | None, wanted: Body) -> dict[str, Any] | None:
    """Return the owned fields of ``live`` by path, in canonical form; ``None`` if it is gone."""
    if live is None:
        return None
    names = GroupNames.of(wanted)
    target = _portal_only(leaves(wanted, names))
    part = _owned_part(leaves(live, names), target)
    return {path: part[path].meaning for path in sorted(part)}


def owned_digest(live: Body | None, wanted: Body) -> str:
    """Return the digest of :func:`owned`: equal as long as nobody changed an owned field."""
    return digest(owned(live, wanted))


def diff_lists(live: Iterable[Body], wanted: Iterable[Body]) -> tuple[Change, ...]:
    """Compare two lists of objects by kind, namespace and name."""
    before = {Manifest.of(each).ref: each for each in live}
    after = {Manifest.of(each).ref: each for each in wanted}
    refs = [*after, *(ref for ref in before if ref not in after)]
    return tuple(change for ref in refs for change in diff(before.get(ref), after.get(ref)))


def _whole(live: Body) -> Change:
    part = _portal_only(leaves(live, GroupNames.of(live)))
    before = {path: leaf.written for path, leaf in part.items()}
    return Change(Manifest.of(live).ref, "", before, None, "remove")


def _portal_only(found: Leaves) -> Leaves:
    return {path: leaf for path, leaf in found.items() if path not in _STAMPS}


def _owned_part(found: Leaves, target: Leaves) -> Leaves:
    return {
        path: leaf
        for path, leaf in _portal_only(found).items()
        if path in target or _complete(path)
    }


def _complete(path: str) -> bool:
    return any(_inside(path, owner) for owner in COMPLETE)


def _inside(path: str, owner: str) -> bool:
    if owner.endswith("/"):
        return path.startswith(owner)
    return path == owner or path.startswith((f"{owner}.", f"{owner}["))


def _differs(path: str, present: Leaves, target: Leaves) -> bool:
    return path not in present or present[path].meaning != target[path].meaning


def _change(ref: Ref, path: str, present: Leaves, target: Leaves) -> Change:
    before, after = present.get(path), target.get(path)
    if before is None:
        return Change(ref, path, None, after.written if after else None, "add")
    if after is None:
        return Change(ref, path, before.written, None, "remove")
    return Change(ref, path, before.written, after.written, "change")
