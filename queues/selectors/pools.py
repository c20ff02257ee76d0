"""What may still be promised of a cluster's devices: all that there are, less every promise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.db.models import BigIntegerField, JSONField, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.functions import JSONObject

from queues.selectors.room import Key, amount
from tenants.models import Pool

# Of the machines that a flavor names and that take pods: how many offer each amount. NULL where
# nothing tells, as for a flavor without labels.
_MACHINES: Final = """(
    SELECT coalesce(jsonb_object_agg(offers.amount, offers.machines), '{}') FROM (
        SELECT n.body #>> ARRAY['allocatable', tenants_pool.resource] AS amount,
               count(*) AS machines
        FROM queues_observedobject n
        WHERE n.cluster_id = tenants_pool.cluster_id AND n.kind = 'Node'
            AND n.body -> 'labels' @> (tenants_pool.spec -> 'node_labels')
            AND n.body -> 'ready' = 'true' AND n.body -> 'unschedulable' IS DISTINCT FROM 'true'
        GROUP BY 1
    ) offers WHERE offers.amount IS NOT NULL
    HAVING tenants_pool.capacity IS NULL
        AND coalesce(tenants_pool.spec -> 'node_labels', '{}') NOT IN ('{}', '[]', 'null')
        AND EXISTS (SELECT FROM queues_observedobject n
            WHERE n.cluster_id = tenants_pool.cluster_id AND n.kind = 'Node')
)"""
_PROMISED: Final = """(
    SELECT coalesce(sum(promises.nominal), 0) FROM (
        SELECT l.nominal FROM tenants_quotaline l JOIN tenants_queue q ON q.id = l.queue_id
        WHERE q.cluster_id = tenants_pool.cluster_id
            AND l.flavor = tenants_pool.flavor AND l.resource = tenants_pool.resource
        UNION ALL
        SELECT (line ->> 'nominal')::bigint FROM tenants_department d,
            jsonb_array_elements(coalesce(d.spec -> 'quotas', '[]')) line
        WHERE d.cluster_id = tenants_pool.cluster_id
            AND line ->> 'flavor' = tenants_pool.flavor
            AND line ->> 'resource' = tenants_pool.resource
    ) promises
)"""


def pool_rows(cluster_id: int) -> QuerySet[Any]:
    """Give the pools of a cluster as a part of a query; ``left`` reads it."""
    rows = Pool.objects.filter(cluster_id=cluster_id).exclude(resource="").order_by()
    facts = JSONObject(
        flavor="flavor", resource="resource", capacity="capacity",
        # Constant texts.
        machines=RawSQL(_MACHINES, (), output_field=JSONField()),  # noqa: S611
        promised=RawSQL(_PROMISED, (), output_field=BigIntegerField()),  # noqa: S611
    )  # fmt: skip
    return rows.values(json=facts)


def left(rows: Iterable[Mapping[str, Any]]) -> dict[Key, int]:
    """Give what may still be promised, by flavor and resource, where that is known.

    Below zero when too much is promised.
    """
    found: dict[Key, int] = {}
    for row in rows:
        size = _size(row)
        if size is not None:
            found[row["flavor"], row["resource"]] = size - int(row["promised"])
    return found


def _size(row: Mapping[str, Any]) -> int | None:
    if row["capacity"] is not None:
        return int(row["capacity"])
    machines: Mapping[str, int] | None = row["machines"]
    if machines is None:
        return None
    return sum(amount(row["resource"], text) * number for text, number in machines.items())
