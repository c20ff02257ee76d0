"""Adds to the histories of quotas and nodes what was not on record yet, and says since when.

A caller tells how objects stand now; what the last row of an object says already is not written
again, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from kube.phases import LIVE, SKEW, Bound, Quality, between, not_before
from queues.models import Gap, NodeChange, QuotaChange, Stream
from queues.services import ledger
from queues.services.gaps import SILENT
from queues.services.observed import encoded
from tenants.models import Cluster

#: (kind, name)
Key = tuple[str, str]
NODE: Final = NodeChange.kind
#: The digest of an object that is not there, or has nothing that counts.
NONE: Final = 0
#: What is on record of an object that is gone, of a queue or a cohort and of a node.
_NOTHING: Final[tuple[tuple[Any, ...], tuple[Any, ...]]] = ("", []), ("", [], [])
#: After a line is back, what comes within this time may have happened while it was away.
CATCH_UP: Final = timedelta(seconds=5)


class Said(NamedTuple):
    """How an object stands, and the digest of that.

    ``own``: of a queue or a cohort its parent and its quota lines, of a node its state, its
    devices and its names in a bill. ``created`` is when it was made, if it stands unchanged since then; ``flipped`` is
    when its condition changed last, which is the time of a change between two looks.
    """

    digest: int
    own: tuple[Any, ...]
    created: datetime | None = None
    flipped: datetime | None = None


class Look(NamedTuple):
    """When we look, and at what: ``lists`` are kinds that come as lists just now."""

    now: datetime
    epochs: Mapping[str, int]
    lists: frozenset[str]


class _Last(NamedTuple):
    """The last row of an object."""

    digest: int
    epoch: int
    since: datetime
    observed_at: datetime


def load(cluster: Cluster) -> dict[Key, int]:
    """Return the digest of what is on record of each object; two queries."""
    here = {"cluster": cluster}
    quotas = QuotaChange.objects.filter(**here).order_by("kind", "name", "-pk")
    nodes = NodeChange.objects.filter(**here).order_by("name", "-pk")
    found: dict[Key, int] = {
        (kind, name): number
        for kind, name, number in quotas.distinct("kind", "name").values_list(
            "kind", "name", "digest"
        )
    }
    rows = nodes.distinct("name").values_list("name", "digest")
    return found | {(NODE, name): number for name, number in rows}


def append(cluster: Cluster, said: Mapping[Key, Said | None], look: Look) -> int:
    """Write how these objects stand, ``None`` for those that are gone; returns how many rows.

    Call it inside the transaction of the observed rows. The lock and the numbers of the lists
    keep an observer that has lost its lease from writing over a newer one.
    """
    if not said:
        return 0
    ledger.lock(cluster.pk)
    written = 0
    for kind in sorted({kind for kind, _ in said}):
        found = {name: each for (of, name), each in said.items() if of == kind}
        written += _append(cluster, kind, found, look)
    return written


def _append(cluster: Cluster, kind: str, said: Mapping[str, Said | None], look: Look) -> int:
    heard = sign(cluster, kind, look)
    last = _last(cluster, kind, said)
    epoch = look.epochs.get(kind, 0)
    rows: list[ledger.Row] = []
    for name, each in sorted(said.items()):
        before = last.get(name)
        number = each.digest if each else NONE
        if number == (before.digest if before else NONE) or (before and before.epoch > epoch):
            continue
        bound = _since(each, before, heard, look.now)
        own = each.own if each else _NOTHING[kind == NODE]
        rows.append(
            (
                cluster.pk, name, each is None, bound.at, bound.quality, bound.earliest,
                bound.latest, look.now, number, epoch, *(() if kind == NODE else (kind,)),
                *encoded(own),
            )
        )  # fmt: skip
    return ledger.append(NodeChange if kind == NODE else QuotaChange, rows)


def _last(cluster: Cluster, kind: str, names: Iterable[str]) -> dict[str, _Last]:
    rows: Any = NodeChange.objects if kind == NODE else QuotaChange.objects.filter(kind=kind)
    found = rows.filter(cluster=cluster, name__in=list(names)).order_by("name", "-pk")
    columns = ("name", "digest", "epoch", "since", "observed_at")
    return {name: _Last(*row) for name, *row in found.distinct("name").values_list(*columns)}


def sign(cluster: Cluster, kind: str, look: Look) -> datetime | None:
    """Return the last moment before which everything of a kind had been delivered.

    ``None``: nobody has listened before.
    """
    line = Stream.objects.filter(cluster=cluster, kind=kind).first()
    signs = [each for each in (line.alive_at, line.lost_since) if each] if line else []
    if line is None or not signs:
        return None
    sign = min(signs)
    if kind in look.lists or line.lost_since or look.now - sign >= SILENT:
        return sign
    gaps = Gap.objects.filter(cluster=cluster, kind=kind, ends__gt=look.now - CATCH_UP)
    away = gaps.order_by("starts").values_list("starts", flat=True).first()
    return away or look.now - LIVE


def _since(said: Said | None, before: _Last | None, sign: datetime | None, now: datetime) -> Bound:
    """Return since when an object stands as it does."""
    made = said.created if said else None
    if made is not None and (before is None or before.digest == NONE) and made <= now + SKEW:
        bound = Bound(min(made, now))
    elif sign is None and before is None:
        # What was before the first look, nobody can say.
        bound = Bound(now, Quality.UNKNOWN, None, now)
    else:
        heard = sign or (before.observed_at if before else now)
        bound = between(min(heard, now), now)
        flipped = said.flipped if said else None
        if flipped and min(heard, now) <= flipped <= now:
            bound = Bound(flipped)
    return not_before(bound, before.since) if before else bound
