"""Positions of 40,000 pending workloads: one statement, against a count for each workload."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from django.db import connection
from django.utils import timezone

from kube.queue_settings import QueueSettings
from queues.models import Workload
from queues.services import placing
from tests import cast
from tests.queues import seen

PENDING, QUEUES, SAMPLE = 40_000, 12, 100
GOAL = 25.0
KUEUE = QueueSettings()
NAMES = [f"q-{number}" for number in range(QUEUES)]
OTHER = {
    "uid": "md5(i::text)",
    "namespace": "'ns-' || (i %% 50)",
    "name": "'job-' || i",
    "queue": f"'q-' || (i %% {QUEUES})",
    "priority": "(ARRAY[1, 10, 100, 1000, 5000, 9000])[1 + (i * 7919) %% 6]",
    "queued_at": "date_trunc('second', now()) - (i * 7907 %% 86400) * interval '1 s'",
    "turn": "'tried'",
}
#: What a portal would do without thinking: for each job, count those before it.
NAIVE = """
SELECT count(*) FROM queues_workload w, queues_workload me
WHERE me.id = %s AND w.cluster_id = me.cluster_id AND w.queue = me.queue AND w.turn > ''
  AND (-w.priority, w.queued_at, w.uid) <= (-me.priority, me.queued_at, me.uid)
"""


def fill(cluster):
    """Copy one job 40,000 times, in six priorities and twelve queues."""
    one = seen.workload(cluster, "template", queue="none", turn="")
    columns = [each.column for each in Workload._meta.concrete_fields if not each.primary_key]
    values = ", ".join(OTHER.get(name, f"t.{name}") for name in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO queues_workload ({', '.join(columns)}) SELECT {values} "  # noqa: S608 - no value from outside
            f"FROM queues_workload t, generate_series(1, {PENDING}) i WHERE t.id = %s",
            [one.pk],
        )
        cursor.execute("ANALYZE queues_workload")
    for name in NAMES:
        seen.observed(cluster, "ClusterQueue", name, {"spec": {"queueingStrategy": "StrictFIFO"}})


def timed(work: Callable[[], object]) -> tuple[float, object]:
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def naive() -> None:
    keys = Workload.objects.filter(turn__gt="").order_by("uid").values_list("pk", flat=True)
    with connection.cursor() as cursor:
        for key in keys[:SAMPLE]:
            cursor.execute(NAIVE, [key])
            cursor.fetchone()


@pytest.mark.bench
@pytest.mark.django_db
@pytest.mark.owner
def test_positions_of_many_workloads(capsys):
    lab = cast.make()
    fill(lab.cluster)

    def place() -> int:
        lines = placing.read(lab.cluster, NAMES, KUEUE)
        placed = placing.place(lab.cluster, lines, timezone.now(), far=NAMES)
        return sum(each.moved for each in placed.values())

    passes = []
    while (found := timed(place))[1]:
        passes.append(found)
    assert sum(moved for _, moved in passes) == PENDING
    first, quiet = sum(seconds for seconds, _ in passes), found[0]
    Workload.objects.filter(queue="q-0", position=1).update(turn="", state="running")
    left, moved = timed(place)
    slow = timed(naive)[0] / SAMPLE * PENDING
    with capsys.disabled():
        print(  # noqa: T201 - the figure is what this is for
            f"\npositions of {PENDING} workloads in {QUEUES} queues: first {first:.2f} s in "
            f"{len(passes)} statements, nothing moved {quiet * 1000:.0f} ms, the first of a "
            f"queue left {left * 1000:.0f} ms ({moved} moved); a count for each workload "
            f"{slow:.0f} s, ratio {slow / quiet:.0f} (goal {GOAL:.0f} or more)"
        )
    assert slow / quiet >= GOAL
