"""Where the use of GPUs is asked for, and what the answers were; use of pools beside that of tenants."""

import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("costs", "0007_pods_watched"),
        ("tenants", "0004_sessions"),
    ]

    operations = [
        migrations.AddField(
            model_name="poolday",
            name="expected",
            field=models.BigIntegerField(null=True, verbose_name="expected"),
        ),
        migrations.AddField(
            model_name="poolday",
            name="seen",
            field=models.BigIntegerField(null=True, verbose_name="seen"),
        ),
        migrations.AddField(
            model_name="poolday",
            name="unattributed",
            field=models.BigIntegerField(null=True, verbose_name="used without a pod"),
        ),
        migrations.AddField(
            model_name="poolday",
            name="used",
            field=models.BigIntegerField(null=True, verbose_name="used"),
        ),
        migrations.AddField(
            model_name="poolhour",
            name="expected",
            field=models.BigIntegerField(null=True, verbose_name="expected"),
        ),
        migrations.AddField(
            model_name="poolhour",
            name="seen",
            field=models.BigIntegerField(null=True, verbose_name="seen"),
        ),
        migrations.AddField(
            model_name="poolhour",
            name="unattributed",
            field=models.BigIntegerField(null=True, verbose_name="used without a pod"),
        ),
        migrations.AddField(
            model_name="poolhour",
            name="used",
            field=models.BigIntegerField(null=True, verbose_name="used"),
        ),
        migrations.AddField(
            model_name="poolmonth",
            name="expected",
            field=models.BigIntegerField(null=True, verbose_name="expected"),
        ),
        migrations.AddField(
            model_name="poolmonth",
            name="seen",
            field=models.BigIntegerField(null=True, verbose_name="seen"),
        ),
        migrations.AddField(
            model_name="poolmonth",
            name="unattributed",
            field=models.BigIntegerField(null=True, verbose_name="used without a pod"),
        ),
        migrations.AddField(
            model_name="poolmonth",
            name="used",
            field=models.BigIntegerField(null=True, verbose_name="used"),
        ),
        migrations.AddField(
            model_name="tenantday",
            name="fallback",
            field=models.BigIntegerField(null=True, verbose_name="seen by utilisation alone"),
        ),
        migrations.AddField(
            model_name="tenanthour",
            name="fallback",
            field=models.BigIntegerField(null=True, verbose_name="seen by utilisation alone"),
        ),
        migrations.AddField(
            model_name="tenantmonth",
            name="fallback",
            field=models.BigIntegerField(null=True, verbose_name="seen by utilisation alone"),
        ),
        migrations.CreateModel(
            name="MetricsSource",
            fields=[
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="tenants.cluster",
                    ),
                ),
                ("server", models.CharField(max_length=300, verbose_name="address")),
                ("ca_pem", models.TextField(blank=True, verbose_name="certificate authority")),
                ("sealed", models.BinaryField(null=True)),
                ("key_id", models.CharField(blank=True, max_length=16, verbose_name="key")),
                ("job", models.CharField(blank=True, max_length=200, verbose_name="job")),
                (
                    "interval",
                    models.PositiveIntegerField(null=True, verbose_name="seconds between scrapes"),
                ),
                (
                    "since",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        verbose_name="connected",
                    ),
                ),
                (
                    "wanted_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        verbose_name="test asked for",
                    ),
                ),
                ("checked_at", models.DateTimeField(null=True, verbose_name="tested")),
                ("found", models.JSONField(default=dict, verbose_name="found")),
                ("code", models.CharField(blank=True, max_length=8)),
                ("problem", models.CharField(blank=True, max_length=500, verbose_name="problem")),
                ("problem_field", models.CharField(blank=True, max_length=16)),
            ],
            options={
                "verbose_name": "source of metrics",
                "verbose_name_plural": "sources of metrics",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("interval__isnull", True),
                            models.Q(("interval__gte", 1), ("interval__lte", 300)),
                            _connector="OR",
                        ),
                        name="metrics_source_interval",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="GaugeHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("hour", models.DateTimeField(verbose_name="hour")),
                ("queue", models.CharField(max_length=253, verbose_name="queue")),
                ("flavor", models.CharField(max_length=253, verbose_name="flavor")),
                ("resource", models.CharField(max_length=317, verbose_name="resource")),
                ("reserved", models.BigIntegerField(verbose_name="reserved")),
                ("seen", models.PositiveIntegerField(verbose_name="seen")),
                ("held", models.BigIntegerField(null=True, verbose_name="held")),
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
                "verbose_name": "gauge of an hour",
                "verbose_name_plural": "gauges of hours",
                "constraints": [
                    models.UniqueConstraint(
                        models.F("cluster"),
                        models.F("hour"),
                        models.F("queue"),
                        models.F("flavor"),
                        models.F("resource"),
                        name="gauge_hour_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Harvest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("hour", models.DateTimeField(verbose_name="hour")),
                ("at", models.DateTimeField(verbose_name="asked")),
                ("attempts", models.PositiveIntegerField(default=1, verbose_name="attempts")),
                ("code", models.CharField(blank=True, max_length=8)),
                ("problem", models.CharField(blank=True, max_length=500, verbose_name="problem")),
                ("series", models.PositiveIntegerField(default=0, verbose_name="series")),
                ("clamped", models.PositiveIntegerField(default=0, verbose_name="cut")),
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
                "verbose_name": "harvest",
                "verbose_name_plural": "harvests",
                "constraints": [
                    models.UniqueConstraint(
                        models.F("cluster"), models.F("hour"), name="harvest_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("hour__minute", 0), ("hour__second", 0)),
                        name="harvest_is_an_hour",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UsedHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("hour", models.DateTimeField(verbose_name="hour")),
                (
                    "namespace",
                    models.CharField(blank=True, max_length=63, verbose_name="namespace"),
                ),
                ("pod", models.CharField(blank=True, max_length=253, verbose_name="pod")),
                ("pod_uid", models.CharField(blank=True, max_length=64)),
                ("node", models.CharField(blank=True, max_length=253, verbose_name="node")),
                ("model", models.CharField(blank=True, max_length=128, verbose_name="device")),
                ("profile", models.CharField(blank=True, max_length=64, verbose_name="profile")),
                ("used", models.BigIntegerField(verbose_name="used")),
                ("seen", models.BigIntegerField(verbose_name="seen")),
                ("expected", models.BigIntegerField(verbose_name="expected")),
                (
                    "fallback",
                    models.BigIntegerField(default=0, verbose_name="seen by utilisation alone"),
                ),
                ("shared", models.PositiveIntegerField(default=1, verbose_name="pods of a device")),
                ("clamped", models.PositiveIntegerField(default=0, verbose_name="cut")),
                ("energy", models.BigIntegerField(null=True, verbose_name="energy")),
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
                "verbose_name": "use of an hour",
                "verbose_name_plural": "use of hours",
                "constraints": [
                    models.UniqueConstraint(
                        models.F("cluster"),
                        models.F("hour"),
                        models.F("namespace"),
                        models.F("pod"),
                        models.F("pod_uid"),
                        models.F("node"),
                        models.F("model"),
                        models.F("profile"),
                        name="used_hour_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("used__gte", 0),
                            (
                                "used__lte",
                                django.db.models.expressions.CombinedExpression(
                                    models.F("seen"), "*", models.Value(1000)
                                ),
                            ),
                            ("fallback__gte", 0),
                            ("fallback__lte", models.F("seen")),
                            ("seen__lte", models.F("expected")),
                        ),
                        name="used_hour_adds_up",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("hour__minute", 0), ("hour__second", 0)),
                        name="used_hour_is_an_hour",
                    ),
                ],
            },
        ),
    ]
