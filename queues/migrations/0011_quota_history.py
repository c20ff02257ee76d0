"""What queues, departments and nodes had, and since when; rows are only ever added."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

ONLY_ADDED = ("queues_quotachange", "queues_nodechange")

# The function comes with the audit trail (tenants/0002).
TRIGGERS = """
CREATE TRIGGER append_only_rows BEFORE UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION gpuportal_append_only();
CREATE TRIGGER append_only_table BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION gpuportal_append_only();
"""
UNDO = """
DROP TRIGGER append_only_rows ON {table};
DROP TRIGGER append_only_table ON {table};
"""


class Migration(migrations.Migration):
    dependencies = [
        ("queues", "0010_noted_epoch"),
        ("tenants", "0004_sessions"),
    ]

    operations = [
        migrations.CreateModel(
            name="NodeChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=253, verbose_name="name")),
                ("removed", models.BooleanField(default=False, verbose_name="removed")),
                ("since", models.DateTimeField(verbose_name="since")),
                (
                    "quality",
                    models.CharField(
                        choices=[
                            ("exact", "exact"),
                            ("seen", "as seen"),
                            ("bounded", "between two observations"),
                            ("unknown", "before the observation began"),
                        ],
                        max_length=8,
                    ),
                ),
                ("earliest", models.DateTimeField(null=True)),
                ("latest", models.DateTimeField(null=True)),
                ("observed_at", models.DateTimeField(verbose_name="observed")),
                ("digest", models.BigIntegerField()),
                ("epoch", models.BigIntegerField(default=0)),
                (
                    "state",
                    models.CharField(
                        blank=True,
                        choices=[("ready", "ready"), ("cordoned", "cordoned"), ("down", "down")],
                        max_length=8,
                        verbose_name="state",
                    ),
                ),
                ("devices", models.JSONField(default=list, verbose_name="devices")),
            ],
            options={
                "verbose_name": "change of a node",
                "verbose_name_plural": "changes of nodes",
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="QuotaChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=253, verbose_name="name")),
                ("removed", models.BooleanField(default=False, verbose_name="removed")),
                ("since", models.DateTimeField(verbose_name="since")),
                (
                    "quality",
                    models.CharField(
                        choices=[
                            ("exact", "exact"),
                            ("seen", "as seen"),
                            ("bounded", "between two observations"),
                            ("unknown", "before the observation began"),
                        ],
                        max_length=8,
                    ),
                ),
                ("earliest", models.DateTimeField(null=True)),
                ("latest", models.DateTimeField(null=True)),
                ("observed_at", models.DateTimeField(verbose_name="observed")),
                ("digest", models.BigIntegerField()),
                ("epoch", models.BigIntegerField(default=0)),
                (
                    "kind",
                    models.CharField(
                        choices=[("ClusterQueue", "queue"), ("Cohort", "department")],
                        max_length=16,
                        verbose_name="kind",
                    ),
                ),
                ("parent", models.CharField(blank=True, max_length=253, verbose_name="department")),
                ("lines", models.JSONField(default=list, verbose_name="quota")),
            ],
            options={
                "verbose_name": "change of a quota",
                "verbose_name_plural": "changes of quotas",
                "abstract": False,
            },
        ),
        migrations.AddField(
            model_name="interval",
            name="noted_at",
            field=models.DateTimeField(
                db_default=django.db.models.functions.datetime.Now(), verbose_name="noted"
            ),
        ),
        migrations.AddIndex(
            model_name="interval",
            index=models.Index(models.F("cluster"), models.F("noted_at"), name="interval_by_note"),
        ),
        migrations.AddField(
            model_name="nodechange",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.cluster"
            ),
        ),
        migrations.AddField(
            model_name="quotachange",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.cluster"
            ),
        ),
        migrations.AddIndex(
            model_name="nodechange",
            index=models.Index(
                models.F("cluster"), models.F("name"), models.F("since"), name="nodechange_of_one"
            ),
        ),
        migrations.AddIndex(
            model_name="nodechange",
            index=models.Index(
                models.F("cluster"), models.F("observed_at"), name="nodechange_by_time"
            ),
        ),
        migrations.AddConstraint(
            model_name="nodechange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("earliest", None), ("latest", None)),
                    models.Q(
                        ("earliest__lte", models.F("since")), ("latest__gte", models.F("since"))
                    ),
                    models.Q(("earliest", None), ("latest__gte", models.F("since"))),
                    _connector="OR",
                ),
                name="nodechange_bounds",
            ),
        ),
        migrations.AddConstraint(
            model_name="nodechange",
            constraint=models.CheckConstraint(
                condition=models.Q(("quality__in", ["exact", "seen", "bounded", "unknown"])),
                name="nodechange_quality",
            ),
        ),
        migrations.AddConstraint(
            model_name="nodechange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["ready", "cordoned", "down"]),
                    models.Q(("removed", True), ("state", "")),
                    _connector="OR",
                ),
                name="nodechange_state",
            ),
        ),
        migrations.AddIndex(
            model_name="quotachange",
            index=models.Index(
                models.F("cluster"),
                models.F("kind"),
                models.F("name"),
                models.F("since"),
                name="quotachange_of_one",
            ),
        ),
        migrations.AddIndex(
            model_name="quotachange",
            index=models.Index(
                models.F("cluster"), models.F("observed_at"), name="quotachange_by_time"
            ),
        ),
        migrations.AddConstraint(
            model_name="quotachange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("earliest", None), ("latest", None)),
                    models.Q(
                        ("earliest__lte", models.F("since")), ("latest__gte", models.F("since"))
                    ),
                    models.Q(("earliest", None), ("latest__gte", models.F("since"))),
                    _connector="OR",
                ),
                name="quotachange_bounds",
            ),
        ),
        migrations.AddConstraint(
            model_name="quotachange",
            constraint=models.CheckConstraint(
                condition=models.Q(("quality__in", ["exact", "seen", "bounded", "unknown"])),
                name="quotachange_quality",
            ),
        ),
        migrations.AddConstraint(
            model_name="quotachange",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["ClusterQueue", "Cohort"])),
                name="quotachange_kind",
            ),
        ),
        *(
            migrations.RunSQL(TRIGGERS.format(table=table), UNDO.format(table=table))
            for table in ONLY_ADDED
        ),
    ]
