"""What a closed month rests on is kept too: its findings, its runs, the currency of its amounts.

A month that is charged needs two people; the database asks for them as well. What a tenant has
said, and what was answered, is only ever added to.
"""

from django.db import migrations

FUNCTIONS = {
    "costs_finding_kept()": """
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM costs_period WHERE state = 'closed' AND id IN (
        CASE WHEN TG_OP <> 'INSERT' THEN OLD.period_id END,
        CASE WHEN TG_OP <> 'DELETE' THEN NEW.period_id END
    );
    IF FOUND THEN
        PERFORM costs_refuse('findings of a closed period are not changed');
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$""",
    "costs_dispute_kept()": """
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR OLD.state <> 'open'
        OR (NEW.statement_id, NEW.flavor, NEW.basis, NEW.amount, NEW.text, NEW.opened_by_id,
            NEW.opened_at) IS DISTINCT FROM (OLD.statement_id, OLD.flavor, OLD.basis, OLD.amount,
            OLD.text, OLD.opened_by_id, OLD.opened_at)
    THEN
        PERFORM costs_refuse('a dispute and its answer are kept as they were written');
    END IF;
    RETURN NEW;
END
$$""",
    # Amounts without their currency say something else.
    "costs_pricebook_kept()": """
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.currency, NEW.purpose) IS DISTINCT FROM (OLD.currency, OLD.purpose) AND EXISTS (
        SELECT FROM costs_period WHERE book_id = OLD.id
        UNION ALL SELECT FROM costs_priceversion WHERE book_id = OLD.id AND state <> 'draft')
    THEN
        PERFORM costs_refuse('currency and purpose of a price book that is in use are kept');
    END IF;
    RETURN NEW;
END
$$""",
    "costs_billsource_kept()": """
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.currency <> OLD.currency AND EXISTS (
        SELECT FROM costs_billfile WHERE source_id = OLD.id AND state IN ('active', 'replaced'))
    THEN
        PERFORM costs_refuse('the currency of a source of bills is kept');
    END IF;
    RETURN NEW;
END
$$""",
    "costs_period_by_two()": """
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM costs_pricebook WHERE id = NEW.book_id AND purpose = 'chargeback';
    IF FOUND AND (NEW.reviewed_by_id IS NULL OR NEW.reviewed_by_id = NEW.closed_by_id) THEN
        PERFORM costs_refuse('what is charged is closed by a second person');
    END IF;
    RETURN NEW;
END
$$""",
}

#: Name of the trigger, when, on which table, the function.
TRIGGERS = (
    ("kept_rows", "INSERT OR UPDATE OR DELETE", "costs_discrepancy", "costs_finding_kept"),
    ("kept_rows", "UPDATE OR DELETE", "costs_dispute", "costs_dispute_kept"),
    ("kept_rows", "UPDATE OR DELETE", "costs_reconciliation", "gpuportal_append_only"),
    ("kept_rows", "UPDATE", "costs_pricebook", "costs_pricebook_kept"),
    ("kept_rows", "UPDATE", "costs_billsource", "costs_billsource_kept"),
)
TABLES = ("costs_discrepancy", "costs_dispute", "costs_reconciliation")


def trigger(name, when, table, function, each="ROW", only=""):
    return migrations.RunSQL(
        f"CREATE TRIGGER {name} BEFORE {when} ON {table} FOR EACH {each} {only} "
        f"EXECUTE FUNCTION {function}()",
        f"DROP TRIGGER {name} ON {table}",
    )


class Migration(migrations.Migration):
    dependencies = [("costs", "0005_reconciliation")]

    operations = [
        *(
            migrations.RunSQL(f"CREATE FUNCTION {name} {body}", f"DROP FUNCTION {name}")
            for name, body in FUNCTIONS.items()
        ),
        *(trigger(*each) for each in TRIGGERS),
        *(
            trigger("kept_table", "TRUNCATE", table, "gpuportal_append_only", "STATEMENT")
            for table in TABLES
        ),
        trigger(
            "kept_by_two", "UPDATE", "costs_period", "costs_period_by_two",
            only="WHEN (NEW.state = 'closed' AND OLD.state <> 'closed')",
        ),
    ]  # fmt: skip
