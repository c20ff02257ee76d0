"""How the pods of a cluster have their devices, as last heard, and what of it was not written yet.

Every event of every pod comes by here, so what changes nothing costs two look-ups.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from kube import pod_life
from kube.lenient import text
from kube.pod_life import Kind
from queues.models import PodRun
from queues.services.observed import Object
from tenants.models import Cluster


class Heard(NamedTuple):
    """One change of a pod; without ``item`` it went unseen. ``devices`` by resource."""

    uid: str
    item: Object | None
    gone: bool
    devices: Mapping[str, int]


def on_record(cluster: Cluster) -> dict[str, Kind]:
    """Return how pods have their devices by what is on record; one query."""
    found = PodRun.objects.filter(cluster=cluster).values_list("uid", "kind")
    return {uid: Kind(kind) for uid, kind in found}


class PodTimes:
    """The pods that have devices, by uid, and what was heard of them since the last window."""

    def __init__(self) -> None:
        """Know no pod."""
        self.kinds: dict[str, Kind] = {}
        self.heard: list[Heard] = []

    def load(self, kinds: Mapping[str, Kind]) -> None:
        """Take what is on record; what was heard since then counts more."""
        self.kinds = {**kinds, **self.kinds}

    def take(self, change: str, item: Object, devices: Mapping[str, int] | None) -> None:
        """Take a change of a pod in; ``devices`` are what it takes of its node, if anything."""
        gone = change == "DELETED"
        uid, now = text(item, "metadata", "uid"), None if gone else pod_life.kind_of(item)
        before = self.kinds.get(uid)
        if now is before or (before is None and not devices):
            return
        if now is None:
            del self.kinds[uid]
        else:
            self.kinds[uid] = now
        self.heard.append(Heard(uid, item, gone, devices or {}))

    def keep(self, known: Container[str]) -> None:
        """Note that the pods that a whole list did not hold have gone."""
        for uid in [uid for uid in self.kinds if uid not in known]:
            del self.kinds[uid]
            self.heard.append(Heard(uid, None, True, {}))
