"""Bills joined with nodes; a closed period keeps what it rests on."""

import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
from django.db import migrations, models

FUNCTION = """
CREATE FUNCTION costs_match_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM costs_period WHERE state = 'closed' AND bill_id IN (
        CASE WHEN TG_OP <> 'INSERT' THEN OLD.file_id END,
        CASE WHEN TG_OP <> 'DELETE' THEN NEW.file_id END
    );
    IF FOUND THEN
        PERFORM costs_refuse('a closed period rests on this bill');
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$"""
#: Rows of these are made anew when a bill is joined again, as long as no closed period rests on it.
KEPT = ("costs_billedhour", "costs_billmatch", "costs_billfinding")


def trigger(name, when, table, each, function):
    return migrations.RunSQL(
        f"CREATE TRIGGER {name} BEFORE {when} ON {table} "
        f"FOR EACH {each} EXECUTE FUNCTION {function}()",
        f"DROP TRIGGER {name} ON {table}",
    )


def triggers():
    when = "INSERT OR UPDATE OR DELETE"
    for table in KEPT:
        yield trigger("kept_rows", when, table, "ROW", "costs_match_kept")
        yield trigger("kept_table", "TRUNCATE", table, "STATEMENT", "gpuportal_append_only")
    yield trigger("writers_together", when, KEPT[0], "STATEMENT", "costs_writers_together")
    yield trigger("kept_rows", "UPDATE OR DELETE", "costs_matching", "ROW", "gpuportal_append_only")


