"""A month of one large cluster, made by the database itself: intervals, and the hours of them.

Every Workload has its own line of phases that do not overlap, as the observer writes them. A
quota that is larger than what is ever held keeps borrowing out, so that the facts of an hour are
plain sums which one statement can make; the bench proves on some hours that the product's own
count says the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.utils import timezone

from costs.models import Run, TenantHour
from costs.selectors.months import Month
from costs.times import moment
from queues.models import NodeChange, QuotaChange, Stream
from tenants.models import Cluster, Revision, Tenant

FLAVORS = ("a100", "h100", "l4")
GPU = "nvidia.com/gpu"
NOMINAL = 600
DEVICES = 400_000
#: Phases begin before the month and end after it, so that its edges cut some of them.
AROUND = timedelta(hours=6)
LINES = [
    {"flavor": flavor, "resource": GPU, "nominal": NOMINAL, "borrowing_limit": None,
     "lending_limit": None}
    for flavor in FLAVORS
]  # fmt: skip


class Size(NamedTuple):
    """So many phases of so many Workloads, in queues of one tenant each."""

    tenants: int
    lifetimes: int
    phases: int


def run(statement: str, **values: Any) -> int:
    """Run one statement; return how many rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.rowcount


def standing(cluster: Cluster, month: Month, size: Size) -> None:
    """Note the quotas, nodes and lines that hold for the whole month, and the first revision."""
    since = moment(month.span.starts) - timedelta(days=2)
    common = {"cluster": cluster, "since": since, "quality": "exact", "observed_at": since}
    QuotaChange.objects.bulk_create(
        QuotaChange(kind="ClusterQueue", name=name(n), lines=LINES, digest=1, **common)
        for n in range(size.tenants)
    )
    NodeChange.objects.bulk_create(
        NodeChange(
            name=f"node-{flavor}", state="ready", digest=1,
            devices=[{"flavor": flavor, "resource": GPU, "amount": DEVICES}], **common,
        )
        for flavor in FLAVORS
    )  # fmt: skip
    for kind in ("Workload", "ClusterQueue", "Cohort"):
        Stream.objects.update_or_create(
            cluster=cluster, kind=kind, defaults={"alive_at": timezone.now(), "lost_since": None}
        )
    found = [Tenant(slug=f"tenant-{n}", display_name=f"Team {n}") for n in range(size.tenants)]
    Tenant.objects.bulk_create(found)
    owned = [{"slug": f"tenant-{n}", "queues": [{"name": name(n)}]} for n in range(size.tenants)]
    Revision.objects.create(
        cluster=cluster, number=1, catalog={"tenants": owned}, digest="", summary="made"
    )


def name(number: int) -> str:
    """Return the name of a tenant's queue."""
    return f"queue-{number}"


