"""A cluster that is watched through some hours of the past, without a cluster: a clock to turn."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from queues.services import observed_rows as rows
from tests.queues.clusterside import Side, condition

GPU = "nvidia.com/gpu"
LABELS = {"gpu-lab.io/model": "a100"}
KINDS = ("ClusterQueue", "Cohort", "ResourceFlavor", "Node", "Workload", "Pod")
Object = dict[str, Any]
#: A whole hour, long enough ago for everything that follows to be over.
HOUR = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=12)


def after(minutes: float = 0, seconds: float = 0) -> datetime:
    """Return a time so long after the hour in which the story begins."""
    return HOUR + timedelta(minutes=minutes, seconds=seconds)


def quota(nominal: int, lending: int | None = None) -> list[Object]:
    line: Object = {"name": GPU, "nominalQuota": str(nominal)}
    if lending is not None:
        line["lendingLimit"] = str(lending)
    return [{"coveredResources": [GPU], "flavors": [{"name": "a100", "resources": [line]}]}]


class Watched:
    """What the observer hears, at the times that the test says."""

    def __init__(self, cluster: Any, monkeypatch: Any) -> None:
        self.cluster, self.version = cluster, 1
        self.now = after(-30)
        monkeypatch.setattr("django.utils.timezone.now", lambda: self.now)
        self.side = Side(cluster)

    def meta(self, name: str, **more: Any) -> Object:
        self.version += 1
        return {
            "name": name, "uid": f"uid-{name}", "resourceVersion": str(self.version),
            "creationTimestamp": stamp(after(-60)), **more,
        }  # fmt: skip

    def queue(self, name: str, nominal: int, cohort: str = "research", **limits: Any) -> Object:
        spec = {"cohortName": cohort, "resourceGroups": quota(nominal, **limits)}
        return {"metadata": self.meta(name), "spec": spec}

    def cohort(self, name: str, nominal: int, parent: str = "") -> Object:
        spec = {"parentName": parent, "resourceGroups": quota(nominal)}
        return {"metadata": self.meta(name), "spec": spec}

    def flavor(self) -> Object:
        return {"metadata": self.meta("a100"), "spec": {"nodeLabels": LABELS}}

    def node(self, name: str, *, ready: bool = True, unschedulable: bool = False) -> Object:
        status = {
            "allocatable": {GPU: "8"},
            "conditions": [condition("Ready", str(ready), "Kubelet")],
        }
        meta = self.meta(name, labels=LABELS)
        return {"metadata": meta, "spec": {"unschedulable": unschedulable}, "status": status}

    def job(self, name: str, queue: str, devices: int, *flips: tuple[str, str, datetime]) -> Object:
        """Return a Workload whose conditions flipped like this: type, status, when."""
        conditions = [condition(kind, to, "Because", at=stamp(at)) for kind, to, at in flips]
        assignment = {
            "name": "main", "count": 1, "flavors": {GPU: "a100"},
            "resourceUsage": {GPU: str(devices)},
        }  # fmt: skip
        status: Object = {"conditions": conditions}
        if ("QuotaReserved", "True") in {(kind, to) for kind, to, _ in flips}:
            status["admission"] = {"clusterQueue": queue, "podSetAssignments": [assignment]}
        return {
            "metadata": self.meta(name, namespace="nlp", creationTimestamp=stamp(after(-20))),
            "spec": {"queueName": "main", "podSets": []},
            "status": status,
        }

    def pod(
        self, name: str, devices: int, started: datetime, *, of: str = "", node: str = "n0",
        asked: datetime | None = None, namespace: str = "nlp",
    ) -> Object:  # fmt: skip
        """Return a pod that runs; ``of`` names its Workload, ``asked`` is when it was to end."""
        more: Object = {"annotations": {"kueue.x-k8s.io/workload": of}} if of else {}
        if asked:
            deadline = {"deletionTimestamp": stamp(asked + timedelta(seconds=30))}
            more |= deadline | {"deletionGracePeriodSeconds": 30}
        state = {"running": {"startedAt": stamp(started)}}
        return {
            "metadata": self.meta(name, namespace=namespace, **more),
            "spec": {
                "nodeName": node,
                "containers": [{"resources": {"requests": {GPU: str(devices)}}}],
            },
            "status": {"phase": "Running", "containerStatuses": [{"name": "c", "state": state}]},
        }

    def begin(self, at: datetime, **items: list[Object]) -> None:
        """Read the first lists; the kinds that are not named are empty."""
        self.now = at
        self.side.listed(**{kind: items.get(kind, []) for kind in KINDS})

    def tell(self, at: datetime, kind: str, *items: Object, change: str = "MODIFIED") -> None:
        """Hear of a change on a line that was alive a moment before."""
        self.alive(at)
        self.side.tell(kind, *items, change=change)
        self.side.write()

    def alive(self, at: datetime) -> None:
        """Write a sign of life, as it comes every few seconds: no gap before it."""
        from queues.models import Stream

        self.now = at
        Stream.objects.filter(cluster=self.cluster).update(alive_at=at, lost_since=None)
        rows.alive(self.cluster, KINDS)


def stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