class Migration(migrations.Migration):
    dependencies = [
        ("costs", "0011_generated_time"),
        ("tenants", "0004_sessions"),
    ]

    operations = [
        migrations.CreateModel(
            name="BilledHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "bucket",
                    models.CharField(
                        blank=True, max_length=16, verbose_name="paid by the platform"
                    ),
                ),
                ("flavor", models.CharField(blank=True, max_length=253, verbose_name="flavor")),
                ("resource", models.CharField(blank=True, max_length=317, verbose_name="resource")),
                ("hour", models.DateTimeField(null=True, verbose_name="hour")),
                ("seconds", models.BigIntegerField(null=True, verbose_name="billed")),
                ("orphan", models.BigIntegerField(default=0, verbose_name="not in the cluster")),
                ("unknown", models.BigIntegerField(default=0, verbose_name="not counted")),
                (
                    "cost",
                    models.DecimalField(
                        decimal_places=10, max_digits=30, verbose_name="effective cost"
                    ),
                ),
                ("spread", models.BooleanField(default=False, verbose_name="spread")),
            ],
            options={
                "verbose_name": "billed hour",
                "verbose_name_plural": "billed hours",
            },
        ),
        migrations.CreateModel(
            name="BillFinding",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "code",
                    models.CharField(
                        choices=[
                            ("matched", "matched"),
                            ("within_tolerance", "within_tolerance"),
                            ("provisional", "provisional"),
                            ("harvest_gap", "harvest_gap"),
                            ("interval_gap", "interval_gap"),
                            ("stuck_open", "stuck_open"),
                            ("over_capacity", "over_capacity"),
                            ("overdraft", "overdraft"),
                            ("run_over_admit", "run_over_admit"),
                            ("admit_not_running", "admit_not_running"),
                            ("unmanaged", "unmanaged"),
                            ("unattributed", "unattributed"),
                            ("unattributed_use", "unattributed_use"),
                            ("used_unknown", "used_unknown"),
                            ("shared_device", "shared_device"),
                            ("mig_mismatch", "mig_mismatch"),
                            ("orphan_node", "orphan_node"),
                            ("cluster_not_billed", "cluster_not_billed"),
                            ("over_billed", "over_billed"),
                            ("under_billed", "under_billed"),
                            ("untagged", "untagged"),
                            ("mistagged", "mistagged"),
                            ("unpriced", "unpriced"),
                            ("rate_drift", "rate_drift"),
                            ("currency_missing", "currency_missing"),
                            ("late_correction", "late_correction"),
                            ("double_split", "double_split"),
                            ("flavor_conflict", "flavor_conflict"),
                        ],
                        max_length=24,
                        verbose_name="finding",
                    ),
                ),
                ("subject", models.CharField(max_length=1024, verbose_name="about")),
                ("node", models.CharField(blank=True, max_length=253, verbose_name="node")),
                (
                    "difference",
                    models.DecimalField(decimal_places=6, max_digits=30, verbose_name="difference"),
                ),
                ("whole", models.DecimalField(decimal_places=6, max_digits=30, verbose_name="of")),
                (
                    "money",
                    models.DecimalField(decimal_places=10, max_digits=30, verbose_name="worth"),
                ),
            ],
            options={
                "verbose_name": "finding about a bill",
                "verbose_name_plural": "findings about bills",
            },
        ),
        migrations.CreateModel(
            name="BillMatch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField(verbose_name="day")),
                ("subject", models.CharField(max_length=1024, verbose_name="about")),
                (
                    "method",
                    models.CharField(
                        choices=[
                            ("machine", "machine"),
                            ("group", "group"),
                            ("tag", "tag"),
                            ("kind", "kind"),
                            ("none", "none"),
                        ],
                        max_length=8,
                        verbose_name="found by",
                    ),
                ),
                (
                    "bucket",
                    models.CharField(
                        blank=True, max_length=16, verbose_name="paid by the platform"
                    ),
                ),
                ("node", models.CharField(blank=True, max_length=253, verbose_name="node")),
                ("flavor", models.CharField(blank=True, max_length=253, verbose_name="flavor")),
                ("resource", models.CharField(blank=True, max_length=317, verbose_name="resource")),
                ("devices", models.PositiveIntegerField(default=0, verbose_name="devices")),
                ("seconds", models.BigIntegerField(verbose_name="billed")),
                ("seen", models.BigIntegerField(verbose_name="seen")),
                ("orphan", models.BigIntegerField(verbose_name="not in the cluster")),
                ("unknown", models.BigIntegerField(verbose_name="not counted")),
                (
                    "billed",
                    models.DecimalField(decimal_places=12, max_digits=30, verbose_name="billed"),
                ),
                (
                    "effective",
                    models.DecimalField(decimal_places=12, max_digits=30, verbose_name="effective"),
                ),
                ("spread", models.BooleanField(default=False, verbose_name="spread")),
            ],
            options={
                "verbose_name": "match of a bill",
                "verbose_name_plural": "matches of bills",
            },
        ),
        migrations.CreateModel(
            name="BillPart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("content", models.BinaryField()),
            ],
            options={
                "verbose_name": "piece of a file",
                "verbose_name_plural": "pieces of files",
            },
        ),
        migrations.CreateModel(
            name="Matching",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "at",
                    models.DateTimeField(default=django.utils.timezone.now, verbose_name="joined"),
                ),
                ("result", models.CharField(max_length=64)),
            ],
            options={
                "verbose_name": "join of a bill",
                "verbose_name_plural": "joins of bills",
            },
        ),
        migrations.CreateModel(
            name="OpinionLine",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("row", models.PositiveBigIntegerField(verbose_name="row")),
                ("starts", models.DateTimeField(verbose_name="from")),
                ("ends", models.DateTimeField(verbose_name="to")),
                (
                    "namespace",
                    models.CharField(blank=True, max_length=253, verbose_name="namespace"),
                ),
                ("team", models.CharField(blank=True, max_length=253, verbose_name="team")),
                ("machine", models.CharField(blank=True, max_length=1024, verbose_name="machine")),
                ("held", models.BigIntegerField(null=True, verbose_name="allocated")),
                ("borrowed", models.BigIntegerField(null=True, verbose_name="borrowed")),
                (
                    "cost",
                    models.DecimalField(
                        decimal_places=12, max_digits=30, null=True, verbose_name="cost"
                    ),
                ),
                (
                    "unused",
                    models.DecimalField(
                        decimal_places=12, max_digits=30, null=True, verbose_name="unused"
                    ),
                ),
            ],
            options={
                "verbose_name": "line of another report",
                "verbose_name_plural": "lines of other reports",
            },
        ),
        migrations.AddField(
            model_name="billfile",
            name="sums",
            field=models.JSONField(db_default={}, default=dict, verbose_name="sums"),
        ),
        migrations.AddField(
            model_name="billsource",
            name="kind",
            field=models.CharField(
                choices=[
                    ("focus", "bill in the FOCUS format"),
                    ("own", "own machines: amortisation, power, staff"),
                    ("split", "AWS split cost allocation, to compare"),
                    ("usage", "HyperPod usage report, to compare"),
                ],
                default="focus",
                max_length=8,
                verbose_name="kind",
            ),
        ),
        migrations.AddField(
            model_name="billsource",
            name="tenant_tag",
            field=models.CharField(blank=True, max_length=120, verbose_name="tag of the tenant"),
        ),
        migrations.AddConstraint(
            model_name="billsource",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["focus", "own", "split", "usage"])),
                name="bill_source_kind",
            ),
        ),
        migrations.AddField(
            model_name="billedhour",
            name="cluster",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tenants.cluster",
            ),
        ),
        migrations.AddField(
            model_name="billedhour",
            name="file",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="hours",
                to="costs.billfile",
            ),
        ),
        migrations.AddField(
            model_name="billfinding",
            name="cluster",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tenants.cluster",
            ),
        ),
        migrations.AddField(
            model_name="billfinding",
            name="file",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="findings",
                to="costs.billfile",
            ),
        ),
        migrations.AddField(
            model_name="billmatch",
            name="cluster",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tenants.cluster",
            ),
        ),
        migrations.AddField(
            model_name="billmatch",
            name="file",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="matches",
                to="costs.billfile",
            ),
        ),
        migrations.AddField(
            model_name="billpart",
            name="file",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="parts",
                to="costs.billfile",
            ),
        ),
        migrations.AddField(
            model_name="matching",
            name="file",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="matchings",
                to="costs.billfile",
            ),
        ),
        migrations.AddField(
            model_name="opinionline",
            name="file",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="opinions",
                to="costs.billfile",
            ),
        ),
        migrations.AddIndex(
            model_name="billedhour",
            index=models.Index(
                models.F("cluster"),
                models.F("flavor"),
                models.F("resource"),
                models.F("hour"),
                name="billed_hour_of_pool",
            ),
        ),
        migrations.AddConstraint(
            model_name="billedhour",
            constraint=models.UniqueConstraint(
                models.F("file"),
                models.F("bucket"),
                models.F("cluster"),
                models.F("flavor"),
                models.F("resource"),
                models.F("hour"),
                name="billed_hour_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="billedhour",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("bucket", ""), ("cluster__isnull", False), ("hour__isnull", False)),
                    models.Q(
                        ("bucket__startswith", "*"),
                        ("cluster__isnull", True),
                        ("hour__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="billed_hour_has_one_place",
            ),
        ),
        migrations.AddConstraint(
            model_name="billedhour",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("orphan__gte", 0),
                    ("unknown__gte", 0),
                    models.Q(
                        ("seconds__isnull", True),
                        (
                            "seconds__gte",
                            django.db.models.expressions.CombinedExpression(
                                models.F("orphan"), "+", models.F("unknown")
                            ),
                        ),
                        _connector="OR",
                    ),
                ),
                name="billed_hour_parts",
            ),
        ),
        migrations.AddIndex(
            model_name="billfinding",
            index=models.Index(models.F("file"), models.F("code"), name="bill_finding_of_file"),
        ),
        migrations.AddConstraint(
            model_name="billfinding",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "code__in",
                        [
                            "matched",
                            "within_tolerance",
                            "provisional",
                            "harvest_gap",
                            "interval_gap",
                            "stuck_open",
                            "over_capacity",
                            "overdraft",
                            "run_over_admit",
                            "admit_not_running",
                            "unmanaged",
                            "unattributed",
                            "unattributed_use",
                            "used_unknown",
                            "shared_device",
                            "mig_mismatch",
                            "orphan_node",
                            "cluster_not_billed",
                            "over_billed",
                            "under_billed",
                            "untagged",
                            "mistagged",
                            "unpriced",
                            "rate_drift",
                            "currency_missing",
                            "late_correction",
                            "double_split",
                            "flavor_conflict",
                        ],
                    )
                ),
                name="bill_finding_code",
            ),
        ),
        migrations.AddIndex(
            model_name="billmatch",
            index=models.Index(models.F("file"), models.F("subject"), name="bill_match_of_file"),
        ),
        migrations.AddConstraint(
            model_name="billmatch",
            constraint=models.CheckConstraint(
                condition=models.Q(("method__in", ["machine", "group", "tag", "kind", "none"])),
                name="bill_match_method",
            ),
        ),
        migrations.AddConstraint(
            model_name="billpart",
            constraint=models.UniqueConstraint(
                models.F("file"), models.F("number"), name="bill_part_once"
            ),
        ),
        migrations.AddIndex(
            model_name="matching",
            index=models.Index(fields=["file", "-at"], name="matching_newest"),
        ),
        migrations.AddConstraint(
            model_name="opinionline",
            constraint=models.UniqueConstraint(
                models.F("file"), models.F("row"), name="opinion_line_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="opinionline",
            constraint=models.CheckConstraint(
                condition=models.Q(("ends__gt", models.F("starts"))), name="opinion_line_has_length"
            ),
        ),
        migrations.RunSQL(FUNCTION, "DROP FUNCTION costs_match_kept()"),
        *triggers(),
    ]
