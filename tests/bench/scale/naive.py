"""The obvious way: the official client, and ``update_or_create`` for each object.

Prints one line of JSON. Arguments: the kubeconfig, the slug of a cluster, how many workloads.
"""

from __future__ import annotations

import json
import sys
import time

from tests.bench.scale.cold import cpu


def main(kubeconfig: str, slug: str, size: int) -> None:
    import django

    django.setup()
    from django.db import connection
    from kubernetes import client, config

    from queues.models import Workload
    from queues.services.observed import workload_row
    from tenants.models import Cluster

    cluster = Cluster.objects.get(slug=slug)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = int(cursor.fetchone()[0])
    config.load_kube_config(kubeconfig)
    used, theirs = time.process_time(), cpu(backend)
    items = client.CustomObjectsApi().list_cluster_custom_object(
        "kueue.x-k8s.io", "v1beta2", "workloads", limit=size
    )["items"]
    listed = time.process_time() - used
    from django.utils import timezone

    for item in items:
        row = workload_row(item, None, None)
        Workload.objects.update_or_create(
            cluster=cluster, uid=item["metadata"]["uid"],
            defaults={**row, "observed_at": timezone.now()},
        )  # fmt: skip
    found = {
        "listed_cpu": listed,
        "cpu": time.process_time() - used,
        "database_cpu": cpu(backend) - theirs,
        "workloads": len(items),
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
