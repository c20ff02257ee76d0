"""What counts is kept: versions in use, rows of bills, closed months. The database says so itself.

Writers of facts and statements hold a lock together, and closing a period takes it alone: so no
row slips into a month while it is being closed.
"""

from django.db import migrations

# 6515823 is "clo" in bytes: it keeps this lock apart from other advisory locks.

FUNCTIONS = {
    "costs_refuse(what text)": """
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', what USING ERRCODE = 'insufficient_privilege';
END
$$""",
    "costs_writers_together()": """
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(6515823);
    RETURN NULL;
END
$$""",
    # A version of prices or of a policy: free as a draft, then only its state may go on.
    "costs_version_kept()": """
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = 'draft' THEN
        RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    END IF;
    IF TG_OP = 'DELETE' OR OLD.state = 'retired' OR NEW.state = 'draft'
        OR to_jsonb(NEW) - '{state,version}'::text[] <> to_jsonb(OLD) - '{state,version}'::text[]
    THEN
        PERFORM costs_refuse(TG_TABLE_NAME || ': only a draft can be changed');
    END IF;
    RETURN NEW;
END
$$""",
    "costs_price_kept()": """
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    which bigint := CASE TG_OP WHEN 'INSERT' THEN NEW.price_version_id
                            ELSE OLD.price_version_id END;
    now_is text;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.price_version_id <> OLD.price_version_id THEN
        PERFORM costs_refuse('a price stays in its version');
    END IF;
    SELECT state INTO now_is FROM costs_priceversion WHERE id = which FOR SHARE;
    IF now_is <> 'draft' THEN
        PERFORM costs_refuse('prices of a version that is in use are not changed');
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$""",
    "costs_billfile_kept()": """
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR (OLD.state <> 'staged' AND (NEW.state = 'staged'
        OR to_jsonb(NEW) - '{state,version,finalized}'::text[]
            <> to_jsonb(OLD) - '{state,version,finalized}'::text[]))
    THEN
        PERFORM costs_refuse('a bill is kept as it was read');
    END IF;
    RETURN NEW;
END
$$""",
    "costs_billline_kept()": """
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    which bigint := CASE TG_OP WHEN 'INSERT' THEN NEW.file_id ELSE OLD.file_id END;
    now_is text;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.file_id <> OLD.file_id THEN
        PERFORM costs_refuse('a row stays in its bill');
    END IF;
    SELECT state INTO now_is FROM costs_billfile WHERE id = which FOR SHARE;
    IF now_is <> 'staged' THEN
        PERFORM costs_refuse('rows of a bill are kept as they were read');
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$""",
    "costs_hour_kept()": """
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    moment timestamptz := CASE TG_OP WHEN 'INSERT' THEN NEW.hour ELSE OLD.hour END;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.hour <> OLD.hour THEN
        PERFORM costs_refuse('a fact stays in its hour');
    END IF;
    PERFORM FROM costs_period WHERE state = 'closed' AND starts <= moment AND ends > moment;
    IF FOUND THEN
        PERFORM costs_refuse('the hour ' || moment || ' is in a period that is closed');
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$""",
    "costs_statement_kept()": """
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM costs_period WHERE state = 'closed' AND id IN (
        CASE WHEN TG_OP <> 'INSERT' THEN OLD.period_id END,
        CASE WHEN TG_OP <> 'DELETE' THEN NEW.period_id END
    );
    IF FOUND THEN
        PERFORM costs_refuse('statements of a closed period are not changed');
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$""",
    "costs_statementline_kept()": """
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM costs_statement AS s JOIN costs_period AS p ON p.id = s.period_id
    WHERE p.state = 'closed' AND s.id IN (
        CASE WHEN TG_OP <> 'INSERT' THEN OLD.statement_id END,
        CASE WHEN TG_OP <> 'DELETE' THEN NEW.statement_id END
    );
    IF FOUND THEN
        PERFORM costs_refuse('lines of a closed period are not changed');
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$""",
    # Closing is the one moment at which everything must agree.
    "costs_period_kept()": """
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    found text;
    total numeric;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state <> 'open' THEN
            PERFORM costs_refuse('a period begins open');
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.state = 'closed' THEN
        PERFORM costs_refuse('a closed period is not changed');
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    IF NEW.state = 'closed' THEN
        IF OLD.state <> 'review' THEN
            PERFORM costs_refuse('a period is reviewed before it is closed');
        END IF;
        PERFORM pg_advisory_xact_lock(6515823);
        SELECT string_agg(code || ' ' || subject, ', ' ORDER BY code, subject) INTO found
        FROM costs_discrepancy
        WHERE period_id = NEW.id AND blocks AND resolved_at IS NULL;
        IF found IS NOT NULL THEN
            PERFORM costs_refuse('the period cannot be closed: ' || found);
        END IF;
        SELECT coalesce(sum(s.total), 0) INTO total FROM costs_statement AS s
        WHERE s.period_id = NEW.id;
        IF total IS DISTINCT FROM NEW.bill_total THEN
            PERFORM costs_refuse('statements of ' || total || ' are not the bill of '
                || coalesce(NEW.bill_total::text, 'nothing'));
        END IF;
        PERFORM FROM costs_statement AS s WHERE s.period_id = NEW.id AND s.total IS DISTINCT FROM (
            SELECT coalesce(sum(l.amount), 0) FROM costs_statementline AS l
            WHERE l.statement_id = s.id
        );
        IF FOUND THEN
            PERFORM costs_refuse('lines of a statement are not its total');
        END IF;
    END IF;
    RETURN NEW;
END
$$""",
}