LIFETIMES = """
INSERT INTO queues_lifetime (
    cluster_id, uid, namespace, name, job_kind, job_name, job_uid, entry, priority_class, priority,
    created_at, first_seen_at, noted_at, resource_version, phase, attempt, starts_quality, queue,
    cohort, cause, preemptor_uid, devices, held, evictions, counted, past_seconds, active, orphaned,
    conditions, outcome
)
SELECT %(cluster)s, 'uid-' || n, 'space-' || n %% %(tenants)s, 'job-' || n, 'Job', 'job-' || n, '',
    'main', 'normal', 1000, %(begin)s, %(begin)s, %(begin)s, '1', '', 0, '', '', '', '', '', 0,
    '[]', 0, 0, 0, TRUE, FALSE, '{}', ''
FROM generate_series(0, %(lifetimes)s - 1) n
"""
#: Slot ``k`` of the line of Workload ``n``: it begins in its first half, most of it is short,
#: one in twenty lasts to the end of the slot, one in ten only waits, and one in ten is reserved.
INTERVALS = """
INSERT INTO queues_interval (
    cluster_id, lifetime_id, phase, attempt, starts, starts_quality, ends, ends_quality, ended_by,
    queue, cohort, priority_class, priority, cause, preemptor_uid, devices, held, noted_at
)
SELECT %(cluster)s, l.id, phase, k, starts, 'exact', ends, 'exact', 'finished',
    'queue-' || n %% %(tenants)s, '', 'normal', 1000, '', '',
    CASE phase WHEN 'queued' THEN 0 ELSE amount END,
    CASE phase WHEN 'queued' THEN '[]'::jsonb ELSE jsonb_build_array(jsonb_build_object(
        'flavor', (%(flavors)s::text[])[1 + n / %(tenants)s %% 3], 'resource', %(gpu)s::text,
        'amount', amount
    )) END, ends
FROM (
    SELECT id, substr(uid, 5)::int AS n FROM queues_lifetime WHERE cluster_id = %(cluster)s
) l
CROSS JOIN generate_series(%(first)s, %(last)s) k
CROSS JOIN LATERAL (
    SELECT hashint8(n::bigint * 1000 + k)::bigint & 2147483647 AS h, %(slot)s AS slot
) r
CROSS JOIN LATERAL (
    SELECT h %% (slot / 2) AS offs, (ARRAY[1, 2, 4, 8])[1 + h / 7 %% 4] AS amount,
        CASE h %% 10 WHEN 0 THEN 'queued' WHEN 1 THEN 'reserved' ELSE 'admitted' END AS phase
) o
CROSS JOIN LATERAL (
    SELECT %(begin)s::timestamptz + make_interval(secs => k * slot + offs) AS starts,
        %(begin)s::timestamptz + make_interval(secs => k * slot + offs + CASE
            WHEN h %% 20 = 7 THEN slot - offs ELSE least(slot - offs, 30 + h / 11 %% 3600) END
        ) AS ends
) t
"""
#: The facts of all hours of the month in one statement; see the module.
HOURS = """
INSERT INTO costs_tenanthour (
    cluster_id, tenant_id, flavor, resource, hour, run_id, committed, held, own, borrowed, lent,
    overdraft, excess, reserved, admitted, draining, running, terminating, unmanaged, held_least,
    held_most, quality, coverage
)
WITH parts AS (
    SELECT hour, queue, part->>'flavor' AS flavor, phase, (part->>'amount')::bigint * extract(
        epoch FROM least(ends, hour + interval '1 hour') - greatest(starts, hour)
    )::bigint AS seconds
    FROM queues_interval
    CROSS JOIN jsonb_array_elements(held) part
    CROSS JOIN generate_series(
        greatest(date_trunc('hour', starts), %(first)s::timestamptz),
        least(ends, %(last)s) - interval '1 second', interval '1 hour'
    ) hour
    WHERE cluster_id = %(cluster)s AND phase IN ('reserved', 'admitted')
        AND ends > %(first)s AND starts < %(last)s
), sums AS (
    SELECT hour, queue, flavor, sum(seconds)::bigint AS held,
        coalesce(sum(seconds) FILTER (WHERE phase = 'reserved'), 0)::bigint AS reserved
    FROM parts GROUP BY hour, queue, flavor
)
SELECT %(cluster)s, t.id, f.flavor, %(gpu)s::text, h.hour, %(run)s, %(nominal)s::bigint * 3600,
    coalesce(held, 0), coalesce(held, 0), 0, 0, 0, 0, coalesce(reserved, 0),
    coalesce(held - reserved, 0), 0, 0, 0, 0, coalesce(held, 0), coalesce(held, 0), 'observed', 3600
FROM generate_series(
    %(first)s::timestamptz, %(last)s::timestamptz - interval '1 hour', interval '1 hour'
) h (hour)
CROSS JOIN (SELECT id, 'queue-' || substr(slug, 8) AS queue FROM tenants_tenant
    WHERE slug LIKE 'tenant-%%') t
CROSS JOIN unnest(%(flavors)s::text[]) f (flavor)
LEFT JOIN sums ON sums.hour = h.hour AND sums.queue = t.queue AND sums.flavor = f.flavor
ORDER BY h.hour
"""
POOLS = """
INSERT INTO costs_poolhour (
    cluster_id, flavor, resource, hour, run_id, ready, cordoned, down, nominal, borrowed, overdraft
)
SELECT %(cluster)s, flavor, %(gpu)s::text, hour, %(run)s, %(devices)s::bigint * 3600, 0, 0, 0, 0, 0
FROM unnest(%(flavors)s::text[]) flavor, generate_series(
    %(first)s::timestamptz, %(last)s::timestamptz - interval '1 hour', interval '1 hour'
) hour
"""


