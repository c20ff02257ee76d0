"""What an observer knows of a cluster, and what of it has not been written yet."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from kube.job_kinds import JOB_KINDS
from kube.kinds import Kind
from kube.lenient import items, mapping, text
from kube.manager_facts import Manager
from kube.queue_settings import QueueSettings
from kube.wire import Change
from queues.models import Link, ObservedObject, Stream, Workload
from queues.services import noted, pod_times
from queues.services import observed_rows as rows
from queues.services.happened import Happened
from queues.services.known import Known, Named
from queues.services.node_use import NodeUse
from queues.services.observed import OBJECT_KINDS, Object
from queues.services.records import Record, Records
from queues.services.strays import Strays
from queues.services.surroundings import Surroundings
from queues.services.workload_pods import WorkloadPods, is_followed
from tenants.models import Cluster

#: Seconds after a line is back in which what comes may have happened while it was away.
CATCH_UP: Final = 5.0
#: Kueue's own words about a check; what the check itself has written is kept instead.
_NOT_ITS_OWN: Final = ("Reset to Pending after eviction",)
_REJECTED: Final = (
    re.compile(r"AdmissionCheck for (?P<check>\S+) was Rejected: (?P<said>.+)", re.S),
    re.compile(r'in Rejected state: "(?P<check>[^"]+)" \((?P<said>.+)\)', re.S),
)
_JOBS: Final = frozenset(kind.name for kind in JOB_KINDS)


@dataclass(frozen=True, slots=True)
class Heard:
    """One change of a workload as it came; without ``item`` it went unseen.

    ``listed``: it came with a list, so it may be no change at all.
    """

    uid: str
    item: Object | None
    gone: bool = False
    listed: bool = False


class Memory:
    """The objects of one cluster as last heard; ``dirty`` parts wait for the next window."""

    def __init__(self, cluster: Cluster, settings: QueueSettings) -> None:
        """Know nothing."""
        self.cluster = cluster
        self.known, self.records = Known(), Records()
        self.pods, self.use, self.happened = WorkloadPods(), NodeUse(), Happened()
        self.pod_times = pod_times.PodTimes()
        self.strays = Strays(known=self.known, records=self.records, happened=self.happened)
        self.around = Surroundings(
            known=self.known, records=self.records, pods=self.pods, happened=self.happened,
            settings=settings,
        )  # fmt: skip
        self.epochs: dict[str, int] = {}
        self.listing: set[str] = set()
        self.ended: dict[str, str] = {}
        self.fresh: dict[str, Object] = {}
        self.again: dict[str, None] = {}
        #: What only a whole list can tell of, and the list's version when it has ended.
        self.late: dict[str, None] = {}
        self._ending = ""
        self.heard: list[Heard] = []
        #: What a list told and the history has not noted; ``recall``: the list before was not
        #: noted to its end, so what did not change since then may be missing there as well.
        self.unnoted: dict[str, None] = {}
        self.recall = False
        self.noted_epoch = 0
        #: A whole list of workloads was read: what is not among them has none.
        self.complete = False
        self.gone: dict[str, Record] = {}
        self.events: dict[str, Object] = {}
        self.objects: dict[Named, int] = {}
        #: What the histories of quotas and nodes have on record, by kind and name.
        self.noted: dict[noted.Key, int] = {}
        self.stored: dict[str, int] = {}
        self.kept: dict[str, dict[str, str]] = {}
        self.since: datetime | None = None
        self._caught_up_at = 0.0
        self._takes: dict[str, Callable[[Kind, str, Object], None]] = {
            **dict.fromkeys(OBJECT_KINDS, self._take_object),
            "Workload": self._take_workload,
            "Pod": self._take_pod,
            "Event": self._take_event,
        }

    def look_at_manager(self) -> None:
        """Take how the cluster's Kueue is set up, as the last look at it has seen."""
        link = Link.objects.filter(cluster=self.cluster).only("capabilities").first()
        seen = link.capabilities if link else {}
        self.around.manager = self.strays.manager = Manager.read(
            version=str(seen.get("kueue_version") or ""),
            configuration=str(seen.get("configuration") or ""),
        )

    def load(self) -> None:
        """Read what the database holds, so that equal rows are not written again."""
        self.look_at_manager()
        here = {"cluster": self.cluster}
        objects = ObservedObject.objects.filter(**here)
        self.objects = rows.digests(objects, "kind", "namespace", "name")
        self.noted = noted.load(self.cluster)
        self.pod_times.load(pod_times.on_record(self.cluster))
        found = Workload.objects.filter(**here)
        self.stored = rows.digests(found.filter(stray=False), "uid")
        self.strays.load(rows.digests(found.filter(stray=True), "uid"))
        for uid, record in self.records.by_uid.items():
            record.digest = self.stored.pop(uid, 0)
            if not record.digest:
                self.again[uid] = None
        self.kept = dict(found.exclude(kept={}).values_list("uid", "kept"))
        self.known.dirty.update(name for name, _ in self.known.all())
        line = Stream.objects.filter(**here, kind="Workload").first()
        self.noted_epoch = line.noted_epoch if line else 0
        self.recall = line is not None and line.noted_epoch < line.epoch
        if not self.records:
            self.since = line.alive_at if line else None

    # -- taking in -------------------------------------------------------------------------

    def begin(self, kind: Kind, epoch: int) -> None:
        """Note that a fresh list of a kind begins, and its number."""
        self.epochs[kind.name] = epoch
        self.listing.add(kind.name)
        self.ended.pop(kind.name, None)
        if kind.name in OBJECT_KINDS:
            self.known.begin(kind.name)
        elif kind.name == "Workload":
            self.records.mark, self._ending = epoch, ""
        elif kind.name == "Pod":
            self.pods.mark = epoch
            self.strays.begin(kind)
        elif kind.name in _JOBS:
            self.strays.begin(kind)

    def take(self, kind: Kind, changes: Iterable[Change]) -> None:
        """Take changes in, in their order."""
        take_one = self._takes.get(kind.name, self._take_job)
        for change, item in changes:
            take_one(kind, change, item)
        if kind.name in ("LocalQueue", "Namespace", "WorkloadPriorityClass"):
            self.strays.look_at_all()

    def end(self, kind: Kind, version: str) -> None:
        """Drop what a complete list did not hold."""
        self.listing.discard(kind.name)
        self.ended[kind.name] = version
        if kind.name in OBJECT_KINDS:
            self.known.end(kind.name)
        elif kind.name == "Workload":
            self.complete = True
            for uid in self.records.unmarked():
                self._forget(uid, None)
            self.back(kind.name)
            if self.late:
                self._ending = self.ended.pop(kind.name)
        elif kind.name == "Pod":
            first = not self.pods.complete
            for place in self.pods.end():
                self._read_place_again(place)
            self._use_moved(self.use.keep(self.pods.by_uid))
            self.pod_times.keep(self.pods.by_uid)
            if first:
                self._use_moved(name for _, name in self.known.objects["Node"])
                self.again.update((uid, None) for uid, each in self.held())
            self.strays.end(kind)
        elif kind.name in _JOBS:
            self.strays.end(kind)

    def lost(self, kind: str, since: datetime) -> None:
        """Note that a line is lost: what comes after it may have happened long before."""
        if kind == "Workload":
            self.since = self.since or since
            self._caught_up_at = 0.0

    def back(self, kind: str) -> None:
        """Note that a line is open (again)."""
        if kind == "Workload" and self.since is not None and not self._caught_up_at:
            self._caught_up_at = time.monotonic() + CATCH_UP

    def caught_up(self) -> None:
        """Forget the last gap when its changes have surely come; call it after a write."""
        if self.unnoted:
            return
        if self._caught_up_at and time.monotonic() >= self._caught_up_at:
            self.since, self._caught_up_at = None, 0.0

    def unserved(self, kind: str) -> None:
        """Forget a kind that the cluster does not serve."""
        self.epochs.pop(kind, None)
        self.listing.discard(kind)
        if kind in OBJECT_KINDS:
            self.known.begin(kind)
            self.known.end(kind)
            self.known.gone = {each for each in self.known.gone if each[0] != kind}
            self.objects = {key: row for key, row in self.objects.items() if key[0] != kind}
        else:
            self.strays.drop(kind)

    def held(self) -> Iterator[tuple[str, Record]]:
        """Yield the workloads that hold quota."""
        return ((uid, each) for uid, each in self.records.by_uid.items() if each.held)

    # -- workloads, pods, events -----------------------------------------------------------

    def _take_object(self, kind: Kind, change: str, item: Object) -> None:
        self.known.take(kind.name, change, item)

    def _take_job(self, kind: Kind, change: str, item: Object) -> None:
        self.strays.take(kind, change, item)

    def _take_workload(self, kind: Kind, change: str, item: Object) -> None:
        uid = str(item["metadata"]["uid"])
        if change == "DELETED":
            self._forget(uid, item)
            return
        known = uid in self.records.by_uid
        _, record = self.records.learn(item)
        if not known:
            # Back before its end was written, as after a restored etcd: its row is still there.
            back = self.gone.pop(uid, None)
            record.digest = back.digest if back else self.stored.pop(uid, 0)
            record.kept = back.kept if back else self.kept.pop(uid, None)
            self._job_moved(item)
            for event in self.happened.of((uid, record.job)):
                self._hear_of_check(event, record)
        self._keep_messages(item, record)
        self.fresh[uid] = item
        self.again.pop(uid, None)
        self.heard.append(Heard(uid, item, listed="Workload" in self.listing))

    def _forget(self, uid: str, item: Object | None) -> None:
        record = self.records.forget(uid)
        self.fresh.pop(uid, None)
        self.again.pop(uid, None)
        self.late.pop(uid, None)
        if uid in self.unnoted and record is not None and item is None:
            self.heard.append(Heard(uid, self.records.unpack(record)))
        self.unnoted.pop(uid, None)
        self.heard.append(Heard(uid, item, gone=True))
        if record is not None:
            self.gone[uid] = record
            self.strays.look_again(record.job)

    def _job_moved(self, item: Object) -> None:
        for job in self.records.jobs_of(item):
            self.strays.look_again(job)

    def _keep_messages(self, item: Object, record: Record) -> None:
        """Keep what each check itself has said last; Kueue overwrites it at once."""
        for check in items(item, "status", "admissionChecks"):
            said, name = text(check, "message"), text(check, "name")
            if said and not said.startswith(_NOT_ITS_OWN):
                self._keep(record, name, said)

    def _keep(self, record: Record, check: str, said: str) -> None:
        kept = record.kept or {}
        if kept.get(check) != said:
            record.kept = {**kept, check: said}

    def _take_pod(self, kind: Kind, change: str, item: Object) -> None:
        if change == "DELETED" or is_followed(item):
            self._read_place_again(self.pods.take(change, item))
            self._use_moved(self.use.take(change, item))
            devices = self.use.of_pod(text(item, "metadata", "uid"))
            self.pod_times.take(change, item, devices)
        self.strays.take(kind, change, item)

    def _use_moved(self, nodes: Iterable[str]) -> None:
        """Have the nodes written again on which another number of devices is taken."""
        known = self.known.objects["Node"]
        self.known.dirty.update(("Node", "", node) for node in nodes if ("", node) in known)

    def _take_event(self, kind: Kind, change: str, item: Object) -> None:
        if change == "DELETED":
            return
        about = self.happened.take(item)
        if not self._is_foreign(item):
            self.events[text(item, "metadata", "uid")] = item
        if not about:
            return
        uid = about if about in self.records.by_uid else self.records.of_job(about)
        pod = self.pods.by_uid.get(about)
        if pod is not None:
            self._read_place_again(pod.place)
        elif uid is not None:
            self._hear_of_check(item, self.records.by_uid[uid])
            self._read_again(uid)
        else:
            self.strays.look_again(about)

    def _is_foreign(self, item: Object) -> bool:
        """Return whether an event is about a pod that is not followed, as far as that is known."""
        about = mapping(item, "involvedObject")
        if text(about, "kind") != "Pod" or not self.pods.complete:
            return False
        return text(about, "uid") not in self.pods.by_uid

    def _hear_of_check(self, item: Object, record: Record) -> None:
        """Keep the text of a check that only an event still tells."""
        for pattern in _REJECTED:
            if found := pattern.search(text(item, "message")):
                self._keep(record, found["check"], found["said"])

    def _read_place_again(self, place: str) -> None:
        namespace, slash, name = place.partition("/")
        uid = self.records.named(namespace, name) if slash else self.records.of_job(place)
        if uid is not None:
            self._read_again(uid)

    def _read_again(self, uid: str) -> None:
        if uid not in self.fresh:
            self.again[uid] = None

    # -- for the next window ---------------------------------------------------------------

    def spread(self) -> None:
        """Mark the workloads whose reading depends on what moved around them."""
        if not self.known.moved:
            return
        entries, namespaces, queues = self.known.moved_places()
        for queue in queues:
            for uid in self.records.holding(queue):
                self._read_again(uid)
        for namespace, entry in entries:
            for uid in self.records.of_entry(namespace, entry):
                self._read_again(uid)
        for namespace in namespaces:
            for uid in self.records.of_namespace(namespace):
                self._read_again(uid)

    def due(self, most: int) -> Iterator[tuple[str, Record, Object]]:
        """Yield the workloads to read: all that came, and some of those to read again.

        Of one that nobody has looked at only its whole queue tells: it waits for the list's end.
        """
        listing = "Workload" in self.listing
        for uid, item in self.fresh.items():
            record = self.records.by_uid[uid]
            if listing and self.around.needs_line(item, record):
                self.late[uid] = None
            else:
                yield uid, record, item
        late = [] if listing else [uid for uid in islice(self.late, most) if uid not in self.fresh]
        for uid in (*late, *islice(self.again, most)):
            record = self.records.by_uid[uid]
            yield uid, record, self.records.unpack(record)

    @property
    def list_comes(self) -> bool:
        """Return whether a list of workloads is still to be written to its end, late ones included."""
        return "Workload" in self.listing or "Workload" in self.ended or bool(self._ending)

    @property
    def history_is_behind(self) -> bool:
        """Return whether the newest list is whole, and the history has not noted all of it."""
        return "Workload" not in self.listing and self.epochs.get("Workload", 0) > self.noted_epoch

    @property
    def waiting(self) -> bool:
        """Return whether anything waits to be written."""
        return bool(
            self.known.dirty or self.known.gone or self.fresh or self.again or self.heard
            or (self.late and "Workload" not in self.listing) or self.history_is_behind
            or self.gone or self.events or self.ended or self.strays.gone or self.pod_times.heard
        )  # fmt: skip

    def written(self, read: Iterable[str], objects: dict[Named, int]) -> None:
        """Forget what waited, after it was committed."""
        for uid in read:
            self.again.pop(uid, None)
            self.late.pop(uid, None)
        for key in self.known.gone:
            self.objects.pop(key, None)
        self.objects.update(objects)
        self.known.dirty.clear()
        self.known.gone.clear()
        for waiting in (self.fresh, self.heard, self.gone, self.events, self.ended):
            waiting.clear()
        self.strays.gone.clear()
        if self._ending and not self.late:
            self.ended["Workload"], self._ending = self._ending, ""
        self.caught_up()
