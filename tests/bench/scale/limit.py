"""The least that writing these workloads costs: decode them, COPY their rows. No more.

Prints one line of JSON. Arguments: a file with the lines of a streamed list, the cluster's slug;
the rows are those that an observer has written before. They are removed and written again.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path

from tests.bench.scale.cold import cpu

PART = 2000


def main(lines: str, slug: str) -> None:
    import django

    django.setup()
    from django.db import connection, transaction

    from kube.wire import Reader
    from queues.models import Workload
    from queues.services.following import WORKLOADS
    from queues.services.merge import merge
    from queues.services.observed import encoded
    from queues.services.observed_rows import WORKLOADS as TABLE
    from tenants.models import Cluster

    cluster = Cluster.objects.get(slug=slug)
    rows = Workload.objects.filter(cluster=cluster)
    held = [tuple(encoded(row)) for row in rows.values_list(*TABLE.columns)]
    rows.delete()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = int(cursor.fetchone()[0])
    data = [
        line for line in Path(lines).read_bytes().split(b"\n") if line.startswith(b'{"type":"A')
    ]
    reader = Reader(WORKLOADS[0])
    gc.collect()
    gc.freeze()
    used, theirs, began = time.process_time(), cpu(backend), time.monotonic()
    for start in range(0, len(data), PART):
        for _ in reader.lines(data[start : start + PART]):
            pass
    decoded = time.process_time() - used
    for start in range(0, len(held), PART):
        with transaction.atomic():
            merge(TABLE, held[start : start + PART])
    found = {
        "seconds": time.monotonic() - began,
        "decode_cpu": decoded,
        "cpu": time.process_time() - used,
        "database_cpu": cpu(backend) - theirs,
        "lines": len(data),
        "rows": len(held),
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
