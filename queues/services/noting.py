"""Hands on to the history what happened, behind the rows that say how things stand now.

What a watch brings is noted in the window of its row. A list is noted when it has ended: pages
need its rows first, and the times of conditions are the cluster's own, however late they are read.
How far that has come is kept with the line, so that a restart in between loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Final

from queues.services import intervals
from queues.services import observed_rows as rows
from queues.services.memory import Heard, Memory

#: Workloads of a list that one window notes; news waits for it.
AT_ONCE: Final = 500


class Noting:
    """What of a memory the history has not noted yet."""

    def __init__(self, memory: Memory) -> None:
        """Take what is heard."""
        self.memory = memory
        self._more: dict[str, None] = {}
        self._less: set[str] = set()
        self._left = False

    def write(self, changed: Mapping[str, bool], now: datetime) -> None:
        """Note what is due, inside the transaction of the window.

        ``changed``: the workloads whose row says something new, and whether it is in another
        queue now. Call :meth:`committed` afterwards.
        """
        memory = self.memory
        live = {each.uid for each in memory.heard if not each.listed}
        heard = [each for each in memory.heard if self._is_due(each, live, changed)]
        listed = {each.uid: each for each in memory.heard if each.listed}
        self._more = dict.fromkeys(
            uid for uid in listed if uid not in live and (memory.recall or uid in changed)
        )
        self._less = live
        heard += self._moved(changed, live)
        if "Workload" not in memory.listing:
            due = list(islice(self._waiting(), AT_ONCE))
            heard += self._of_the_list(due, listed)
            self._less = live.union(due)
        self._left = any(True for _ in self._waiting())
        if heard:
            found = [self._change(each) for each in heard]
            intervals.note(memory.cluster, found, now, since=memory.since)
        if self._ends:
            rows.noted(memory.cluster, memory.epochs["Workload"])

    def committed(self) -> None:
        """Remember what is left; call it after the commit, before the memory forgets."""
        memory = self.memory
        if self._ends:
            memory.noted_epoch, memory.recall = memory.epochs["Workload"], False
        # In place: a list of 50,000 comes in a hundred windows, and goes in as many.
        for uid in self._less:
            memory.unnoted.pop(uid, None)
        memory.unnoted.update((uid, None) for uid in self._more if uid not in self._less)
        self._more, self._less = {}, set()

    def _waiting(self) -> Iterator[str]:
        """Yield what waits to be noted when this window is written, the longest first."""
        unnoted = self.memory.unnoted
        yield from (uid for uid in unnoted if uid not in self._less)
        yield from (uid for uid in self._more if uid not in self._less and uid not in unnoted)

    @property
    def _ends(self) -> bool:
        """Return whether the history has caught up with the newest list."""
        return self.memory.history_is_behind and not self._left and not self.memory.late

    @staticmethod
    def _is_due(each: Heard, live: set[str], changed: Mapping[str, bool]) -> bool:
        """What a list says is noted before what came after it."""
        return not each.listed or (each.uid in live and each.uid in changed)

    def _moved(self, changed: Mapping[str, bool], live: set[str]) -> Iterator[Heard]:
        """Yield those whose entry came after them or leads elsewhere, and that waited for a list."""
        told = (live, self.memory.unnoted, self._more)
        for uid, moved in changed.items():
            if (moved or uid in self.memory.late) and not any(uid in each for each in told):
                yield self._again(uid)

    def _of_the_list(self, uids: list[str], fresh: Mapping[str, Heard]) -> Iterator[Heard]:
        for uid in uids:
            yield fresh.get(uid) or self._again(uid, listed=True)

    def _again(self, uid: str, *, listed: bool = False) -> Heard:
        records = self.memory.records
        return Heard(uid, records.unpack(records.by_uid[uid]), listed=listed)

    def _change(self, heard: Heard) -> intervals.Change:
        memory = self.memory
        record = memory.records.by_uid.get(heard.uid) or memory.gone.get(heard.uid)
        queue = record.held if record else ""
        if record and not queue:
            entry = memory.known.entry(record.namespace, record.entry)
            queue = entry.queue if entry else ""
        facts = memory.known.queue(queue)
        return intervals.Change(
            uid=heard.uid, workload=heard.item, gone=heard.gone, listed=heard.listed, queue=queue,
            cohort=facts.cohort if facts else "",
            annotations=memory.strays.annotations_of(record.job) if record else {},
        )  # fmt: skip
