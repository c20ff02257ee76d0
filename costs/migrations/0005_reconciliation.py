"""Runs, findings with their tolerance and their worth, tolerances of pools, disputes."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("costs", "0004_rollups"),
        ("tenants", "0004_sessions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Dispute",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "waiting for an answer"),
                            ("accepted", "accepted"),
                            ("rejected", "rejected"),
                        ],
                        default="open",
                        max_length=16,
                        verbose_name="state",
                    ),
                ),
                ("flavor", models.CharField(blank=True, max_length=253, verbose_name="flavor")),
                ("basis", models.CharField(max_length=16, verbose_name="basis")),
                (
                    "amount",
                    models.DecimalField(
                        decimal_places=4, max_digits=18, verbose_name="amount of the line"
                    ),
                ),
                ("text", models.TextField(verbose_name="what is wrong")),
                (
                    "opened_at",
                    models.DateTimeField(default=django.utils.timezone.now, verbose_name="opened"),
                ),
                ("answer", models.TextField(blank=True, verbose_name="answer")),
                ("answered_at", models.DateTimeField(null=True, verbose_name="answered")),
                (
                    "credit",
                    models.DecimalField(
                        decimal_places=4, max_digits=18, null=True, verbose_name="credit"
                    ),
                ),
            ],
            options={
                "verbose_name": "dispute",
                "verbose_name_plural": "disputes",
            },
        ),
        migrations.CreateModel(
            name="PoolTolerance",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("flavor", models.CharField(max_length=253, verbose_name="flavor")),
                ("resource", models.CharField(max_length=317, verbose_name="resource")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("gauge", "gauge"),
                            ("running", "running"),
                            ("billed", "billed"),
                            ("rate", "rate"),
                            ("unattributed", "unattributed"),
                        ],
                        max_length=12,
                        verbose_name="compared",
                    ),
                ),
                (
                    "relative",
                    models.DecimalField(
                        decimal_places=6, max_digits=7, verbose_name="part of the whole"
                    ),
                ),
                ("absolute", models.PositiveBigIntegerField(verbose_name="seconds at least")),
            ],
            options={
                "verbose_name": "tolerance of a pool",
                "verbose_name_plural": "tolerances of pools",
            },
        ),
        migrations.CreateModel(
            name="Reconciliation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now, verbose_name="run")),
                ("policies", models.JSONField(default=list, verbose_name="policies")),
                (
                    "method",
                    models.CharField(
                        blank=True, max_length=12, verbose_name="how the bill was matched"
                    ),
                ),
                ("inputs", models.CharField(max_length=64, verbose_name="inputs")),
                ("result", models.CharField(max_length=64, verbose_name="result")),
                (
                    "billed",
                    models.DecimalField(
                        decimal_places=4, max_digits=18, null=True, verbose_name="bill"
                    ),
                ),
                (
                    "tenants",
                    models.DecimalField(
                        decimal_places=4, max_digits=18, null=True, verbose_name="tenants"
                    ),
                ),
                (
                    "platform",
                    models.DecimalField(
                        decimal_places=4, max_digits=18, null=True, verbose_name="platform"
                    ),
                ),
                (
                    "listed",
                    models.DecimalField(
                        decimal_places=4, max_digits=18, null=True, verbose_name="by the price list"
                    ),
                ),
                ("hours", models.PositiveIntegerField(verbose_name="hours")),
                ("missing", models.PositiveIntegerField(verbose_name="hours without news")),
                ("findings", models.PositiveIntegerField(verbose_name="findings")),
                ("written", models.BooleanField(verbose_name="statements were written")),
            ],
            options={
                "verbose_name": "reconciliation",
                "verbose_name_plural": "reconciliations",
            },
        ),
        migrations.RemoveConstraint(
            model_name="discrepancy",
            name="discrepancy_resolved_by_somebody",
        ),
        migrations.AddField(
            model_name="discrepancy",
            name="allowed",
            field=models.DecimalField(
                decimal_places=6, default=0, max_digits=30, verbose_name="allowed"
            ),
        ),
        migrations.AddField(
            model_name="discrepancy",
            name="assignee",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="discrepancy",
            name="facts",
            field=models.JSONField(default=dict, verbose_name="facts"),
        ),
        migrations.AddField(
            model_name="discrepancy",
            name="money",
            field=models.DecimalField(
                decimal_places=4, max_digits=18, null=True, verbose_name="worth"
            ),
        ),
        migrations.AddField(
            model_name="discrepancy",
            name="unit",
            field=models.CharField(
                choices=[("seconds", "seconds"), ("money", "money"), ("rows", "rows")],
                default="seconds",
                max_length=8,
                verbose_name="unit",
            ),
        ),
        migrations.AlterField(
            model_name="discrepancy",
            name="subject",
            field=models.CharField(max_length=1200, verbose_name="about"),
        ),
        migrations.AddField(
            model_name="dispute",
            name="answered_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="dispute",
            name="booked",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="costs.statementline",
            ),
        ),
        migrations.AddField(
            model_name="dispute",
            name="opened_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="dispute",
            name="statement",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="disputes",
                to="costs.statement",
            ),
        ),
        migrations.AddField(
            model_name="pooltolerance",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.cluster"
            ),
        ),
        migrations.AddField(
            model_name="pooltolerance",
            name="set_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="reconciliation",
            name="actor",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="reconciliation",
            name="bill",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="costs.billfile",
            ),
        ),
        migrations.AddField(
            model_name="reconciliation",
            name="period",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="costs.period"
            ),
        ),
        migrations.AddField(
            model_name="reconciliation",
            name="prices",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="costs.priceversion",
            ),
        ),
        migrations.AddField(
            model_name="discrepancy",
            name="run",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="found",
                to="costs.reconciliation",
            ),
        ),
        migrations.AddField(
            model_name="discrepancy",
            name="settled_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="costs.reconciliation",
            ),
        ),
        migrations.AddConstraint(
            model_name="discrepancy",
            constraint=models.CheckConstraint(
                condition=models.Q(("unit__in", ["seconds", "money", "rows"])),
                name="discrepancy_unit",
            ),
        ),
        migrations.AddConstraint(
            model_name="discrepancy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("resolved_at", None), ("resolved_by", None), ("settled_by", None)),
                    models.Q(
                        ("resolved_at__isnull", False),
                        ("resolved_by__isnull", False),
                        models.Q(("resolution", ""), _negated=True),
                    ),
                    models.Q(
                        ("resolved_at__isnull", False),
                        ("resolved_by", None),
                        ("settled_by__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="discrepancy_resolved_by_somebody",
            ),
        ),
        migrations.AddConstraint(
            model_name="dispute",
            constraint=models.UniqueConstraint(
                models.F("statement"),
                models.F("flavor"),
                models.F("basis"),
                condition=models.Q(("state", "open")),
                name="dispute_one_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="dispute",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("answered_at", None), ("state", "open")),
                    models.Q(
                        ("answered_at__isnull", False),
                        ("state", "rejected"),
                        models.Q(("answer", ""), _negated=True),
                    ),
                    models.Q(
                        ("answered_at__isnull", False),
                        ("booked__isnull", False),
                        ("credit__gt", 0),
                        ("state", "accepted"),
                    ),
                    _connector="OR",
                ),
                name="dispute_answered",
            ),
        ),
        migrations.AddConstraint(
            model_name="pooltolerance",
            constraint=models.UniqueConstraint(
                models.F("cluster"),
                models.F("flavor"),
                models.F("resource"),
                models.F("kind"),
                name="pool_tolerance_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="pooltolerance",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind__in", ["gauge", "running", "billed", "rate", "unattributed"])
                ),
                name="pool_tolerance_kind",
            ),
        ),
        migrations.AddConstraint(
            model_name="pooltolerance",
            constraint=models.CheckConstraint(
                condition=models.Q(("relative__gte", 0), ("relative__lte", 1)),
                name="pool_tolerance_is_a_part",
            ),
        ),
        migrations.AddIndex(
            model_name="reconciliation",
            index=models.Index(fields=["period", "-at"], name="reconciliation_newest"),
        ),
    ]
