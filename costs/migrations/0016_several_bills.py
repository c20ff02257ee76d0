"""A month rests on the bills of several sources; a correction names the bill that said so.

A month that was written from one bill keeps it. In a month that is not closed, another source
with a bill of just this time was not divided, and is left out until somebody takes it in.
"""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

KEEP = """
INSERT INTO costs_periodbill (period_id, source_id, bill_id, amount, left_out)
SELECT p.id, f.source_id, p.bill_id, (
    SELECT coalesce(sum(l.amount), 0) FROM costs_statementline AS l
    JOIN costs_statement AS s ON s.id = l.statement_id
    WHERE s.period_id = p.id AND l.corrects_id IS NULL
), false
FROM costs_period AS p JOIN costs_billfile AS f ON f.id = p.bill_id;

INSERT INTO costs_periodbill (period_id, source_id, left_out)
SELECT p.id, f.source_id, true
FROM costs_period AS p
JOIN costs_billfile AS mine ON mine.id = p.bill_id
JOIN costs_billfile AS f ON f.period_starts = p.starts AND f.period_ends = p.ends
    AND f.state = 'active' AND f.source_id <> mine.source_id
JOIN costs_billsource AS s ON s.id = f.source_id AND s.kind IN ('focus', 'own')
WHERE p.state <> 'closed';
"""
KEEP_BACK = """
CREATE FUNCTION costs_bill_of(which bigint) RETURNS bigint LANGUAGE sql AS $$
    SELECT min(bill_id) FROM costs_periodbill WHERE period_id = which
$$;
ALTER TABLE costs_period ALTER COLUMN bill_id TYPE bigint USING costs_bill_of(id);
DROP FUNCTION costs_bill_of(bigint);
"""
#: Rows of runs are only ever added, so what they say is carried over by the change of a type.
CARRY = """
ALTER TABLE costs_reconciliation ALTER COLUMN bills TYPE jsonb USING (
    CASE WHEN bill_id IS NULL THEN '[]'::jsonb ELSE jsonb_build_array(bill_id) END
)
"""
CARRY_BACK = """
ALTER TABLE costs_reconciliation ALTER COLUMN bill_id TYPE bigint USING (bills->>0)::bigint
"""
BILLS_KEPT = """
CREATE FUNCTION costs_periodbill_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM costs_period WHERE state = 'closed' AND id IN (
        CASE WHEN TG_OP <> 'INSERT' THEN OLD.period_id END,
        CASE WHEN TG_OP <> 'DELETE' THEN NEW.period_id END
    );
    IF FOUND THEN
        PERFORM costs_refuse('bills of a closed period are not changed');
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$"""
MATCH_KEPT = """
CREATE OR REPLACE FUNCTION costs_match_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM costs_period AS p {joined} WHERE p.state = 'closed' AND {bill} IN (
        CASE WHEN TG_OP <> 'INSERT' THEN OLD.file_id END,
        CASE WHEN TG_OP <> 'DELETE' THEN NEW.file_id END
    );
    IF FOUND THEN
        PERFORM costs_refuse('a closed period rests on this bill');
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$"""
#: At the close the bills of a month are there, final, and what its statements add up to.
BILLS_AGREE = """
CREATE FUNCTION costs_period_bills_agree() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    billed numeric;
    charged numeric;
    named text;
BEGIN
    PERFORM pg_advisory_xact_lock(6515823);
    SELECT sum(amount) INTO billed FROM costs_periodbill
    WHERE period_id = NEW.id AND bill_id IS NOT NULL;
    IF billed IS NULL THEN
        PERFORM costs_refuse('a period is closed with a bill');
    END IF;
    SELECT string_agg(s.name || ': ' || f.name, ', ' ORDER BY s.name) INTO named
    FROM costs_periodbill AS b JOIN costs_billfile AS f ON f.id = b.bill_id
    JOIN costs_billsource AS s ON s.id = b.source_id
    WHERE b.period_id = NEW.id AND NOT f.finalized;
    IF named IS NOT NULL THEN
        PERFORM costs_refuse('these bills are not final: ' || named);
    END IF;
    SELECT coalesce(sum(l.amount), 0) INTO charged FROM costs_statementline AS l
    JOIN costs_statement AS s ON s.id = l.statement_id
    WHERE s.period_id = NEW.id AND l.corrects_id IS NULL;
    IF billed <> charged THEN
        PERFORM costs_refuse('lines of ' || charged || ' are not bills of ' || billed);
    END IF;
    RETURN NEW;
END
$$"""


