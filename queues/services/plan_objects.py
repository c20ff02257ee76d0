"""The objects of a plan: which differ, what the cluster has, what it says to the change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kube import errors, keys
from kube.catalog import Catalog
from kube.client import ClusterClient
from kube.diff import owned, owned_digest
from kube.manifest import Manifest
from kube.order import waves
from kube.render import render
from queues.models import Plan, PlanObject
from queues.services import links, live
from tenants.models import Cluster

Operation = PlanObject.Operation
Tried = PlanObject.Tried
Name = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The objects to plan, and the names of those that the proposal would lose."""

    objects: tuple[Manifest, ...]
    removed: tuple[str, ...]


@dataclass(slots=True)
class Draft:
    """One object of a plan that is being made."""

    manifest: Manifest
    wave: int
    operation: PlanObject.Operation = Operation.CREATE
    base_uid: str = ""
    base_digest: str = ""
    base: dict[str, Any] | None = None
    changes: list[dict[str, Any]] = field(default_factory=list)
    tried: PlanObject.Tried = Tried.READ_ONLY
    message: str = ""
    code: str = ""
    field_problems: list[dict[str, str]] = field(default_factory=list)
    conflicts: list[dict[str, Any]] = field(default_factory=list)

    def row(self, plan: Plan, position: int) -> PlanObject:
        """Return the row of this object."""
        return PlanObject(
            plan=plan,
            position=position,
            wave=self.wave,
            kind=self.manifest.kind,
            namespace=self.manifest.namespace,
            name=self.manifest.name,
            operation=self.operation,
            wanted=dict(self.manifest.body),
            wanted_digest=self.manifest.digest,
            base_uid=self.base_uid,
            base_digest=self.base_digest,
            base=self.base,
            changes=self.changes,
            tried=self.tried,
            message=self.message,
            field_problems=self.field_problems,
            conflicts=self.conflicts,
        )


def wanted_objects(before: Catalog, after: Catalog, *, again: Iterable[Name] = ()) -> Wanted:
    """Return the objects whose rendering differs, and those that must be planned again."""
    old = {each.ref: each.digest for each in render(before)}
    new = render(after)
    repeated = set(again)
    chosen = tuple(
        each for each in new if old.get(each.ref) != each.digest or tuple(each.ref) in repeated
    )
    removed = sorted(str(ref) for ref in old.keys() - {each.ref for each in new})
    return Wanted(chosen, tuple(removed))


def look_at(
    cluster: Cluster, manifests: Sequence[Manifest], *, beat: Callable[[], None]
) -> list[Draft]:
    """Read each object and have the cluster try it, if the portal may write there."""
    drafts = [
        Draft(manifest, number)
        for number, wave in enumerate(waves(manifests), start=1)
        for manifest in wave
    ]
    if not drafts:
        return drafts
    with links.client(cluster=cluster, purpose="reader") as reader:
        found = [_compare(reader, draft) for draft in _each(drafts, beat)]
    if not cluster.writing:
        return drafts
    with links.client(cluster=cluster, purpose="applier") as applier:
        for draft, there in zip(_each(drafts, beat), found, strict=True):
            _try(applier, draft, there)
    return drafts


def _each(drafts: Sequence[Draft], beat: Callable[[], None]) -> Iterable[Draft]:
    for number, draft in enumerate(drafts):
        if number % 20 == 0:
            beat()
        yield draft


def _compare(reader: ClusterClient, draft: Draft) -> dict[str, Any] | None:
    wanted = draft.manifest.body
    ref = draft.manifest.ref
    found = reader.get(ref)
    if live.is_terminating(found):
        message = f"{ref} is being deleted; waiting until it is gone"
        raise errors.Terminating(message)
    changes = live.differences(found, wanted)
    draft.changes = live.told(changes)
    if found is not None:
        draft.base_uid = str(found["metadata"]["uid"])
        draft.base_digest = owned_digest(found, wanted)
        draft.base = owned(found, wanted)
        draft.operation = Operation.UPDATE if changes else Operation.SAME
    return found


def _try(applier: ClusterClient, draft: Draft, found: dict[str, Any] | None) -> None:
    """Dry-run one object and keep what the cluster says; only its own trouble is raised."""
    try:
        applied = applier.apply(
            live.stamped(draft.manifest.body, revision=0, plan=""),
            manager=keys.FIELD_MANAGER_QUOTA,
            dry_run=True,
            uid=draft.base_uid or None,
        )
    except errors.NamespaceMissing:
        draft.tried = Tried.NOT_YET
    except errors.FieldConflict as error:
        draft.tried = Tried.CONFLICT
        draft.message, draft.code = error.message, error.code
        draft.conflicts = live.conflicts(error, found, draft.manifest.body)
    except errors.Refused as error:
        draft.tried = Tried.REFUSED
        draft.message, draft.code = error.message, error.code
        draft.field_problems = [
            {"field": name, "text": text} for name, text in error.field_problems()
        ]
    except errors.Conflict as error:
        # It changed between reading and trying: read it again a moment later.
        raise errors.Unavailable(error.message) from None
    else:
        draft.tried = Tried.ACCEPTED
        draft.message = " ".join(applied.warnings)
