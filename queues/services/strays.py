"""Jobs that have no Workload: Kueue does not look at them, so only the portal can say why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from kube.checkpoints import CHECKPOINT_EVERY, CHECKPOINTED_AT
from kube.explain_job import JobRelated, explain_job
from kube.job_facts import GROUP_LABEL, PREBUILT_LABEL, PRIORITY_LABEL, QUEUE_LABEL, JobFacts
from kube.job_kinds import BY_PODS, controller, devices_of, devices_of_pod
from kube.kinds import Kind
from kube.lenient import mapping, moment, text
from kube.manager_facts import Manager
from queues.services.happened import Happened
from queues.services.known import Known
from queues.services.observed import WORKLOAD_FIELDS, Object, read_values
from queues.services.records import Records

#: Kueue needs a moment to make a Workload; until then its absence says nothing.
GRACE: Final = timedelta(seconds=10)
_KEPT_NOTES: Final = (PREBUILT_LABEL, CHECKPOINTED_AT, CHECKPOINT_EVERY)
_KEPT_LABELS: Final = (QUEUE_LABEL, PRIORITY_LABEL, PREBUILT_LABEL, GROUP_LABEL)


class JobRecord(msgspec.Struct, gc=False):
    """One job that has not ended. ``digest`` is that of its row, 0 while it has none."""

    kind: str
    packed: bytes
    devices: int
    due: float
    mark: int
    digest: int = 0


class Strays:
    """All jobs by uid, and those among them that may have no Workload."""

    def __init__(self, *, known: Known, records: Records, happened: Happened) -> None:
        """Take what tells whether and why a job has no Workload."""
        self.known, self.records, self.happened = known, records, happened
        self.manager: Manager | None = None
        self.by_uid: dict[str, JobRecord] = {}
        self.open: set[str] = set()
        self.gone: set[str] = set()
        self.stored: dict[str, int] = {}
        self._marks: dict[str, int] = {}
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder().decode

    def load(self, stored: dict[str, int]) -> None:
        """Take what the database holds, and look at every job once more."""
        self.stored = stored
        for uid, record in self.by_uid.items():
            record.digest = stored.pop(uid, 0)
        self.open.update(self.by_uid)

    def drop(self, kind: str) -> None:
        """Forget every job of a kind; its rows are gone already."""
        for uid in [uid for uid, record in self.by_uid.items() if record.kind == kind]:
            del self.by_uid[uid]
            self.open.discard(uid)
            self.gone.discard(uid)

    @property
    def kinds(self) -> frozenset[str]:
        """Return the kinds of job that are followed."""
        return frozenset(self._marks)

    def uids(self, kind: str) -> Iterator[str]:
        """Yield the jobs of a kind."""
        return (uid for uid, record in self.by_uid.items() if record.kind == kind)

    def annotations_of(self, uid: str) -> dict[str, Any]:
        """Return what a job says about its checkpoints."""
        record = self.by_uid.get(uid)
        if record is None:
            return {}
        return dict(mapping(self._decode(record.packed), "metadata", "annotations"))

    def begin(self, kind: Kind) -> None:
        """Note that a fresh list of a kind begins."""
        self._marks[kind.name] = self._marks.get(kind.name, 0) + 1

    def take(self, kind: Kind, change: str, item: Object) -> None:
        """Take one change in."""
        uid = str(item["metadata"]["uid"])
        if change == "DELETED" or not _is_judged(kind, item):
            self.forget(uid)
            return
        spec = mapping(item, "spec")
        devices = devices_of_pod(spec) if kind.name == "Pod" else devices_of(spec)
        made = moment(text(item, "metadata", "creationTimestamp")) or datetime.now(UTC)
        before = self.by_uid.get(uid)
        self.by_uid[uid] = JobRecord(
            kind=kind.name, packed=self._encode(_trimmed(kind, item)), devices=devices,
            due=(made + GRACE).timestamp(), mark=self._marks.get(kind.name, 0),
            digest=before.digest if before else self.stored.pop(uid, 0),
        )  # fmt: skip
        if self.records.of_job(uid) is None or (before and before.digest):
            self.open.add(uid)

    def forget(self, uid: str) -> None:
        """Drop a job that is gone or over."""
        record = self.by_uid.pop(uid, None)
        self.open.discard(uid)
        if record is not None and record.digest:
            self.gone.add(uid)

    def end(self, kind: Kind) -> None:
        """Drop what a complete list did not hold."""
        mark = self._marks.get(kind.name, 0)
        for uid in [
            uid for uid, record in self.by_uid.items()
            if record.kind == kind.name and record.mark < mark
        ]:  # fmt: skip
            self.forget(uid)

    def look_again(self, job_uid: str) -> None:
        """Note that the Workload of a job came or went."""
        if job_uid in self.by_uid:
            self.open.add(job_uid)

    def look_at_all(self) -> None:
        """Note that something changed on which the reason of every stray job may depend."""
        self.open.update(uid for uid, record in self.by_uid.items() if record.digest)

    def rows(self, now: datetime) -> Iterator[tuple[str, JobRecord, dict[str, Any]]]:
        """Yield the rows of the jobs that have no Workload, those that are due."""
        classes = list(self.known.objects["WorkloadPriorityClass"].values())
        for uid in list(self.open):
            record = self.by_uid[uid]
            if self.records.of_job(uid) is not None:
                self.open.discard(uid)
                if record.digest:
                    record.digest = 0
                    self.gone.add(uid)
            elif record.due <= now.timestamp():
                self.open.discard(uid)
                yield uid, record, self._row(uid, record, classes)

    def _row(self, uid: str, record: JobRecord, classes: Iterable[Object]) -> dict[str, Any]:
        job: Object = self._decode(record.packed)
        facts = JobFacts(job)
        related: JobRelated = {
            "entries": self.known.entries_in(facts.namespace),
            "namespace": self.known.find("Namespace", facts.namespace),
            "priority_classes": classes,
            "events": self.happened.of([uid]),
            "manager": self.manager,
        }
        found = explain_job(job, **related)
        entry = self.known.entry(facts.namespace, facts.label(QUEUE_LABEL))
        values = {
            "namespace": facts.namespace,
            "name": text(job, "metadata", "name"),
            "job_kind": record.kind,
            "job_name": text(job, "metadata", "name"),
            "entry": facts.label(QUEUE_LABEL),
            "queue": entry.queue if entry else "",
            "priority_class": facts.label(PRIORITY_LABEL),
            "priority": 0,
            "devices": record.devices,
            "held": [],
            **read_values(found),
            "created_at": facts.created or datetime.now(UTC),
            "resource_version": "",
            "queued_at": None,
            "turn": "",
            "boost": 0,
            "job_uid": uid,
            "kept": {},
            "pods": {},
            "stray": True,
        }
        return {field: values[field] for field in WORKLOAD_FIELDS}


def _is_judged(kind: Kind, item: Object) -> bool:
    """Return whether a Workload should stand for this very object.

    Not for the parts of another job, and not for what Kueue looks at pod by pod.
    """
    facts = JobFacts({"apiVersion": kind.api_version, "kind": kind.name, **item})
    labelled = bool(facts.label(QUEUE_LABEL))
    if kind.name in BY_PODS:
        return not labelled
    if facts.managed_by or facts.deleted:
        return False
    # A pod that another object makes is that object's, unless it names a queue by itself.
    return kind.name != "Pod" or labelled or controller(item) is None


def _trimmed(kind: Kind, item: Object) -> dict[str, Any]:
    meta, spec = mapping(item, "metadata"), mapping(item, "spec")
    labels = mapping(meta, "labels")
    kept = {
        key: meta[key]
        for key in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                    "ownerReferences")
        if meta.get(key)
    }  # fmt: skip
    annotations = mapping(meta, "annotations")
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {
            **kept,
            "labels": {key: labels[key] for key in _KEPT_LABELS if key in labels},
            "annotations": {key: annotations[key] for key in _KEPT_NOTES if key in annotations},
        },
        "spec": {
            "suspend": JobFacts(item).suspended,
            "schedulingGates": spec.get("schedulingGates"),
        },
    }
