"""Everything that is known around a workload, as explanations take it, and its row."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from kube.explain import Related
from kube.lenient import items, text
from kube.line_facts import Line
from kube.manager_facts import Manager
from kube.queue_settings import QueueSettings
from kube.workload_facts import WorkloadFacts
from queues.services.happened import Happened
from queues.services.known import Known
from queues.services.observed import Object, workload_row
from queues.services.records import Record, Records
from queues.services.workload_pods import WorkloadPods, summary

#: Waiting workloads of one queue among which equal ones and those ahead are looked for.
LINE: Final = 200
#: Lines that are kept within a window: those of a list come queue by queue.
LINES: Final = 20


class Surroundings:
    """Reads workloads with all that is known; what is made for many of them is made once.

    ``renew`` at the beginning of each window: what it holds is as of then.
    """

    def __init__(
        self,
        *,
        known: Known,
        records: Records,
        pods: WorkloadPods,
        happened: Happened,
        settings: QueueSettings,
    ) -> None:
        """Take what is filled elsewhere."""
        self.known, self.records = known, records
        self.pods, self.happened = pods, happened
        self.settings = settings
        self.manager: Manager | None = None
        self._now: datetime | None = None
        self._lines: dict[str, Line | None] = {}
        self._limit_ranges: dict[str, list[Object]] = {}

    def renew(self, now: datetime) -> None:
        """Forget what was made for the window before."""
        self._now = now
        self._lines = {}
        self._limit_ranges = self.known.namespaces_of("LimitRange")

    def row(self, item: Object, record: Record) -> dict[str, Any]:
        """Return the columns of a workload's row."""
        entry = self.known.entry(record.namespace, record.entry)
        queue_name = record.held or (entry.queue if entry else "")
        queue = self.known.queue(queue_name)
        own_pods = self._pods(item, record)
        related: Related = {
            "local_queue": entry,
            "cluster_queue": queue,
            "entries": self.known.entries_in(record.namespace),
            "tree": self.known.tree,
            "flavors": self.known.objects["ResourceFlavor"].values(),
            "checks": self.known.objects["AdmissionCheck"].values(),
            "namespace": self.known.find("Namespace", record.namespace),
            "limit_ranges": self._limit_ranges.get(record.namespace, ()),
            "pods": own_pods,
            "events": self._events(item, record),
            "kept_messages": record.kept,
            "manager": self.manager,
            "now": self._now,
        }
        if self.needs_line(item, record):
            related["line"] = self._line(queue_name)
        entries = () if entry else self.known.entries_in(record.namespace)
        facts = WorkloadFacts.read(item, self.records.asked(record))
        row = workload_row(facts, entry, queue, entries, self.settings, related)
        row["pods"] = summary(own_pods or ())
        row["kept"] = record.kept or {}
        return row

    def needs_line(self, item: Object, record: Record) -> bool:
        """Return whether those that wait beside a workload say something about it."""
        if record.held or items(item, "status", "conditions"):
            return False
        entry = self.known.entry(record.namespace, record.entry)
        return entry is not None and self.known.queue(entry.queue) is not None

    def _pods(self, item: Object, record: Record) -> list[Object] | None:
        """Return the pods of a workload; ``None`` while no list was read, or if they are far."""
        if not self.pods.complete or text(item, "status", "clusterName"):
            return None
        return self.pods.of(record.namespace, text(item, "metadata", "name"), record.job)

    def _events(self, item: Object, record: Record) -> list[Object]:
        about = [text(item, "metadata", "uid"), record.job]
        name = text(item, "metadata", "name")
        about += self.pods.uids(record.namespace, name, record.job)
        return self.happened.of(about)

    def _line(self, queue: str) -> Line | None:
        """Return those that wait in a queue, unless they are too many to compare."""
        if queue not in self._lines:
            if len(self._lines) >= LINES:
                # Each is as large as its workloads; a window may ask for a thousand queues.
                del self._lines[next(iter(self._lines))]
            self._lines[queue] = self._make_line(queue)
        return self._lines[queue]

    def _make_line(self, queue: str) -> Line | None:
        facts = self.known.queue(queue)
        if facts is None:
            return None
        waiting: list[Record] = []
        for uid in self._of_queue(queue):
            record = self.records.by_uid[uid]
            if not record.held:
                waiting.append(record)
                if len(waiting) > LINE:
                    return None
        return Line([self.records.in_line(each) for each in waiting], strict=facts.strict)

    def _of_queue(self, queue: str) -> Iterable[str]:
        for namespace, name in self.known.entries_to(queue):
            yield from self.records.of_entry(namespace, name)