@contextmanager
def unhindered() -> Iterator[None]:
    """Load intervals without their indexes, which are made afterwards.

    The one that keeps the phases of a Workload apart is left out: it takes an hour to make, and
    no statement reads by it.
    """
    own = "FROM pg_indexes WHERE tablename = 'queues_interval' AND indexname NOT LIKE %(key)s"
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE queues_interval DROP CONSTRAINT interval_one_phase_at_a_time")
        cursor.execute(f"SELECT indexname, indexdef {own}", {"key": "%_pkey"})
        indexes = cursor.fetchall()
        for index, _made in indexes:
            cursor.execute(f'DROP INDEX "{index}"')
    yield
    with connection.cursor() as cursor:
        cursor.execute("SET maintenance_work_mem = '1GB'")
        for _index, made in indexes:
            cursor.execute(made)


def intervals(cluster: Cluster, month: Month, size: Size) -> int:
    """Write the phases of all Workloads; return how many there are. As the owner."""
    begin = moment(month.span.starts) - AROUND
    slot = (month.span.seconds + 2 * int(AROUND.total_seconds())) // size.phases
    common = {"cluster": cluster.pk, "begin": begin, "tenants": size.tenants}
    run("SET session_replication_role = replica")
    run(LIFETIMES, **common, lifetimes=size.lifetimes)
    run("ANALYZE queues_lifetime")
    written = 0
    with unhindered():
        for first in range(0, size.phases, 10):
            last = min(first + 10, size.phases) - 1
            written += run(
                INTERVALS, **common, first=first, last=last, slot=slot, flavors=list(FLAVORS),
                gpu=GPU,
            )  # fmt: skip
    run("SET session_replication_role = origin")
    run("VACUUM ANALYZE queues_interval")
    return written


def hours(cluster: Cluster, month: Month) -> Run:
    """Write the facts of all hours of the month; return the run that they are of."""
    first, last = moment(month.span.starts), moment(month.span.ends)
    made = Run.objects.create(cluster=cluster, starts=first, ends=last, result="")
    common = {
        "cluster": cluster.pk, "run": made.pk, "first": first, "last": last, "gpu": GPU,
        "flavors": list(FLAVORS),
    }  # fmt: skip
    run(HOURS, **common, nominal=NOMINAL)
    run(POOLS, **common, devices=DEVICES)
    run("VACUUM ANALYZE costs_tenanthour")
    run("VACUUM ANALYZE costs_poolhour")
    return made


OLDER = """
INSERT INTO costs_tenanthour ({names})
SELECT {values} FROM costs_tenanthour
WHERE hour >= %(first)s AND hour < %(last)s
"""


def older(cluster: Cluster, month: Month, *, months: int) -> None:
    """Put the same hours into months before, so that a page can be asked with them beside it."""
    first, last = moment(month.span.starts), moment(month.span.ends)
    own = [each.column for each in TenantHour._meta.local_fields if each.column != "id"]
    back = f"hour - %(days)s * interval '{(last - first).days} days'"
    values = [back if each == "hour" else each for each in own]
    statement = OLDER.format(names=", ".join(own), values=", ".join(values))
    for number in range(1, months + 1):
        run(statement, first=first, last=last, days=number)
    run("VACUUM ANALYZE costs_tenanthour")


def restore() -> None:
    """Empty the table of intervals, and let the database keep phases apart again."""
    run("SET session_replication_role = replica")
    run("TRUNCATE queues_interval")
    run("SET session_replication_role = origin")
    run(
        "ALTER TABLE queues_interval ADD CONSTRAINT interval_one_phase_at_a_time EXCLUDE USING "
        "gist (int8range(lifetime_id, lifetime_id, '[]') WITH &&, tstzrange(starts, ends) WITH &&)"
    )
