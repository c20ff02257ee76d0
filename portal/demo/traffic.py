"""Two teams at work: jobs that run, borrow, wait and are preempted, without end.

Usage: ``python -m portal.demo.traffic INSTANCE_FOLDER``. Only jobs that carry the label of this
program are ever deleted.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cluster import Cluster
from cluster.api import Api, ApiError
from cluster.jobs import JobSpec

LABEL = "gpuportal.io/demo"
TURN = 5.0  # seconds
KEEP_FINISHED = 6

NLP = {"namespace": "nlp", "queue": "nlp-gpu", "labels": {LABEL: "traffic"}}
CV = {"namespace": "cv", "queue": "cv-gpu", "labels": {LABEL: "traffic"}}


def numbers(prefix: str, taken: set[str]) -> Iterator[str]:
    """Yield names that are not taken."""
    return (f"{prefix}-{n}" for n in itertools.count(1) if f"{prefix}-{n}" not in taken)


def jobs(api: Api, namespace: str) -> list[dict[str, Any]]:
    """Return this program's jobs in a namespace, oldest first."""
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs?labelSelector={LABEL}%3Dtraffic"
    found = api.get(path).get("items", [])
    return sorted(found, key=lambda job: str(job["metadata"]["creationTimestamp"]))


def is_over(job: dict[str, Any]) -> bool:
    """Return whether a job has come to its end."""
    conditions = job.get("status", {}).get("conditions", [])
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)


def tidy(api: Api, namespace: str) -> list[dict[str, Any]]:
    """Delete all but the newest finished jobs and return those that are not finished."""
    found = jobs(api, namespace)
    over = [job for job in found if is_over(job)]
    for job in over[:-KEEP_FINISHED]:
        name = job["metadata"]["name"]
        path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
        with contextlib.suppress(ApiError):
            api.request("DELETE", path, {"propagationPolicy": "Background"})
    return [job for job in found if not is_over(job)]


class Traffic:
    """Decides each turn which jobs to send; the clock counts turns."""

    def __init__(self, cluster: Cluster) -> None:
        """Take up the names where an earlier run left off."""
        self.cluster = cluster
        self.turn = 0
        taken = {j["metadata"]["name"] for ns in ("nlp", "cv") for j in jobs(cluster.api, ns)}
        self.names = {
            prefix: numbers(prefix, taken)
            for prefix in ("train-bert", "finetune", "boss-report", "detect", "segment")
        }

    def step(self) -> None:
        """Send what is due this turn."""
        nlp = tidy(self.cluster.api, "nlp")
        cv = tidy(self.cluster.api, "cv")
        normal = [j for j in nlp if not j["metadata"]["name"].startswith("boss")]
        if len(normal) < 5 and self.turn % 2 == 0:
            self._send("train-bert", NLP, gpus=8, seconds=150)
        if self.turn % 9 == 4 and len(normal) < 7:
            self._send("finetune", NLP, gpus=4, seconds=70)
        if self.turn % 30 == 20 and len(nlp) == len(normal):
            self._send("boss-report", NLP, gpus=8, seconds=45, priority="boss-urgent")
        if self.turn % 18 == 10 and len(cv) < 2:
            self._send("detect", CV, gpus=8, seconds=60)
        if self.turn % 25 == 3 and len(cv) < 3:
            self._send("segment", CV, gpus=2, seconds=40)
        self.turn += 1

    def _send(
        self, prefix: str, where: dict[str, Any], *, gpus: int, seconds: float,
        priority: str = "normal-batch",
    ) -> None:  # fmt: skip
        spec = JobSpec(
            name=next(self.names[prefix]), gpus=gpus, seconds=seconds, priority=priority, **where
        )
        with contextlib.suppress(ApiError):  # the queue or the cluster may be on its way
            self.cluster.submit(spec)


def main(folder: str) -> None:
    """Send jobs until killed."""
    cluster = Cluster(Path(folder))
    traffic: Traffic | None = None
    while True:
        try:
            traffic = traffic or Traffic(cluster)
            traffic.step()
        except (OSError, ApiError):
            cluster.api.close()
        time.sleep(TURN)


if __name__ == "__main__":
    main(sys.argv[1])
