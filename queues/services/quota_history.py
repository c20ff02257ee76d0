"""Hands on to the history how quotas and nodes stand, in the window that writes their rows.

Counters and heartbeats change an object all the time; only what the ledger counts with is noted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from kube.lenient import Object, mapping, moment, text, whole
from kube.node_devices import Flavor, devices, flipped_at, machines, read_flavor, state
from kube.queue_facts import Line, Quota, read_quotas
from queues.models import QuotaChange
from queues.services import noted
from queues.services.memory import Memory
from queues.services.noted import NODE, NONE, Key, Look, Said
from queues.services.observed import digest

QUEUE: Final = str(QuotaChange.Kind.QUEUE)
COHORT: Final = str(QuotaChange.Kind.COHORT)
FLAVOR: Final = "ResourceFlavor"


class QuotaHistory:
    """What of a memory the histories of quotas and nodes have not noted yet."""

    def __init__(self, memory: Memory) -> None:
        """Take what is heard."""
        self.memory = memory
        self._fresh: dict[Key, int] = {}

    def write(self, now: datetime) -> int:
        """Note what is new, inside the transaction of the window; returns how many rows.

        Call :meth:`committed` afterwards. Without news this asks the database nothing.
        """
        memory = self.memory
        said = {
            key: each
            for key, each in self._said()
            if (each.digest if each else NONE) != memory.noted.get(key, NONE)
        }
        self._fresh = {key: each.digest if each else NONE for key, each in said.items()}
        lists = frozenset({*memory.listing, *memory.ended})
        return noted.append(memory.cluster, said, Look(now, memory.epochs, lists))

    def committed(self) -> None:
        """Remember what is on record now; call it after the commit."""
        self.memory.noted.update(self._fresh)
        self._fresh = {}

    def _said(self) -> Iterator[tuple[Key, Said | None]]:
        known = self.memory.known
        for kind in (QUEUE, COHORT):
            for name in self._names(kind):
                item = known.find(kind, name)
                yield (kind, name), _quota(kind, item) if item is not None else None
        if not self._flavors_are_known:
            return
        names = self._nodes()
        flavors = [read_flavor(each) for each in known.objects[FLAVOR].values()] if names else []
        for name in names:
            item = known.find(NODE, name)
            yield (NODE, name), _node(item, flavors) if item is not None else None

    def _names(self, kind: str) -> set[str]:
        """Return the objects of a kind that came or went, and after a list all on record."""
        known = self.memory.known
        found = {name for of, _, name in (*known.dirty, *known.gone) if of == kind}
        if kind in self.memory.ended:
            found |= {name for of, name in self.memory.noted if of == kind}
        return found

    def _nodes(self) -> set[str]:
        """Return the nodes to look at: all of them when a flavor may have another form now."""
        found = self._names(NODE)
        if self._names(FLAVOR) or FLAVOR in self.memory.ended:
            found |= {name for _, name in self.memory.known.objects[NODE]}
        return found

    @property
    def _flavors_are_known(self) -> bool:
        """Return whether all flavors are read: before, a node would be of none."""
        return FLAVOR in self.memory.epochs and FLAVOR not in self.memory.listing


def _quota(kind: str, item: Object) -> Said:
    # v1beta1 called the fields ``cohort`` and ``parent``.
    first, second = ("cohortName", "cohort") if kind == QUEUE else ("parentName", "parent")
    parent = (text(item, "spec", first) or text(item, "spec", second))[:253]
    lines = [_line(*each) for each in sorted(read_quotas(item).items())]
    meta = mapping(item, "metadata")
    # A generation rises with the specification: the first one has stood since the creation.
    first_form = whole(meta.get("generation")) == 1
    made = moment(meta.get("creationTimestamp")) if first_form else None
    return Said(digest((parent, lines)), (parent, lines), made)


def _line(line: Line, quota: Quota) -> dict[str, Any]:
    flavor, resource = line
    return {
        "flavor": flavor, "resource": resource, "nominal": quota.nominal,
        "borrowing_limit": quota.borrowing, "lending_limit": quota.lending,
    }  # fmt: skip


def _node(item: Object, flavors: list[Flavor]) -> Said:
    now, found = state(item), [each._asdict() for each in devices(item, flavors)]
    own = (str(now), found, machines(item))
    # A node without devices is of no interest, whatever its state: as good as none. One without
    # names has the number that it had when names were not noted yet.
    number = digest(own if own[2] else own[:2]) if found else NONE
    return Said(number, own, flipped=flipped_at(item))
