"""An observer and 50,000 workloads of a real API server: time, work, memory, second pass.

Not part of the ordinary run: ``make bench-scale``. The API server, the client and the database
share one machine, so only ratios are judged; the absolute figures are printed for the record.
GPUPORTAL_SCALE sets another number of workloads.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.db import connection

from queues.models import Workload
from tenants.models import Cluster
from tests import plane
from tests.bench.scale import generator
from tests.stack import ROOT, Stack

pytestmark = [pytest.mark.scale, pytest.mark.django_db(transaction=True)]

SIZE = int(os.environ.get("GPUPORTAL_SCALE", "50000"))
ROUNDS = int(os.environ.get("GPUPORTAL_SCALE_ROUNDS", "3"))
SAMPLE = 1000
EXCHANGE = 1.25  # cold list to committed rows against the bare exchange
WORK = 3.0  # own CPU against decoding and COPY alone
MEMORY = 250  # MB
NAIVE = 25  # CPU of the obvious way against our own


@pytest.fixture(scope="module")
def full():
    shape = generator.Shape(workloads=SIZE, queues=max(10, SIZE // 50))
    seeds = (generator.FORMAT, str(shape))
    with plane.filled(SIZE, lambda each: generator.fill(each, shape), *seeds) as found:
        yield found


class Runs:
    """Runs the programs of this folder, each in a process of its own."""

    def __init__(self, folder: Path, full: plane.Plane, cluster: Cluster) -> None:
        self.stack = Stack(folder)
        self.kubeconfig = str(full.layout.kubeconfig("admin"))
        self.cluster = cluster

    def __call__(self, module: str, *arguments: str) -> dict[str, float]:
        command = [sys.executable, "-m", f"tests.bench.scale.{module}", *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=self.stack.environment(), capture_output=True, text=True,
            check=False, timeout=1800,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return found

    def cold(self) -> dict[str, float]:
        return self("cold", self.kubeconfig, self.cluster.slug)

    def bare(self, *keep: str) -> dict[str, float]:
        return self("bare", self.kubeconfig, *keep)


@pytest.fixture
def runs(full, tmp_path):
    return Runs(tmp_path, full, another())


def another() -> Cluster:
    """Return a cluster that nobody has observed yet; the rows of the one before go."""
    Workload.objects.all().delete()
    number = Cluster.objects.count()
    return Cluster.objects.create(slug=f"scale-{number}", display_name=f"Scale {number}")


def versions() -> int:
    """Return how many rows of the observed tables were written so far."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(
            "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables"
            " WHERE relname IN ('queues_workload', 'queues_observedobject')"
        )
        return int(cursor.fetchone()[0])


@pytest.mark.owner
def test_an_observer_of_a_full_cluster(runs, full, tmp_path, capsys):
    lines = str(tmp_path / "lines")
    runs.bare(lines)
    rounds = []
    for _ in range(ROUNDS):
        runs.cluster = another()
        bare, server = runs.bare(), full.cpu()
        cold = runs.cold()
        rounds.append((bare, cold, full.cpu() - server))
        assert Workload.objects.count() == SIZE
    time.sleep(1)
    before = versions()
    again = runs.cold()
    time.sleep(1)
    written = versions() - before
    screen = first_screen(full)
    limit = runs("limit", lines, runs.cluster.slug)
    naive = runs("naive", runs.kubeconfig, another().slug, str(min(SAMPLE, SIZE)))
    found = report(rounds, again, written, limit, naive, screen)
    with capsys.disabled():
        print("\n" + json.dumps(found, indent=2))  # noqa: T201 - the figures are what this is for
    assert found["second_pass_rows"] == 0
    assert found["peak_mb"] <= MEMORY
    assert found["cpu_ratio"] <= WORK
    assert found["exchange_ratio"] <= EXCHANGE
    assert found["naive_ratio"] >= NAIVE


def first_screen(full: plane.Plane) -> dict[str, float]:
    """Return the seconds to the first page of a queue, and those of kubectl for all workloads."""
    began = time.monotonic()
    rows = Workload.objects.filter(queue="queue-1", state="waiting").order_by("created_at")
    assert len(list(rows[:50])) > 0
    ours = time.monotonic() - began
    began = time.monotonic()
    subprocess.run(
        [full.kubectl, f"--kubeconfig={full.layout.kubeconfig('admin')}", "get", "workloads", "-A"],
        stdout=subprocess.DEVNULL, check=True, timeout=600,
    )  # fmt: skip
    return {"ours": ours, "kubectl": time.monotonic() - began}


def report(rounds, again, written, limit, naive, screen) -> dict[str, object]:
    own = [cold["cpu"] + cold["database_cpu"] - bare["cpu"] for bare, cold, _ in rounds]
    least = limit["cpu"] + limit["database_cpu"]
    each = (naive["cpu"] + naive["database_cpu"]) / naive["workloads"]
    ratios = [cold["seconds"] / bare["seconds"] for bare, cold, _ in rounds]
    return {
        "workloads": SIZE,
        "bytes": rounds[0][0]["bytes"],
        "bare_seconds": [round(bare["seconds"], 2) for bare, _, _ in rounds],
        "cold_seconds": [round(cold["seconds"], 2) for _, cold, _ in rounds],
        "exchange_ratio": round(statistics.median(ratios), 2),
        "server_cpu": [round(used, 1) for _, _, used in rounds],
        "own_cpu": [round(each, 2) for each in own],
        "history_seconds": [round(cold["history_seconds"], 2) for _, cold, _ in rounds],
        "history_cpu": [round(cold["history_cpu"], 2) for _, cold, _ in rounds],
        "database_part": [round(cold["database_cpu"], 2) for _, cold, _ in rounds],
        "limit": limit,
        "cpu_ratio": round(statistics.median(own) / least, 2),
        "peak_mb": round(max(cold["peak_mb"] for _, cold, _ in rounds)),
        "imports_mb": round(rounds[0][1]["before_mb"]),
        "longest_window": round(max(cold["longest_window"] for _, cold, _ in rounds), 2),
        "second_pass": again,
        "second_pass_rows": written,
        "naive": naive,
        "naive_ratio": round(each / (statistics.median(own) / SIZE), 1),
        "screen": screen,
        "load": os.getloadavg()[0],
    }
