"""One observer in a process of its own: from nothing until its workloads are committed.

Prints one line of JSON. Arguments: the kubeconfig, the slug of the cluster.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main(kubeconfig: str, slug: str) -> None:
    import django

    django.setup()
    from django.db import connection

    from kube.client import ClusterClient
    from kube.credentials import read_kubeconfig
    from queues.services.observer import Observer
    from tenants.models import Cluster

    cluster = Cluster.objects.get(slug=slug)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = int(cursor.fetchone()[0])
    gc.collect()
    before = peak()
    with ClusterClient(read_kubeconfig(Path(kubeconfig).read_text())) as client:
        observer = Observer(cluster, client, lease=lambda: True)
        watched = Watched(observer)
        began, used, theirs = time.monotonic(), time.process_time(), cpu(backend)
        watched.meter = lambda: (time.process_time() - used, cpu(backend) - theirs)
        observer.run()
        all_cpu, all_theirs = watched.meter()
        found = {
            "seconds": watched.ended - began,
            "cpu": watched.used[0],
            "database_cpu": watched.used[1],
            "history_seconds": time.monotonic() - watched.ended,
            "history_cpu": all_cpu + all_theirs - sum(watched.used),
            "rows": watched.rows,
            "workloads": len(observer.memory.records),
            "windows": watched.windows,
            "longest_window": watched.longest,
            "peak_mb": peak(),
            "before_mb": before,
        }
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    # Followers may sit in a read for a minute; nobody waits for them.
    os._exit(0)


class Watched:
    """Counts what an observer writes; stops it when the history has its workloads, too.

    ``ended`` is when their rows were committed, ``used`` the CPU until then.
    """

    meter: Callable[[], tuple[float, float]]
    used: tuple[float, float] = (0.0, 0.0)

    def __init__(self, observer: Any) -> None:
        self.observer = observer
        self.write = observer.window.write
        self.rows = self.windows = 0
        self.ended = self.longest = 0.0
        observer.window.write = self.written

    def written(self, **more: Any) -> Any:
        last = "Workload" in self.observer.memory.ended
        began = time.monotonic()
        done = self.write(**more)
        self.rows += done.rows
        self.windows += done.rows > 0
        self.longest = max(self.longest, time.monotonic() - began)
        if last:
            self.ended, self.used = time.monotonic(), self.meter()
        if self.ended and not self.observer.memory.history_is_behind:
            self.observer.stop.set()
        return done


def peak() -> float:
    """Return the largest resident memory so far, in MB.

    ``getrusage`` begins with that of the process that has started this one.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
