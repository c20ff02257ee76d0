"""In which times pods had devices; rows of times that are over are only ever added."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

# The function comes with the audit trail (tenants/0002).
TRIGGERS = """
CREATE TRIGGER append_only_rows BEFORE UPDATE OR DELETE ON queues_podinterval
    FOR EACH ROW EXECUTE FUNCTION gpuportal_append_only();
CREATE TRIGGER append_only_table BEFORE TRUNCATE ON queues_podinterval
    FOR EACH STATEMENT EXECUTE FUNCTION gpuportal_append_only();
"""
UNDO = """
DROP TRIGGER append_only_rows ON queues_podinterval;
DROP TRIGGER append_only_table ON queues_podinterval;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("queues", "0011_quota_history"),
        ("tenants", "0004_sessions"),
    ]

    operations = [
        migrations.AddField(
            model_name="stream",
            name="history_since",
            field=models.DateTimeField(null=True, verbose_name="history since"),
        ),
        migrations.CreateModel(
            name="PodInterval",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.CharField(max_length=64)),
                ("namespace", models.CharField(max_length=63, verbose_name="namespace")),
                ("name", models.CharField(max_length=253, verbose_name="name")),
                ("node", models.CharField(max_length=253, verbose_name="node")),
                ("resource", models.CharField(max_length=317, verbose_name="resource")),
                ("amount", models.BigIntegerField(verbose_name="amount")),
                ("workload", models.CharField(blank=True, max_length=253, verbose_name="workload")),
                ("workload_uid", models.CharField(blank=True, max_length=64)),
                (
                    "kind",
                    models.CharField(
                        choices=[("running", "running"), ("terminating", "terminating")],
                        max_length=12,
                        verbose_name="kind",
                    ),
                ),
                ("starts", models.DateTimeField(verbose_name="starts")),
                (
                    "starts_quality",
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
                ("starts_earliest", models.DateTimeField(null=True)),
                ("starts_latest", models.DateTimeField(null=True)),
                (
                    "noted_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), verbose_name="noted"
                    ),
                ),
                ("ends", models.DateTimeField(verbose_name="ends")),
                (
                    "ends_quality",
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
                ("ends_earliest", models.DateTimeField(null=True)),
                ("ends_latest", models.DateTimeField(null=True)),
                ("ended_by", models.CharField(max_length=16, verbose_name="ended by")),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.cluster",
                    ),
                ),
            ],
            options={
                "verbose_name": "time of a pod on devices",
                "verbose_name_plural": "times of pods on devices",
                "abstract": False,
                "indexes": [
                    models.Index(models.F("cluster"), models.F("ends"), name="podinterval_by_end"),
                    models.Index(
                        models.F("cluster"), models.F("noted_at"), name="podinterval_by_note"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["running", "terminating"])),
                        name="podinterval_kind",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("amount__gt", 0)), name="podinterval_amount"
                    ),
                    models.UniqueConstraint(
                        models.F("cluster"),
                        models.F("uid"),
                        models.F("resource"),
                        models.F("starts"),
                        name="podinterval_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("ends__gt", models.F("starts"))),
                        name="podinterval_length",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PodRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.CharField(max_length=64)),
                ("namespace", models.CharField(max_length=63, verbose_name="namespace")),
                ("name", models.CharField(max_length=253, verbose_name="name")),
                ("node", models.CharField(max_length=253, verbose_name="node")),
                ("resource", models.CharField(max_length=317, verbose_name="resource")),
                ("amount", models.BigIntegerField(verbose_name="amount")),
                ("workload", models.CharField(blank=True, max_length=253, verbose_name="workload")),
                ("workload_uid", models.CharField(blank=True, max_length=64)),
                (
                    "kind",
                    models.CharField(
                        choices=[("running", "running"), ("terminating", "terminating")],
                        max_length=12,
                        verbose_name="kind",
                    ),
                ),
                ("starts", models.DateTimeField(verbose_name="starts")),
                (
                    "starts_quality",
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
                ("starts_earliest", models.DateTimeField(null=True)),
                ("starts_latest", models.DateTimeField(null=True)),
                (
                    "noted_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), verbose_name="noted"
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.cluster",
                    ),
                ),
            ],
            options={
                "verbose_name": "pod on devices",
                "verbose_name_plural": "pods on devices",
                "abstract": False,
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["running", "terminating"])),
                        name="podrun_kind",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("amount__gt", 0)), name="podrun_amount"
                    ),
                    models.UniqueConstraint(
                        models.F("cluster"),
                        models.F("uid"),
                        models.F("resource"),
                        name="podrun_once",
                    ),
                ],
            },
        ),
        migrations.RunSQL(TRIGGERS, UNDO),
    ]