ROWS = {
    "costs_priceversion": ("UPDATE OR DELETE", "costs_version_kept"),
    "costs_policyversion": ("UPDATE OR DELETE", "costs_version_kept"),
    "costs_price": ("INSERT OR UPDATE OR DELETE", "costs_price_kept"),
    "costs_exchangerate": ("UPDATE OR DELETE", "gpuportal_append_only"),
    "costs_billfile": ("UPDATE OR DELETE", "costs_billfile_kept"),
    "costs_billline": ("INSERT OR UPDATE OR DELETE", "costs_billline_kept"),
    "costs_billproblem": ("UPDATE OR DELETE", "gpuportal_append_only"),
    "costs_run": ("UPDATE OR DELETE", "gpuportal_append_only"),
    "costs_tenanthour": ("INSERT OR UPDATE OR DELETE", "costs_hour_kept"),
    "costs_poolhour": ("INSERT OR UPDATE OR DELETE", "costs_hour_kept"),
    "costs_period": ("INSERT OR UPDATE OR DELETE", "costs_period_kept"),
    "costs_statement": ("INSERT OR UPDATE OR DELETE", "costs_statement_kept"),
    "costs_statementline": ("INSERT OR UPDATE OR DELETE", "costs_statementline_kept"),
}
TOGETHER = ("costs_tenanthour", "costs_poolhour", "costs_statement", "costs_statementline")


def functions():
    for name, body in FUNCTIONS.items():
        plain = name.replace("what ", "")
        yield migrations.RunSQL(f"CREATE FUNCTION {name} {body}", f"DROP FUNCTION {plain}")


def trigger(name, when, table, each, function):
    return migrations.RunSQL(
        f"CREATE TRIGGER {name} BEFORE {when} ON {table} "
        f"FOR EACH {each} EXECUTE FUNCTION {function}()",
        f"DROP TRIGGER {name} ON {table}",
    )


def triggers():
    for table, (when, function) in ROWS.items():
        yield trigger("kept_rows", when, table, "ROW", function)
        yield trigger("kept_table", "TRUNCATE", table, "STATEMENT", "gpuportal_append_only")
    for table in TOGETHER:
        when = "INSERT OR UPDATE OR DELETE"
        yield trigger("writers_together", when, table, "STATEMENT", "costs_writers_together")


class Migration(migrations.Migration):
    dependencies = [("costs", "0001_initial"), ("tenants", "0002_append_only")]

    operations = [*functions(), *triggers()]
