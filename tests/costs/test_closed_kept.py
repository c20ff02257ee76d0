"""Nothing of a closed month can be changed by the application's role, by whatever SQL."""

from decimal import Decimal

import pytest
from django.db import DatabaseError, connection, transaction

from costs.models import ExchangeRate, Period
from costs.services import closing, disputes, findings, reconcile
from tests.costs.ledger_rows import OCTOBER
from tests.costs.test_reconcile import AFTER, november

pytestmark = pytest.mark.django_db
#: What belongs to a month, and what may still move of it: a file or version is replaced by a
#: newer one without changing itself, and things may be renamed.
TABLES = {
    "costs_period": set(), "costs_periodbill": set(), "costs_statement": set(),
    "costs_statementline": set(),
    "costs_tenanthour": set(), "costs_poolhour": set(), "costs_run": set(),
    "costs_billline": set(), "costs_billfile": {"state", "version", "finalized"},
    "costs_price": set(), "costs_priceversion": {"state", "version"},
    "costs_policyversion": {"state", "version"}, "costs_exchangerate": set(),
    "costs_discrepancy": set(), "costs_reconciliation": set(), "costs_dispute": set(),
    "costs_pricebook": {"id", "name"},
    "costs_billsource": {"id", "name", "accounts", "kind", "tenant_tag"},
}  # fmt: skip
OTHER = {
    "bigint": "{c} + 1", "integer": "{c} + 1", "smallint": "{c} - 1", "numeric": "{c} + 1",
    "character varying": "left({c} || 'x', 3) || 'y'", "text": "{c} || 'x'",
    "boolean": "NOT {c}", "timestamp with time zone": "{c} + interval '1 hour'",
    "date": "{c} + 31", "jsonb": "'[\"x\"]'::jsonb", "ARRAY": "{c} || 1::bigint",
}  # fmt: skip
NULLS = {
    "bigint": "1", "integer": "1", "numeric": "1", "timestamp with time zone": "now()",
    "character varying": "'x'", "text": "'x'", "boolean": "true", "jsonb": "'[]'::jsonb",
    "smallint": "1", "date": "now()::date", "ARRAY": "'{1}'::bigint[]",
}  # fmt: skip


@pytest.fixture
def closed(lab):
    """A month that was reconciled, disputed, settled and closed, with a row in every table."""
    period = november(lab, purpose="chargeback")
    reconcile.run(period=period, now=AFTER, actor=lab.dave)
    for finding in period.discrepancies.filter(resolved_at=None):
        findings.resolve(finding=finding, actor=lab.dave, reason="agreed")
    row = disputes.dispute(
        statement=period.statements.get(tenant=lab.nlp), flavor="a100", basis="borrowed",
        text="too much", actor=lab.alice,
    )  # fmt: skip
    disputes.accept(dispute=row, credit=Decimal("1.00"), answer="right", actor=lab.dave)
    ExchangeRate.objects.create(
        month=OCTOBER.date(), base="EUR", quote="USD", rate=1, source="by hand"
    )
    closing.review(period=period, actor=lab.carol)
    return closing.close(period=period, actor=lab.dave, now=AFTER)


def everything():
    """Return all rows of the month's tables as text, without what may still move."""
    found = []
    with connection.cursor() as cursor:
        for table, free in TABLES.items():
            names = ", ".join(name for name, _ in columns(table) if name not in free)
            cursor.execute(f"SELECT {names} FROM {table} ORDER BY id")  # noqa: S608
            found.append((table, cursor.fetchall()))
    return found


def columns(table):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_schema = 'public' AND table_name = %s",
            [table],
        )
        return cursor.fetchall()


def tried(statement):
    """Run a statement as the application does; return what the database says against it."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except DatabaseError as error:
        return str(error)
    return ""


def statements():
    """Yield every statement that would change one column, and those that go around them."""
    for table, free in TABLES.items():
        names = [name for name, _kind in columns(table)]
        for name, kind in columns(table):
            if name in free:
                continue
            change = f"coalesce({OTHER[kind].format(c=name)}, {NULLS[kind]})"
            yield f"UPDATE {table} SET {name} = {change}"  # noqa: S608
            yield (
                f"MERGE INTO {table} AS t USING {table} AS s ON t.id = s.id "
                f"WHEN MATCHED THEN UPDATE SET {name} = s.{name}"
            )
        every = ", ".join(names)
        yield f"DELETE FROM {table}"  # noqa: S608
        yield f"WITH gone AS (DELETE FROM {table} RETURNING 1) SELECT count(*) FROM gone"  # noqa: S608
        yield f"TRUNCATE {table} CASCADE"
        yield (
            f"INSERT INTO {table} ({every}) SELECT {every} FROM {table} "  # noqa: S608
            f"ON CONFLICT (id) DO UPDATE SET {names[1]} = excluded.{names[1]}"
        )
        for ddl in ("DISABLE TRIGGER ALL", "DISABLE TRIGGER kept_rows", "DROP COLUMN id CASCADE",
                    "ENABLE REPLICA TRIGGER kept_rows", "INHERIT pg_class"):  # fmt: skip
            yield f"ALTER TABLE {table} {ddl}"
        yield f"DROP TRIGGER kept_rows ON {table}"
        yield f"DROP TABLE {table} CASCADE"
        yield f"CREATE RULE around AS ON UPDATE TO {table} DO INSTEAD NOTHING"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT proname FROM pg_proc WHERE proname LIKE 'costs%' OR proname LIKE 'gpuportal%'"
        )
        functions = [name for (name,) in cursor.fetchall()]
    assert "costs_period_kept" in functions
    for name in functions:
        body = "RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$"
        yield f"CREATE OR REPLACE FUNCTION {name}() {body}"
        yield f"DROP FUNCTION {name} CASCADE"
    yield "SET session_replication_role = replica"
    yield "SET LOCAL session_replication_role = 'local'"
    yield "ALTER ROLE current_user SUPERUSER"
    yield "DELETE FROM django_migrations; DROP SCHEMA public CASCADE"


def test_no_statement_changes_anything_of_a_closed_month(closed):
    before = everything()
    assert all(rows for _table, rows in before), [table for table, rows in before if not rows]
    passed = []
    for statement in statements():
        said = tried(statement)
        if not said and everything() != before:
            pytest.fail(statement)
        if not said:
            passed.append(statement)
    # What may run does nothing: it sets what is there already, or a name.
    assert [each for each in passed if not each.startswith(("MERGE", "INSERT"))] == []
    assert everything() == before
    assert Period.objects.get(pk=closed.pk).state == "closed"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE costs_period SET state = 'closed', closed_by_id = reviewed_by_id, closed_at = now()",
        "UPDATE costs_period SET state = 'closed', reviewed_by_id = NULL, closed_by_id = "
        "(SELECT min(id) FROM tenants_user), closed_at = now()",
    ],
)
def test_the_database_asks_for_a_second_person_too(lab, statement):
    period = november(lab, purpose="chargeback")
    reconcile.run(period=period, now=AFTER)
    period.discrepancies.update(resolved_at=AFTER, resolved_by=lab.dave, resolution="x")
    closing.review(period=period, actor=lab.carol)

    assert "second person" in tried(statement)
