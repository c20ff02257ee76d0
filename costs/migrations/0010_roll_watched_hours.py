"""Makes days and months anew from the hours: those that nobody watched are in no sum any more."""

from django.db import migrations

TENANT = [
    "committed",
    "held",
    "own",
    "borrowed",
    "lent",
    "overdraft",
    "excess",
    "reserved",
    "admitted",
    "draining",
    "running",
    "terminating",
    "unmanaged",
    "pods",
    "held_least",
    "held_most",
]
USE = ["used", "seen", "expected", "fallback"]
POOL = ["ready", "cordoned", "down", "nominal", "borrowed", "overdraft"]
POOL_USE = ["used", "seen", "expected", "unattributed"]
WORST = "(ARRAY['observed', 'estimated', 'partial', 'missing'])[{}]"
PLACE = "array_position(ARRAY['observed', 'estimated', 'partial', 'missing'], quality::text)"


def sums(names, watched, known=True):
    found = [f"sum({name}) FILTER (WHERE {watched})" for name in names]
    return [f"coalesce({each}, 0)" if known else each for each in found]


def statement(into, of, part, key, columns):
    names, values = columns.keys(), columns.values()
    return (
        f"DELETE FROM {into}; "  # noqa: S608 - names of this file
        f"INSERT INTO {into} (starts, {key}, {', '.join(names)}) "
        f"SELECT {part}, {key}, {', '.join(values)} FROM {of} GROUP BY {part}, {key};"
    )


def tenants(watched, counts):
    quality = f"coalesce(max({PLACE}) FILTER (WHERE {watched}), 4)"
    return (
        dict(zip(TENANT, sums(TENANT, watched), strict=True))
        | dict(zip(USE, sums(USE, watched, known=False), strict=True))
        | {"quality": WORST.format(quality), "coverage": sums(["coverage"], watched)[0]}
        | counts
    )


TENANT_KEY = "cluster_id, tenant_id, flavor, resource"
POOL_KEY = "cluster_id, flavor, resource"
DAY = "(hour AT TIME ZONE 'UTC')::date"
MONTH = "date_trunc('month', starts::timestamp)::date"
SEEN = "quality <> 'missing'"
# A table of its own: the sums may not look at other rows while they are made.
BLIND = (
    "CREATE TEMPORARY TABLE unwatched ON COMMIT DROP AS "
    "SELECT DISTINCT cluster_id AS cluster, hour AS at FROM costs_tenanthour WHERE quality = 'missing'; "
)
POOL_HOURS = (
    "(SELECT h.*, u.at IS NULL AS watched FROM costs_poolhour h "
    "LEFT JOIN unwatched u ON u.cluster = h.cluster_id AND u.at = h.hour) hours"
)


def counted(**of):
    return {name: f"count(*) FILTER (WHERE {watched})" for name, watched in of.items()}


def added(*names):
    return {name: f"sum({name})" for name in names}


def pools(watched, counts):
    use = sums(POOL_USE, watched, known=False)
    known = dict(zip(POOL, sums(POOL, watched), strict=True))
    return known | dict(zip(POOL_USE, use, strict=True)) | counts


QUALITIES = {"estimated": "quality = 'estimated'", "partial": "quality = 'partial'"}
SQL = BLIND + "".join(
    [
        statement(
            "costs_tenantday", "costs_tenanthour", DAY, TENANT_KEY,
            tenants(SEEN, counted(hours=SEEN, unwatched="quality = 'missing'", **QUALITIES)),
        ),
        statement(
            "costs_tenantmonth", "costs_tenantday", MONTH, TENANT_KEY,
            tenants("hours > 0", added("hours", "unwatched", "estimated", "partial")),
        ),
        statement(
            "costs_poolday", POOL_HOURS, DAY, POOL_KEY,
            pools("watched", counted(hours="watched", unwatched="NOT watched")),
        ),
        statement(
            "costs_poolmonth", "costs_poolday", MONTH, POOL_KEY,
            pools("hours > 0", added("hours", "unwatched")),
        ),
    ]
)  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [("costs", "0009_rollups_of_watched_hours")]

    operations = [migrations.RunSQL(SQL, migrations.RunSQL.noop)]
