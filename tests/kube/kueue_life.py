"""A small Kueue that knows one Workload: it writes conditions as the real one does, and the truth.

Conditions keep only their last flip, in whole seconds; an eviction wipes the admission; the
counters of evictions and of seconds admitted in earlier attempts are kept.
"""

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
PREEMPTED = (
    "Preempted to accommodate a workload (UID: u-{n}, JobUID: j-{n}) due to prioritization in "
    "the ClusterQueue; preemptor path: /lab/other; preemptee path: /lab/nlp-train"
)
GPU = "nvidia.com/gpu"
GPUS = 8
PODS = 8


def text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Life:
    """A Workload from its creation on; every method is what Kueue or a person does with it."""

    def __init__(self) -> None:
        self.now = START
        self.version = 1
        self.truth: list[tuple[str, datetime, datetime | None, int]] = []
        self.evictions = 0
        self.body: dict[str, Any] = {
            "metadata": {
                "name": "job-a", "namespace": "nlp", "uid": "uid-a", "resourceVersion": "1",
                "creationTimestamp": text(START),
                "ownerReferences": [{"kind": "Job", "name": "a", "uid": "j-a", "controller": True}],
            },
            "spec": {"active": True, "queueName": "main", "priority": 10, "podSets": [_pods()]},
            "status": {},
        }  # fmt: skip
        self._enter("queued")

    # -- what happens ----------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        self.now += timedelta(milliseconds=round(seconds * 1000))

    def look_at_it(self) -> None:
        """The scheduler finds no room."""
        if not self.holds and not self.finished:
            self._set("QuotaReserved", "False", "Pending", f"{self.version} more needed")

    def reserve(self) -> None:
        if self.holds or self.finished or not self.active:
            return
        flavors, usage = {GPU: "a100"}, {GPU: str(GPUS)}
        found = {"name": "main", "count": PODS, "flavors": flavors, "resourceUsage": usage}
        self.status["admission"] = {"clusterQueue": "nlp-train", "podSetAssignments": [found]}
        self._set("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue x")
        for name in ("Evicted", "Preempted"):
            before = self._find(name)
            if before and before["status"] == "True":
                self._set(name, "False", "QuotaReserved", "Previously: " + before["message"])
        self._enter("reserved", GPUS)

    def admit(self) -> None:
        if self.holds and not self.evicted and self._find("Admitted", "True") is None:
            self._set("Admitted", "True", "Admitted", "The workload is admitted")
            self._enter("admitted", self.gpus)

    def evict(self, reason: str = "Preempted") -> None:
        if not self.holds or self.evicted or self.finished:
            return
        self._count(reason)
        message = PREEMPTED.format(n=self.evictions) if reason == "Preempted" else f"gone: {reason}"
        self._set("Evicted", "True", reason, message)
        if reason == "Preempted":
            self._set("Preempted", "True", "InClusterQueue", message)
        self._enter("draining", self.gpus)

    def release(self) -> None:
        """The pods are gone: the quota is free."""
        if not (self.holds and self.evicted) or self.finished:
            return
        evicted = self._find("Evicted")
        self.status.pop("admission")
        self.status.pop("reclaimablePods", None)
        admitted = self._find("Admitted", "True")
        if admitted:
            since = datetime.fromisoformat(admitted["lastTransitionTime"])
            ran = int((self.now - since).total_seconds())
            past = self.status.get("accumulatedPastExecutionTimeSeconds", 0)
            self.status["accumulatedPastExecutionTimeSeconds"] = past + ran
            self._set("Admitted", "False", "NoReservation", "The workload has no reservation")
        self._set("QuotaReserved", "False", "Pending", evicted["message"])
        off = evicted["reason"] == "Deactivated"
        self._set("Requeued", "False" if off else "True", evicted["reason"], evicted["message"])
        self._enter("deactivated" if off else "evicted")

    def switch_off(self) -> None:
        if self.finished or not self.active or self.evicted:
            return
        self.body["spec"]["active"] = False
        self._count("Deactivated")
        self._set("Evicted", "True", "Deactivated", "The workload is deactivated")
        if self.holds:
            self._enter("draining", self.gpus)
        else:
            self._set("Requeued", "False", "Deactivated", "The workload is deactivated")
            self._enter("deactivated")

    def switch_on(self) -> None:
        if self.finished or self.active or self.holds:
            return
        self.body["spec"]["active"] = True
        self._set("Requeued", "True", "Reactivated", "The workload was reactivated")
        self._enter("queued")

    def reclaim(self) -> None:
        """One more pod is done."""
        if self._find("Admitted", "True") and not self.finished and self.gpus > 1:
            done = PODS - self.gpus + 1
            self.status["reclaimablePods"] = [{"name": "main", "count": done}]
            self._enter(self.truth[-1][0], self.gpus)

    def finish(self) -> None:
        if self.finished or not self.active or (self.holds and not self._find("Admitted", "True")):
            return
        self._set("Finished", "True", "Succeeded", "Job finished successfully")
        self._enter("")

    # -- what stands there -----------------------------------------------------------------

    @property
    def status(self) -> dict[str, Any]:
        return self.body["status"]

    @property
    def holds(self) -> bool:
        return "admission" in self.status and not self.finished

    @property
    def active(self) -> bool:
        return self.body["spec"]["active"]

    @property
    def evicted(self) -> bool:
        return self._find("Evicted", "True") is not None

    @property
    def finished(self) -> bool:
        return self._find("Finished", "True") is not None

    @property
    def gpus(self) -> int:
        """Return what counts as held: nothing of what is switched off, whatever still runs."""
        if not self.active:
            return 0
        return GPUS - sum(each["count"] for each in self.status.get("reclaimablePods", ()))

    def look(self) -> dict[str, Any]:
        self.body["metadata"]["resourceVersion"] = str(self.version)
        return copy.deepcopy(self.body)

    def lived(self) -> list[tuple[str, datetime, datetime | None, int]]:
        """Return phase, start, end and GPUs of everything that lasted, in whole seconds."""
        return [each for each in self.truth if each[0] and each[1] != each[2]]

    def _find(self, name: str, status: str = "") -> dict[str, Any] | None:
        for each in self.status.get("conditions", ()):
            if each["type"] == name and status in ("", each["status"]):
                return each
        return None

    def _set(self, name: str, status: str, reason: str, message: str) -> None:
        """Set a condition: its time moves only when its status flips."""
        self.version += 1
        found = self._find(name)
        if found is None:
            found = {"type": name, "status": ""}
            self.status.setdefault("conditions", []).append(found)
        if found["status"] != status:
            found["lastTransitionTime"] = text(self.now)
        found |= {"status": status, "reason": reason, "message": message}

    def _count(self, reason: str) -> None:
        self.evictions += 1
        found = self.status.setdefault("schedulingStats", {}).setdefault("evictions", [])
        for each in found:
            if each["reason"] == reason:
                each["count"] += 1
                return
        found.append({"reason": reason, "underlyingCause": "", "count": 1})

    def _enter(self, phase: str, gpus: int = 0) -> None:
        self.version += 1
        now = self.now.replace(microsecond=0)
        if self.truth:
            name, start, _, before = self.truth[-1]
            self.truth[-1] = (name, start, now, before)
        self.truth.append((phase, now, None, gpus))


def _pods() -> dict[str, Any]:
    requests = {"requests": {GPU: "1"}}
    return {
        "name": "main",
        "count": PODS,
        "template": {"spec": {"containers": [{"name": "c", "resources": requests}]}},
    }
