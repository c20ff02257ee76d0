"""Days and months beside the hours; a run says what was on record when it counted."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("costs", "0003_periods_do_not_overlap"),
        ("tenants", "0004_sessions"),
    ]

    operations = [
        migrations.CreateModel(
            name="PoolDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("flavor", models.CharField(max_length=253, verbose_name="flavor")),
                ("resource", models.CharField(max_length=317, verbose_name="resource")),
                ("ready", models.BigIntegerField(verbose_name="ready")),
                ("cordoned", models.BigIntegerField(verbose_name="cordoned")),
                ("down", models.BigIntegerField(verbose_name="down")),
                ("nominal", models.BigIntegerField(verbose_name="quota of departments")),
                ("borrowed", models.BigIntegerField(verbose_name="borrowed of it")),
                ("overdraft", models.BigIntegerField(verbose_name="overdraft")),
                ("starts", models.DateField(verbose_name="starts")),
                ("hours", models.PositiveIntegerField(verbose_name="hours")),
            ],
            options={
                "verbose_name": "day of a pool",
                "verbose_name_plural": "days of pools",
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="PoolMonth",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("flavor", models.CharField(max_length=253, verbose_name="flavor")),
                ("resource", models.CharField(max_length=317, verbose_name="resource")),
                ("ready", models.BigIntegerField(verbose_name="ready")),
                ("cordoned", models.BigIntegerField(verbose_name="cordoned")),
                ("down", models.BigIntegerField(verbose_name="down")),
                ("nominal", models.BigIntegerField(verbose_name="quota of departments")),
                ("borrowed", models.BigIntegerField(verbose_name="borrowed of it")),
                ("overdraft", models.BigIntegerField(verbose_name="overdraft")),
                ("starts", models.DateField(verbose_name="starts")),
                ("hours", models.PositiveIntegerField(verbose_name="hours")),
            ],
            options={
                "verbose_name": "month of a pool",
                "verbose_name_plural": "months of pools",
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="TenantDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("flavor", models.CharField(max_length=253, verbose_name="flavor")),
                ("resource", models.CharField(max_length=317, verbose_name="resource")),
                ("committed", models.BigIntegerField(verbose_name="committed")),
                ("held", models.BigIntegerField(verbose_name="held")),
                ("own", models.BigIntegerField(verbose_name="own")),
                ("borrowed", models.BigIntegerField(verbose_name="borrowed")),
                ("lent", models.BigIntegerField(verbose_name="lent")),
                ("overdraft", models.BigIntegerField(verbose_name="overdraft")),
                ("excess", models.BigIntegerField(verbose_name="above quota")),
                ("reserved", models.BigIntegerField(verbose_name="reserved")),
                ("admitted", models.BigIntegerField(verbose_name="admitted")),
                ("draining", models.BigIntegerField(verbose_name="draining")),
                ("running", models.BigIntegerField(verbose_name="running")),
                ("terminating", models.BigIntegerField(verbose_name="terminating")),
                ("unmanaged", models.BigIntegerField(verbose_name="unmanaged")),
                ("held_least", models.BigIntegerField(verbose_name="held at least")),
                ("held_most", models.BigIntegerField(verbose_name="held at most")),
                ("used", models.BigIntegerField(null=True, verbose_name="used")),
                ("seen", models.BigIntegerField(null=True, verbose_name="seen")),
                ("expected", models.BigIntegerField(null=True, verbose_name="expected")),
                (
                    "quality",
                    models.CharField(
                        choices=[
                            ("observed", "observed"),
                            ("estimated", "estimated"),
                            ("partial", "partial"),
                            ("missing", "missing"),
                        ],
                        max_length=10,
                        verbose_name="quality",
                    ),
                ),
                ("starts", models.DateField(verbose_name="starts")),
                ("hours", models.PositiveIntegerField(verbose_name="hours")),
                ("coverage", models.PositiveIntegerField(verbose_name="coverage")),
            ],
            options={
                "verbose_name": "day of a tenant",
                "verbose_name_plural": "days of tenants",
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="TenantMonth",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("flavor", models.CharField(max_length=253, verbose_name="flavor")),
                ("resource", models.CharField(max_length=317, verbose_name="resource")),
                ("committed", models.BigIntegerField(verbose_name="committed")),
                ("held", models.BigIntegerField(verbose_name="held")),
                ("own", models.BigIntegerField(verbose_name="own")),
                ("borrowed", models.BigIntegerField(verbose_name="borrowed")),
                ("lent", models.BigIntegerField(verbose_name="lent")),
                ("overdraft", models.BigIntegerField(verbose_name="overdraft")),
                ("excess", models.BigIntegerField(verbose_name="above quota")),
                ("reserved", models.BigIntegerField(verbose_name="reserved")),
                ("admitted", models.BigIntegerField(verbose_name="admitted")),
                ("draining", models.BigIntegerField(verbose_name="draining")),
                ("running", models.BigIntegerField(verbose_name="running")),
                ("terminating", models.BigIntegerField(verbose_name="terminating")),
                ("unmanaged", models.BigIntegerField(verbose_name="unmanaged")),
                ("held_least", models.BigIntegerField(verbose_name="held at least")),
                ("held_most", models.BigIntegerField(verbose_name="held at most")),
                ("used", models.BigIntegerField(null=True, verbose_name="used")),
                ("seen", models.BigIntegerField(null=True, verbose_name="seen")),
                ("expected", models.BigIntegerField(null=True, verbose_name="expected")),
                (
                    "quality",
                    models.CharField(
                        choices=[
                            ("observed", "observed"),
                            ("estimated", "estimated"),
                            ("partial", "partial"),
                            ("missing", "missing"),
                        ],
                        max_length=10,
                        verbose_name="quality",
                    ),
                ),
                ("starts", models.DateField(verbose_name="starts")),
                ("hours", models.PositiveIntegerField(verbose_name="hours")),
                ("coverage", models.PositiveIntegerField(verbose_name="coverage")),
            ],
            options={
                "verbose_name": "month of a tenant",
                "verbose_name_plural": "months of tenants",
                "abstract": False,
            },
        ),
        migrations.AlterField(
            model_name="run",
            name="at",
            field=models.DateTimeField(default=django.utils.timezone.now, verbose_name="counted"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(models.F("cluster"), models.F("ends"), name="run_by_end"),
        ),
        migrations.AddField(
            model_name="poolday",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.cluster"
            ),
        ),
        migrations.AddField(
            model_name="poolmonth",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.cluster"
            ),
        ),
        migrations.AddField(
            model_name="tenantday",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.cluster"
            ),
        ),
        migrations.AddField(
            model_name="tenantday",
            name="tenant",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tenants.tenant",
            ),
        ),
        migrations.AddField(
            model_name="tenantmonth",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.cluster"
            ),
        ),
        migrations.AddField(
            model_name="tenantmonth",
            name="tenant",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tenants.tenant",
            ),
        ),
        migrations.AddConstraint(
            model_name="poolday",
            constraint=models.UniqueConstraint(
                models.F("starts"),
                models.F("cluster"),
                models.F("flavor"),
                models.F("resource"),
                name="poolday_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="poolmonth",
            constraint=models.UniqueConstraint(
                models.F("starts"),
                models.F("cluster"),
                models.F("flavor"),
                models.F("resource"),
                name="poolmonth_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="tenantday",
            constraint=models.UniqueConstraint(
                models.F("starts"),
                models.F("cluster"),
                models.F("tenant"),
                models.F("flavor"),
                models.F("resource"),
                name="tenantday_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="tenantday",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("quality__in", ["observed", "estimated", "partial", "missing"])
                ),
                name="tenantday_quality",
            ),
        ),
        migrations.AddConstraint(
            model_name="tenantmonth",
            constraint=models.UniqueConstraint(
                models.F("starts"),
                models.F("cluster"),
                models.F("tenant"),
                models.F("flavor"),
                models.F("resource"),
                name="tenantmonth_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="tenantmonth",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("quality__in", ["observed", "estimated", "partial", "missing"])
                ),
                name="tenantmonth_quality",
            ),
        ),
    ]