def trigger(name, when, table, function, each="ROW", only=""):
    return migrations.RunSQL(
        f"CREATE TRIGGER {name} BEFORE {when} ON {table} FOR EACH {each} {only} "
        f"EXECUTE FUNCTION {function}()",
        f"DROP TRIGGER {name} ON {table}",
    )


class Migration(migrations.Migration):
    dependencies = [("costs", "0015_owners_told")]

    operations = [
        migrations.CreateModel(
            name="PeriodBill",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "amount",
                    models.DecimalField(
                        decimal_places=4, max_digits=18, null=True, verbose_name="amount"
                    ),
                ),
                ("left_out", models.BooleanField(default=False, verbose_name="left out")),
                (
                    "bill",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="periods",
                        to="costs.billfile",
                    ),
                ),
                (
                    "period",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="bills",
                        to="costs.period",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="costs.billsource",
                    ),
                ),
            ],
            options={
                "verbose_name": "bill of a period",
                "verbose_name_plural": "bills of periods",
                "constraints": [
                    models.UniqueConstraint(
                        models.F("period"), models.F("source"), name="period_bill_once"
                    ),
                    models.CheckConstraint(
                        condition=Q(bill__isnull=True, amount__isnull=True)
                        | Q(bill__isnull=False, amount__isnull=False, left_out=False),
                        name="period_bill_with_amount_or_left_out",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="statementline",
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
            name="bills",
            field=models.JSONField(default=list, verbose_name="bills"),
        ),
        migrations.RunSQL(KEEP, migrations.RunSQL.noop),
        migrations.RunSQL(CARRY, CARRY_BACK),
        migrations.RunSQL(
            MATCH_KEPT.format(
                joined="JOIN costs_periodbill AS b ON b.period_id = p.id", bill="b.bill_id"
            ),
            MATCH_KEPT.format(joined="", bill="p.bill_id"),
        ),
        migrations.RemoveConstraint(model_name="period", name="period_closed_says_by_what"),
        migrations.AddConstraint(
            model_name="period",
            constraint=models.CheckConstraint(
                condition=~Q(state="closed")
                | Q(
                    prices__isnull=False,
                    policy__isnull=False,
                    bill_total__isnull=False,
                    closed_by__isnull=False,
                    closed_at__isnull=False,
                ),
                name="period_closed_says_by_what",
            ),
        ),
        migrations.RunSQL(migrations.RunSQL.noop, KEEP_BACK),
        migrations.RemoveField(model_name="period", name="bill"),
        migrations.RemoveField(model_name="reconciliation", name="bill"),
        migrations.AlterField(
            model_name="period",
            name="bill_total",
            field=models.DecimalField(
                decimal_places=4, max_digits=18, null=True, verbose_name="bills"
            ),
        ),
        migrations.RunSQL(BILLS_KEPT, "DROP FUNCTION costs_periodbill_kept()"),
        migrations.RunSQL(BILLS_AGREE, "DROP FUNCTION costs_period_bills_agree()"),
        trigger(
            "kept_rows", "INSERT OR UPDATE OR DELETE", "costs_periodbill", "costs_periodbill_kept"
        ),
        trigger("kept_table", "TRUNCATE", "costs_periodbill", "gpuportal_append_only", "STATEMENT"),
        trigger(
            "writers_together", "INSERT OR UPDATE OR DELETE", "costs_periodbill",
            "costs_writers_together", "STATEMENT",
        ),
        trigger(
            "kept_with_bills", "UPDATE", "costs_period", "costs_period_bills_agree",
            only="WHEN (NEW.state = 'closed' AND OLD.state <> 'closed')",
        ),
    ]  # fmt: skip
