"""Intervals of Workloads; what is over is only added to, and the database itself says so."""

import django.contrib.postgres.constraints
import django.db.models.deletion
from django.db import migrations, models

ONLY_ADDED = ("queues_interval", "queues_eviction", "queues_conditionchange", "queues_gap")

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
# A lifetime goes on changing until it is over, but it is never removed.
KEPT = """
CREATE TRIGGER kept_rows BEFORE DELETE ON queues_lifetime
    FOR EACH ROW EXECUTE FUNCTION gpuportal_append_only();
CREATE TRIGGER kept_table BEFORE TRUNCATE ON queues_lifetime
    FOR EACH STATEMENT EXECUTE FUNCTION gpuportal_append_only();
"""
NOT_KEPT = """
DROP TRIGGER kept_rows ON queues_lifetime;
DROP TRIGGER kept_table ON queues_lifetime;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("queues", "0002_queue_order"),
        ("tenants", "0002_append_only"),
    ]

    operations = [
        migrations.CreateModel(
            name="Lifetime",
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
                (
                    "job_kind",
                    models.CharField(blank=True, max_length=63, verbose_name="kind of job"),
                ),
                ("job_name", models.CharField(blank=True, max_length=253, verbose_name="job")),
                ("job_uid", models.CharField(blank=True, max_length=64)),
                ("entry", models.CharField(blank=True, max_length=253, verbose_name="entry")),
                (
                    "priority_class",
                    models.CharField(blank=True, max_length=253, verbose_name="priority"),
                ),
                ("priority", models.BigIntegerField(default=0, verbose_name="priority value")),
                ("created_at", models.DateTimeField(verbose_name="created")),
                ("first_seen_at", models.DateTimeField(verbose_name="first seen")),
                ("noted_at", models.DateTimeField(verbose_name="last change seen")),
                ("resource_version", models.CharField(max_length=32)),
                (
                    "phase",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("queued", "queued"),
                            ("reserved", "reserved"),
                            ("admitted", "admitted"),
                            ("draining", "draining"),
                            ("evicted", "evicted"),
                            ("deactivated", "deactivated"),
                        ],
                        max_length=12,
                        verbose_name="phase",
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=0, verbose_name="attempt")),
                ("starts", models.DateTimeField(null=True, verbose_name="since")),
                (
                    "starts_quality",
                    models.CharField(
                        blank=True,
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
                ("queue", models.CharField(blank=True, max_length=253, verbose_name="queue")),
                ("cohort", models.CharField(blank=True, max_length=253, verbose_name="department")),
                ("cause", models.CharField(blank=True, max_length=48, verbose_name="cause")),
                ("preemptor_uid", models.CharField(blank=True, max_length=64)),
                ("devices", models.BigIntegerField(default=0, verbose_name="devices held")),
                ("held", models.JSONField(default=list, verbose_name="held")),
                ("running_since", models.DateTimeField(null=True, verbose_name="admitted")),
                ("evictions", models.PositiveIntegerField(default=0, verbose_name="evictions")),
                ("past_seconds", models.BigIntegerField(default=0, verbose_name="admitted before")),
                ("active", models.BooleanField(default=True)),
                ("orphaned", models.BooleanField(default=False, verbose_name="without an owner")),
                ("conditions", models.JSONField(default=dict)),
                ("finished_at", models.DateTimeField(null=True, verbose_name="finished")),
                ("outcome", models.CharField(blank=True, max_length=128, verbose_name="outcome")),
                ("gone_at", models.DateTimeField(null=True, verbose_name="gone")),
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
                "verbose_name": "lifetime",
                "verbose_name_plural": "lifetimes",
            },
        ),
        migrations.CreateModel(
            name="Interval",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "phase",
                    models.CharField(
                        choices=[
                            ("queued", "queued"),
                            ("reserved", "reserved"),
                            ("admitted", "admitted"),
                            ("draining", "draining"),
                            ("evicted", "evicted"),
                            ("deactivated", "deactivated"),
                        ],
                        max_length=12,
                        verbose_name="phase",
                    ),
                ),
                ("attempt", models.PositiveIntegerField(verbose_name="attempt")),
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
                ("queue", models.CharField(blank=True, max_length=253, verbose_name="queue")),
                ("cohort", models.CharField(blank=True, max_length=253, verbose_name="department")),
                (
                    "priority_class",
                    models.CharField(blank=True, max_length=253, verbose_name="priority"),
                ),
                ("priority", models.BigIntegerField(verbose_name="priority value")),
                ("cause", models.CharField(blank=True, max_length=48, verbose_name="cause")),
                ("preemptor_uid", models.CharField(blank=True, max_length=64)),
                ("devices", models.BigIntegerField(verbose_name="devices held")),
                ("held", models.JSONField(default=list, verbose_name="held")),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.cluster",
                    ),
                ),
                (
                    "lifetime",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="intervals",
                        to="queues.lifetime",
                    ),
                ),
            ],
            options={
                "verbose_name": "interval",
                "verbose_name_plural": "intervals",
            },
        ),
        migrations.CreateModel(
            name="Eviction",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField(verbose_name="number")),
                ("attempt", models.PositiveIntegerField(verbose_name="attempt")),
                ("at", models.DateTimeField(verbose_name="at")),
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
                ("cause", models.CharField(max_length=48, verbose_name="cause")),
                ("detail", models.CharField(blank=True, max_length=128)),
                ("preemptor_uid", models.CharField(blank=True, max_length=64)),
                ("preemptor_job_uid", models.CharField(blank=True, max_length=64)),
                ("preemptor_path", models.CharField(blank=True, max_length=1024)),
                ("preemptee_path", models.CharField(blank=True, max_length=1024)),
                ("message", models.TextField(blank=True, verbose_name="text of the cluster")),
                ("queue", models.CharField(blank=True, max_length=253, verbose_name="queue")),
                (
                    "priority_class",
                    models.CharField(blank=True, max_length=253, verbose_name="priority"),
                ),
                ("priority", models.BigIntegerField(verbose_name="priority value")),
                ("devices", models.BigIntegerField(verbose_name="devices held")),
                ("running_since", models.DateTimeField(null=True, verbose_name="admitted")),
                ("checkpoint_at", models.DateTimeField(null=True, verbose_name="last checkpoint")),
                ("lost_seconds", models.BigIntegerField(default=0, verbose_name="lost")),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.cluster",
                    ),
                ),
                (
                    "lifetime",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="evicted",
                        to="queues.lifetime",
                    ),
                ),
            ],
            options={
                "verbose_name": "eviction",
                "verbose_name_plural": "evictions",
            },
        ),
        migrations.CreateModel(
            name="ConditionChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("type", models.CharField(max_length=128)),
                ("status", models.CharField(blank=True, max_length=32)),
                ("reason", models.CharField(blank=True, max_length=128)),
                ("message", models.TextField(blank=True)),
                ("at", models.DateTimeField(null=True, verbose_name="at")),
                ("seen_at", models.DateTimeField(verbose_name="seen")),
                (
                    "lifetime",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="changes",
                        to="queues.lifetime",
                    ),
                ),
            ],
            options={
                "verbose_name": "change of a condition",
                "verbose_name_plural": "changes of conditions",
            },
        ),
        migrations.CreateModel(
            name="Gap",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=63, verbose_name="kind")),
                ("starts", models.DateTimeField(verbose_name="starts")),
                ("ends", models.DateTimeField(verbose_name="ends")),
                ("cause", models.CharField(max_length=16, verbose_name="cause")),
                (
                    "healed",
                    models.CharField(
                        choices=[("resumed", "resumed"), ("listed", "read anew")],
                        max_length=8,
                        verbose_name="ended by",
                    ),
                ),
                ("error", models.TextField(blank=True, verbose_name="error")),
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
                "verbose_name": "gap of the observation",
                "verbose_name_plural": "gaps of the observation",
                "indexes": [models.Index(models.F("cluster"), models.F("ends"), name="gap_by_end")],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("cluster"), models.F("kind"), models.F("starts"), name="gap_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("ends__gt", models.F("starts"))), name="gap_has_length"
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="lifetime",
            index=models.Index(
                models.F("cluster"), models.F("namespace"), models.F("name"), name="lifetime_name"
            ),
        ),
        migrations.AddIndex(
            model_name="lifetime",
            index=models.Index(
                models.F("cluster"),
                models.F("queue"),
                condition=models.Q(("phase", ""), _negated=True),
                name="lifetime_open_queue",
            ),
        ),
        migrations.AddConstraint(
            model_name="lifetime",
            constraint=models.UniqueConstraint(
                models.F("cluster"), models.F("uid"), name="lifetime_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="lifetime",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("phase", ""), ("starts__isnull", True)),
                    models.Q(
                        (
                            "phase__in",
                            [
                                "queued",
                                "reserved",
                                "admitted",
                                "draining",
                                "evicted",
                                "deactivated",
                            ],
                        ),
                        ("starts__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="lifetime_open_phase_has_its_start",
            ),
        ),
        migrations.AddIndex(
            model_name="interval",
            index=models.Index(
                models.F("lifetime"), models.F("starts"), name="interval_of_lifetime"
            ),
        ),
        migrations.AddIndex(
            model_name="interval",
            index=models.Index(models.F("cluster"), models.F("ends"), name="interval_by_end"),
        ),
        migrations.AddConstraint(
            model_name="interval",
            constraint=models.CheckConstraint(
                condition=models.Q(("ends__gt", models.F("starts"))), name="interval_has_length"
            ),
        ),
        migrations.AddConstraint(
            model_name="interval",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "phase__in",
                        ["queued", "reserved", "admitted", "draining", "evicted", "deactivated"],
                    )
                ),
                name="interval_phase",
            ),
        ),
        migrations.AddConstraint(
            model_name="interval",
            constraint=models.CheckConstraint(
                condition=models.Q(("devices__gte", 0)), name="interval_devices"
            ),
        ),
        migrations.AddConstraint(
            model_name="interval",
            constraint=django.contrib.postgres.constraints.ExclusionConstraint(
                expressions=[
                    (
                        models.Func(
                            "lifetime", "lifetime", models.Value("[]"), function="int8range"
                        ),
                        "&&",
                    ),
                    (models.Func("starts", "ends", function="tstzrange"), "&&"),
                ],
                name="interval_one_phase_at_a_time",
            ),
        ),
        migrations.AddIndex(
            model_name="eviction",
            index=models.Index(models.F("cluster"), models.F("at"), name="eviction_by_time"),
        ),
        migrations.AddIndex(
            model_name="eviction",
            index=models.Index(
                models.F("cluster"),
                models.F("preemptor_uid"),
                condition=models.Q(("preemptor_uid", ""), _negated=True),
                name="eviction_preemptor",
            ),
        ),
        migrations.AddConstraint(
            model_name="eviction",
            constraint=models.UniqueConstraint(
                models.F("lifetime"), models.F("number"), name="eviction_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="eviction",
            constraint=models.CheckConstraint(
                condition=models.Q(("lost_seconds__gte", 0)), name="eviction_lost"
            ),
        ),
        migrations.AddIndex(
            model_name="conditionchange",
            index=models.Index(
                models.F("lifetime"), models.F("seen_at"), name="change_of_lifetime"
            ),
        ),
        *(
            migrations.RunSQL(TRIGGERS.format(table=table), UNDO.format(table=table))
            for table in ONLY_ADDED
        ),
        migrations.RunSQL(KEPT, NOT_KEPT),
    ]
