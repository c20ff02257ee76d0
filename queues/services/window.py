"""Writes one window: everything that came in a moment, in one transaction.

A row that says what it said before is not written. What others derive from the changes is
written in the same transaction, so no reader sees one without the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from operator import itemgetter
from typing import Any, Final

import structlog
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from kube.queue_order import shares_by_use
from queues.models import ObservedObject, UnknownText, Workload
from queues.services import observed_rows as rows
from queues.services.happened import event_row
from queues.services.known import Named
from queues.services.memory import Heard, Memory
from queues.services.merge import Merging, merge, sweep
from queues.services.noting import Noting
from queues.services.observed import (
    OBJECT_KINDS,
    SILENT,
    WORKLOAD_FIELDS,
    Object,
    body_of,
    digest,
    encoded,
    encoded_row,
    version_of,
)
from queues.services.pod_history import PodHistory
from queues.services.quota_history import QuotaHistory
from queues.services.records import ODD, Record
from queues.services.strays import JobRecord
from queues.services.wanted import Wanted

log = structlog.get_logger(__name__)

#: What a row says, of its values in their order.
_speaking: Final = itemgetter(*(i for i, name in enumerate(WORKLOAD_FIELDS) if name not in SILENT))
#: What of a row decides where it stands in its queue.
_ordering: Final = itemgetter("state", "queue", "entry", "priority", "boost", "queued_at", "turn")
#: Workloads that are read while those before them are being written.
PART: Final = 500
UNKNOWN: Final = "unknown"
_QUOTED: Final = re.compile(r'"[^"]*"|\d[\w.:/-]*')


@dataclass(slots=True)
class Written:
    """What a window has changed: (uid, namespace, queue) of workloads where they were and are.

    ``moved`` are the queues whose order may be another one now. A new text alone moves nobody.
    """

    rows: int = 0
    workloads: list[tuple[str, str, str]] = field(default_factory=list)
    objects: list[Named] = field(default_factory=list)
    moved: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Read:
    """A workload that was read for this window."""

    record: Record
    queue: str
    order: int
    digest: int
    values: list[Any]

    @property
    def is_news(self) -> bool:
        """Return whether the row says something else than the database holds."""
        return self.digest != self.record.digest


class Window:
    """Writes what a memory holds back."""

    def __init__(self, memory: Memory) -> None:
        """Take what is to be written."""
        self.memory = memory
        self.cluster = memory.cluster
        self.wanted = Wanted(memory.cluster)
        self.noting, self.quotas = Noting(memory), QuotaHistory(memory)
        self.pods = PodHistory(memory)
        self._unreadable: set[str] = set()

    def write(self, *, again: int, strays: bool = False) -> Written:
        """Write a window and return what changed.

        ``again`` bounds the workloads that are read again because something around them moved;
        ``strays`` says that jobs without a Workload are looked for as well.
        """
        memory, done = self.memory, Written()
        strays = strays and memory.complete
        if self.wanted.renew():
            memory.known.dirty.update(name for name, _ in memory.known.all())
        if not memory.waiting and not (strays and memory.strays.open):
            return done
        now = timezone.now()
        memory.spread()
        memory.around.renew(now)
        objects = dict(self._objects())
        loose = list(memory.strays.rows(now)) if strays else []
        read: dict[str, _Read] = {}
        with transaction.atomic():
            done.rows += self._write_objects(objects, done, now)
            done.rows += self._write_workloads(self._read(again), read, now)
            changed = {uid: each for uid, each in read.items() if each.is_news}
            done.rows += self._forget_workloads(changed, done)
            done.rows += self._sweep(done)
            self.noting.write(_moves(changed), now)
            self.quotas.write(now)
            self.pods.write(now)
            done.rows += self._write_events()
            kept = self._write_strays(loose, done, now)
            self._count_unknown(changed.values(), now)
            for kind, version in memory.ended.items():
                if rows.listed(self.cluster, kind, version):
                    log.warning("observer_cluster_went_back", kind=kind, version=version)
        self._remember(read, objects, loose, kept)
        done.moved.discard("")
        return done

    # -- objects ---------------------------------------------------------------------------

    def _objects(self) -> Iterable[tuple[Named, tuple[int, list[Any]]]]:
        """Yield the rows of objects that say something new, with what they say as a number."""
        known = self.memory.known
        for name in known.dirty:
            item = known.objects[name[0]][name[1:]]
            sync = self.wanted.in_sync(*name, item)
            values = encoded((item["metadata"]["uid"], self._body(name, item), sync))
            number = digest(values)
            if self.memory.objects.get(name) != number:
                yield name, (number, [values[0], version_of(item)[:32], *values[1:]])

    def _body(self, name: Named, item: Object) -> Object:
        """Return what is kept of an object; of a node also what its pods take, once that is known."""
        body = body_of(name[0], item)
        if name[0] == "Node" and self.memory.pods.complete:
            body["used"] = self.memory.use.of(name[2])
        return body

    def _write_objects(
        self, objects: dict[Named, tuple[int, list[Any]]], done: Written, now: datetime
    ) -> int:
        epochs = self.memory.epochs
        changed = merge(
            rows.OBJECTS,
            (
                (self.cluster.pk, *name, *values, now, now, number, epochs.get(name[0], 0))
                for name, (number, values) in objects.items()
            ),
        )
        done.objects += objects
        done.moved |= self._ordered_by(objects)
        for kind, namespace, name in self.memory.known.gone:
            here = ObservedObject.objects.filter(cluster=self.cluster, kind=kind)
            changed += here.filter(namespace=namespace, name=name).delete()[0]
            done.objects.append((kind, namespace, name))
        return changed

    def _ordered_by(self, objects: Iterable[Named]) -> set[str]:
        """Return the queues that one of these entries orders by its use."""
        known, settings = self.memory.known, self.memory.around.settings
        entries = (known.entry(*name[1:]) for name in objects if name[0] == "LocalQueue")
        queues = [known.queue(entry.queue) for entry in entries if entry]
        return {each.name for each in queues if each and shares_by_use(each.body, settings)}

    # -- workloads -------------------------------------------------------------------------

    def _read(self, again: int) -> Iterable[tuple[str, _Read]]:
        """Yield the workloads that came or must be read again, with their rows."""
        for uid, record, item in self.memory.due(again):
            try:
                row = self.memory.around.row(item, record)
                values = encoded_row(row)
            except ODD as error:
                self._cannot_read(uid, error)
                continue
            number = digest([*_speaking(values), *_noted(item)])
            yield uid, _Read(record, row["queue"], hash(_ordering(row)), number, values)

    def _cannot_read(self, uid: str, error: Exception) -> None:
        """Say once that a workload of odd form has no row; the others go on."""
        self.memory.late.pop(uid, None)
        if uid not in self._unreadable:
            self._unreadable.add(uid)
            log.warning("observer_unreadable_workload", uid=uid, error=type(error).__name__)

    def _write_workloads(
        self, found: Iterable[tuple[str, _Read]], read: dict[str, _Read], now: datetime
    ) -> int:
        """Write the rows of workloads part by part as they are ``found``, and put all in ``read``."""
        found, epoch = iter(found), self.memory.epochs.get("Workload", 0)
        with Merging(rows.WORKLOADS) as merging:
            while part := dict(islice(found, PART)):
                read |= part
                news = (
                    (self.cluster.pk, uid, *each.values, now, each.digest, epoch)
                    for uid, each in part.items()
                    if each.is_news
                )
                merging.add(news, last=len(part) < PART)
        return merging.rows

    def _forget_workloads(self, changed: dict[str, _Read], done: Written) -> int:
        """Delete the rows of those that are gone, and note who moved; return how many went."""
        for uid, each in changed.items():
            places = dict.fromkeys((each.record.queue, each.queue))
            done.workloads += [(uid, each.record.namespace, queue) for queue in places]
            if each.order != each.record.order:
                done.moved |= set(places)
        gone = self.memory.gone
        if not gone:
            return 0
        here = Workload.objects.filter(cluster=self.cluster, uid__in=list(gone))
        done.workloads += [(uid, old.namespace, old.queue) for uid, old in gone.items()]
        done.moved |= {old.queue for old in gone.values()}
        return here.delete()[0]

    def _sweep(self, done: Written) -> int:
        """Delete the rows of what a complete list did not hold, known here or not."""
        memory, number = self.memory, 0
        for kind in memory.ended:
            scope, epoch = {"cluster_id": self.cluster.pk}, memory.epochs.get(kind, 0)
            if kind in OBJECT_KINDS:
                here = memory.known.objects[kind]
                found = sweep(rows.OBJECTS, {**scope, "kind": kind}, here, epoch=epoch)
                done.objects += [(kind, namespace, name) for namespace, name in found]
            elif kind == "Workload":
                uids = ((uid,) for uid in memory.records.by_uid)
                found = sweep(rows.WORKLOADS, {**scope, "stray": False}, uids, epoch=epoch)
                memory.heard += [Heard(uid, None, gone=True) for (uid,) in found]
                for uid, *_ in found:
                    memory.stored.pop(uid, None)
            elif kind in memory.strays.kinds:
                uids = ((uid,) for uid in memory.strays.uids(kind))
                inside = {**scope, "stray": True, "job_kind": kind}
                found = sweep(rows.WORKLOADS, inside, uids, epoch=epoch)
            else:
                continue
            number += len(found)
        return number

    # -- events, stray jobs, unknown texts ---------------------------------------------------

    def _write_events(self) -> int:
        epoch = self.memory.epochs.get("Event", 0)
        made = (event_row(self.cluster, item) for item in self.memory.events.values())
        return merge(rows.EVENTS, ((*row, digest(row), epoch) for row in made))

    def _write_strays(
        self, loose: list[tuple[str, JobRecord, dict[str, Any]]], done: Written, now: datetime
    ) -> dict[str, int]:
        """Write the jobs without a Workload; return what their rows say, as numbers."""
        strays, epochs = self.memory.strays, self.memory.epochs
        kept: dict[str, int] = {}
        changed = []
        for uid, record, row in loose:
            values = encoded(row.values())
            kept[uid] = digest(values)
            if kept[uid] != record.digest:
                epoch = epochs.get(record.kind, 0)
                changed.append((self.cluster.pk, uid, *values, now, kept[uid], epoch))
                done.workloads.append((uid, row["namespace"], row["queue"]))
                done.moved.add(row["queue"])
        done.rows += merge(rows.WORKLOADS, changed)
        if strays.gone:
            here = Workload.objects.filter(cluster=self.cluster, uid__in=list(strays.gone))
            done.rows += here.filter(stray=True).delete()[0]
        return kept

    def _count_unknown(self, changed: Iterable[_Read], now: datetime) -> None:
        """Count texts that no rule knows, by their form; people mend the rules with them."""
        code, raw = WORKLOAD_FIELDS.index("code"), WORKLOAD_FIELDS.index("raw")
        texts = [each.values[raw] for each in changed if each.values[code] == UNKNOWN]
        forms = Counter(form_of(text) for text in texts)
        examples = {form_of(text): text for text in texts}
        for form, times in forms.items():
            row, made = UnknownText.objects.get_or_create(
                cluster=self.cluster, form=form,
                defaults={
                    "example": examples[form][:2000], "times": times, "first_at": now,
                    "last_at": now,
                },
            )  # fmt: skip
            if not made:
                here = UnknownText.objects.filter(pk=row.pk)
                here.update(times=F("times") + times, last_at=now)

    # -- after the commit ------------------------------------------------------------------

    def _remember(
        self,
        read: dict[str, _Read],
        objects: dict[Named, tuple[int, list[Any]]],
        loose: list[tuple[str, JobRecord, dict[str, Any]]],
        kept: dict[str, int],
    ) -> None:
        for each in read.values():
            each.record.digest, each.record.queue = each.digest, each.queue
            each.record.order = each.order
        for uid, record, _ in loose:
            record.digest = kept[uid]
        self.noting.committed()
        self.quotas.committed()
        self.pods.committed()
        self.memory.written(read, {name: number for name, (number, _) in objects.items()})


def _moves(changed: dict[str, _Read]) -> dict[str, bool]:
    """Return those whose row says something new, and whether they are in another queue now."""
    return {uid: each.queue != each.record.queue for uid, each in changed.items()}


def _noted(item: Object) -> Iterable[object]:
    """Return what the history notes and a row does not say: a change of it is a change."""
    meta, status = item["metadata"], item.get("status") or {}
    yield meta.get("deletionTimestamp")
    for each in status.get("conditions") or ():
        yield (
            each.get("type"),
            each.get("status"),
            each.get("reason"),
            each.get("lastTransitionTime"),
        )
    yield status.get("requeueState")
    yield status.get("reclaimablePods")
    yield status.get("accumulatedPastExecutionTimeSeconds")


def form_of(text: str) -> str:
    """Return a text without the names and numbers in it."""
    return _QUOTED.sub("#", text)[:500]
