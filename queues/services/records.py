"""The workloads of a cluster as last heard: a small record each, and who depends on what.

A record keeps what explains its workload in packed form, a fraction of what the same facts take
as Python objects, and unpacks it when the workload must be read again. What a workload asks for
is packed apart: most workloads of a cluster ask for the same as others, and share it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypedDict

import msgspec

from kube.asked import Asked
from kube.workload_facts import WorkloadFacts
from queues.services.observed import Object, job_uids, key_of, trim

NOTHING: Final[frozenset[str]] = frozenset()
#: Packed specs that no workload has any more are thrown away when there are as many as these.
SPARE: Final = 1000
#: What follows from so many specs is kept.
ASKED: Final = 4096
#: What reading an object of odd form may raise.
ODD: Final = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError)


class _BriefMetadata(TypedDict, total=False):
    uid: Any
    creationTimestamp: Any
    deletionTimestamp: Any
    annotations: Any


class _BriefStatus(TypedDict, total=False):
    conditions: Any
    requeueState: Any
    resourceRequests: Any


class _Brief(TypedDict, total=False):
    """What of a workload the order of its queue looks at, besides its spec."""

    metadata: _BriefMetadata
    status: _BriefStatus | None


class Record(msgspec.Struct, gc=False):
    """One workload. ``digest`` is what the database holds, 0 when it holds nothing.

    ``held`` is the queue that it holds quota in, ``queue`` the one in its row, ``job`` the uid of
    its job, ``order`` what decides its place in its queue, as a number. ``mark`` is the number of the list that last held it, ``kept`` what its checks said.
    """

    namespace: str
    packed: bytes
    spec: bytes
    entry: str
    held: str
    job: str
    queue: str = ""
    digest: int = 0
    order: int = 0
    mark: int = 0
    kept: dict[str, str] | None = None


class Records:
    """All workloads by uid, with indexes by what their reading depends on."""

    def __init__(self) -> None:
        """Know nothing."""
        self.by_uid: dict[str, Record] = {}
        self.mark = 0
        # By a hash of namespace and name: fifty thousand more texts would be megabytes.
        self._names: dict[int, str] = {}
        self._of_entry: dict[tuple[str, str], set[str]] = {}
        self._holding: dict[str, set[str]] = {}
        self._of_job: dict[str, str] = {}
        self._entries: dict[str, set[str]] = {}
        self._specs: dict[bytes, bytes] = {}
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder().decode
        self._decode_brief = msgspec.msgpack.Decoder(_Brief).decode
        self._asked: dict[bytes, Asked] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.by_uid)

    def learn(self, item: Object) -> tuple[str, Record]:
        """Take a workload in as it is now; return its uid and record."""
        uid = str(item["metadata"]["uid"])
        spec, status = item.get("spec") or {}, item.get("status") or {}
        entry = sys.intern(str(spec.get("queueName") or ""))
        held = sys.intern(str((status.get("admission") or {}).get("clusterQueue") or ""))
        packed, shared = self._pack(item)
        record = self.by_uid.get(uid)
        if record is None:
            record = self._add(uid, item, Record("", packed, shared, entry, held, ""))
        else:
            record.packed, record.spec = packed, shared
            if (entry, held) != (record.entry, record.held):
                self._unplace(uid, record)
                record.entry, record.held = entry, held
                self._place(uid, record)
        record.mark = self.mark
        return uid, record

    def _pack(self, item: Object) -> tuple[bytes, bytes]:
        """Return what is the workload's own, and what it asks for, which others may share."""
        own = {key: value for key, value in trim(item).items() if key != "spec"}
        spec = self._encode(item.get("spec"))
        if len(self._specs) > 2 * len(self.by_uid) + SPARE:
            self._specs = {each.spec: each.spec for each in self.by_uid.values()}
        return self._encode(own), self._specs.setdefault(spec, spec)

    def _add(self, uid: str, item: Object, record: Record) -> Record:
        namespace, name = key_of(item)
        jobs = self.jobs_of(item)
        record.namespace, record.job = sys.intern(namespace), next(iter(jobs), "")
        self.by_uid[uid] = record
        self._names[hash((namespace, name))] = uid
        self._of_job.update((job, uid) for job in jobs)
        self._place(uid, record)
        return record

    def forget(self, uid: str) -> Record | None:
        """Drop a workload; return its last record."""
        record = self.by_uid.pop(uid, None)
        if record is None:
            return None
        self._unplace(uid, record)
        item = self.unpack(record)
        name = hash(key_of(item))
        if self._names.get(name) == uid:
            del self._names[name]
        for job in self.jobs_of(item):
            if self._of_job.get(job) == uid:
                del self._of_job[job]
        return record

    def jobs_of(self, item: Object) -> list[str]:
        """Return the uids of the jobs that a workload stands for."""
        return job_uids(item)

    def unmarked(self) -> list[str]:
        """Return the workloads that the list of the present mark did not hold."""
        return [uid for uid, record in self.by_uid.items() if record.mark < self.mark]

    def unpack(self, record: Record) -> Object:
        """Return the workload again."""
        found: Object = self._decode(record.packed)
        found["spec"] = self._decode(record.spec)
        return found

    def asked(self, record: Record) -> Asked:
        """Return what follows from a workload's spec; equal specs are looked through once.

        Raises what :data:`ODD` names for a spec of odd form.
        """
        found = self._asked.get(record.spec)
        if found is None:
            if len(self._asked) >= ASKED:
                self._asked.clear()
            found = self._asked[record.spec] = Asked.read(self._decode(record.spec) or {})
        return found

    def in_line(self, record: Record) -> WorkloadFacts:
        """Return as much of a workload as those beside it in its queue look at."""
        try:
            found: Any = self._decode_brief(record.packed)
            asked = self.asked(record)
        except ODD:
            return WorkloadFacts.read(self.unpack(record))
        if (found.get("status") or {}).get("resourceRequests"):
            return WorkloadFacts.read(self.unpack(record))
        found["spec"] = asked.brief
        return WorkloadFacts.read(found, asked)

    def named(self, namespace: str, name: str) -> str | None:
        """Return the uid of the workload of that name."""
        return self._names.get(hash((namespace, name)))

    def of_job(self, job_uid: str) -> str | None:
        """Return the uid of a workload of that job."""
        return self._of_job.get(job_uid)

    # -- who depends on what ---------------------------------------------------------------

    def of_entry(self, namespace: str, entry: str) -> Iterable[str]:
        """Return the workloads that name this LocalQueue."""
        return self._of_entry.get((namespace, entry), NOTHING)

    def of_namespace(self, namespace: str) -> Iterator[str]:
        """Yield the workloads of a namespace."""
        for entry in self._entries.get(namespace, NOTHING):
            yield from self._of_entry[namespace, entry]

    def holding(self, queue: str) -> Iterable[str]:
        """Return the workloads that hold quota of this ClusterQueue."""
        return self._holding.get(queue, NOTHING)

    def entries_named(self, namespace: str) -> Iterable[str]:
        """Return the LocalQueues that workloads of a namespace name, those that exist or not."""
        return self._entries.get(namespace, NOTHING)

    def _place(self, uid: str, record: Record) -> None:
        self._of_entry.setdefault((record.namespace, record.entry), set()).add(uid)
        self._entries.setdefault(record.namespace, set()).add(record.entry)
        if record.held:
            self._holding.setdefault(record.held, set()).add(uid)

    def _unplace(self, uid: str, record: Record) -> None:
        place = (record.namespace, record.entry)
        here = self._of_entry[place]
        here.discard(uid)
        if not here:
            del self._of_entry[place]
            self._entries[record.namespace].discard(record.entry)
        if record.held and (holding := self._holding.get(record.held)):
            holding.discard(uid)
            if not holding:
                del self._holding[record.held]
