"""Generations of what pages show, raised by triggers: no writer can forget it."""

import django.db.models.deletion
from django.db import migrations, models

FUNCTION = """
CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO queues_generation AS known (cluster_id, kind, name, number)
    SELECT cluster_id, kind, name, extract(epoch FROM clock_timestamp()) * 1000
    FROM ({things}) AS touched ORDER BY cluster_id, kind, name
    ON CONFLICT (cluster_id, kind, name)
    DO UPDATE SET number = greatest(known.number + 1, excluded.number);
    RETURN NULL;
END
$$
"""

TOUCHED = "SELECT DISTINCT cluster_id, '{kind}'::text AS kind, {column} AS name FROM {rows}"

TRIGGER = """
CREATE TRIGGER generation_{event} AFTER {event} ON {table} REFERENCING {tables}
    FOR EACH STATEMENT EXECUTE FUNCTION {function}()
"""

THINGS = {
    "queues_workload": {"queue": "queue", "namespace": "namespace"},
    "queues_observedobject": {"objects": "kind"},
}
ROWS = {
    "insert": ("NEW TABLE AS new_rows", ("new_rows",)),
    "update": ("OLD TABLE AS old_rows NEW TABLE AS new_rows", ("old_rows", "new_rows")),
    "delete": ("OLD TABLE AS old_rows", ("old_rows",)),
}


def touched(table, sources):
    """Select each thing of the changed rows once."""
    return " UNION ".join(
        TOUCHED.format(kind=kind, column=column, rows=rows)
        for kind, column in THINGS[table].items()
        for rows in sources
    )


def statements():
    for table in THINGS:
        for event, (tables, sources) in ROWS.items():
            function = f"{table}_generation_{event}"
            yield migrations.RunSQL(
                FUNCTION.format(function=function, things=touched(table, sources)),
                f"DROP FUNCTION {function}()",
            )
            yield migrations.RunSQL(
                TRIGGER.format(event=event, table=table, tables=tables, function=function),
                f"DROP TRIGGER generation_{event} ON {table}",
            )


class Migration(migrations.Migration):
    dependencies = [("queues", "0003_intervals")]

    operations = [
        migrations.CreateModel(
            name="Generation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("queue", "queue"),
                            ("namespace", "namespace"),
                            ("objects", "objects"),
                        ],
                        max_length=16,
                        verbose_name="kind",
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=253, verbose_name="name")),
                ("number", models.BigIntegerField(verbose_name="number")),
                (
                    "cluster",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="tenants.cluster",
                    ),
                ),
            ],
            options={
                "verbose_name": "generation",
                "verbose_name_plural": "generations",
                "constraints": [
                    models.UniqueConstraint(
                        models.F("cluster"),
                        models.F("kind"),
                        models.F("name"),
                        name="generation_once",
                    )
                ],
            },
        ),
        *statements(),
    ]
