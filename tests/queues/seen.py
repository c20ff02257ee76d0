"""Rows as an observer leaves them: small builders for tests about pages and sentences."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from queues.models import ObservedObject, Stream, Workload
from tests.cast import GIB

KINDS = ("ClusterQueue", "Cohort", "LocalQueue", "Node", "ResourceFlavor", "Workload")


def workload(cluster: Any, job: str, /, **more: Any) -> Workload:
    """One job of the language team that waits for eight devices."""
    now = timezone.now()
    values = {
        "uid": f"uid-{more.get('namespace', 'nlp')}-{job}", "namespace": "nlp",
        "name": f"job-{job}-0a1b2", "job_kind": "Job", "job_name": job, "entry": "main",
        "queue": "nlp-train", "priority": 1000, "devices": 8, "state": "waiting",
        "stage": "quota", "code": "quota_short", "since": now - timedelta(minutes=41),
        "params": {"resource": "nvidia.com/gpu", "flavor": "a100", "missing": "8"},
        "raw": "insufficient unused quota for nvidia.com/gpu in flavor a100, 8 more needed",
        "created_at": now - timedelta(minutes=42), "observed_at": now, "resource_version": "1",
    }  # fmt: skip
    values |= more
    if values["state"] == "waiting":
        values = {"turn": "tried", "queued_at": values["created_at"]} | values
    return Workload.objects.create(cluster=cluster, **values)


def running(cluster: Any, job: str, /, **more: Any) -> Workload:
    """One job that holds eight devices."""
    held = [{"flavor": "a100", "resource": "nvidia.com/gpu", "amount": 8}]
    facts = {
        "state": "running",
        "stage": "",
        "code": "running",
        "params": {},
        "raw": "",
        "held": held,
    }
    return workload(cluster, job, **(facts | more))


def observed(
    cluster: Any, kind: str, name: str, body: dict[str, Any], **more: Any
) -> ObservedObject:
    now = timezone.now()
    values = {
        "uid": f"uid-{kind}-{name}", "resource_version": "1", "in_sync": True,
        "sync_since": now - timedelta(hours=1), "observed_at": now,
    }  # fmt: skip
    return ObservedObject.objects.create(
        cluster=cluster, kind=kind, name=name, body=body, **(values | more)
    )


def queue_body(nominal: int, held: int, parent: str = "research", **limits: Any) -> dict[str, Any]:
    """A ClusterQueue with one flavor; ``limits`` are those of its devices."""
    amounts = {
        "cpu": (f"{8 * nominal}", f"{8 * held}"),
        "memory": (f"{64 * nominal}Gi", f"{64 * held}Gi"),
    }
    amounts["nvidia.com/gpu"] = (str(nominal), str(held))
    quota = [{"name": name, "nominalQuota": each[0]} for name, each in amounts.items()]
    quota[-1].update({key: str(value) for key, value in limits.items()})
    used = [{"name": name, "total": each[1]} for name, each in amounts.items()]
    return {
        "spec": {
            "cohortName": parent,
            "resourceGroups": [{"flavors": [{"name": "a100", "resources": quota}]}],
        },
        "status": {
            "flavorsReservation": [{"name": "a100", "resources": used}],
            "conditions": [{"type": "Active", "status": "True", "message": ""}],
        },
    }


def node(cluster: Any, name: str, devices: int = 8, *, ready: bool = True) -> ObservedObject:
    body = {
        "labels": {"gpu-lab.io/model": "a100"}, "ready": ready, "unschedulable": False,
        "allocatable": {"nvidia.com/gpu": str(devices), "memory": f"{64 * devices * GIB}"},
    }  # fmt: skip
    return observed(cluster, "Node", name, body, in_sync=None)


def streams(cluster: Any, seconds: int = 1, **more: Any) -> None:
    """Every line was heard of that many seconds ago."""
    at = timezone.now() - timedelta(seconds=seconds)
    for kind in KINDS:
        Stream.objects.create(cluster=cluster, kind=kind, listed_at=at, alive_at=at, **more)


def lab(cluster: Any) -> None:
    """The usual day: the language team borrows 8 of 16, the vision team holds 8 of 8."""
    observed(cluster, "Cohort", "research", {"spec": {}})
    observed(cluster, "ClusterQueue", "nlp-train", queue_body(16, 24))
    observed(cluster, "ClusterQueue", "cv-train", queue_body(8, 8))
    for number in range(4):
        node(cluster, f"gpu-{number}")
    streams(cluster)
