"""The application's database role: it adds to the audit trail and can never rewrite it."""

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from portal.grants import grant
from tenants.models import AuditEvent


def privileges(table: str) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT privilege_type FROM information_schema.role_table_grants"
            " WHERE grantee = %s AND table_name = %s",
            [settings.DATABASE_APP_ROLE, table],
        )
        return {row[0] for row in cursor.fetchall()}


@pytest.mark.django_db
def test_a_test_runs_as_the_application_role():
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == (settings.DATABASE_APP_ROLE,)


@pytest.mark.owner
@pytest.mark.django_db
def test_a_marked_test_runs_as_the_owner():
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == (settings.DATABASES["default"]["USER"],)


@pytest.mark.django_db(transaction=True)
def test_new_connections_of_a_test_take_the_role_too():
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == (settings.DATABASE_APP_ROLE,)


@pytest.mark.django_db
def test_the_role_may_make_tables_of_its_session_and_no_others():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT has_database_privilege(%s, current_database(), 'TEMPORARY'),"
            " has_schema_privilege(%s, 'public', 'CREATE')",
            [settings.DATABASE_APP_ROLE] * 2,
        )
        assert cursor.fetchone() == (True, False)


@pytest.mark.django_db
@pytest.mark.parametrize("table", settings.APPEND_ONLY_TABLES)
def test_the_role_may_only_add_to_the_trail(table):
    assert privileges(table) == {"SELECT", "INSERT"}


@pytest.mark.django_db
@pytest.mark.parametrize("table", settings.APPEND_ONLY_TABLES)
@pytest.mark.parametrize(
    "statement",
    ["UPDATE {} SET id = id", "DELETE FROM {}", "TRUNCATE {}", "ALTER TABLE {} DISABLE TRIGGER ALL",
     "DROP TABLE {}"],
)  # fmt: skip
def test_the_database_refuses_to_rewrite_the_trail(table, statement):
    with (
        pytest.raises(DatabaseError, match=r"permission denied|must be owner"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement.format(table))


@pytest.mark.django_db
def test_the_role_works_with_all_other_tables():
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
    ordinary = tables - set(settings.APPEND_ONLY_TABLES) - {"django_migrations"}

    assert ordinary
    for table in ordinary:
        assert privileges(table) == {"SELECT", "INSERT", "UPDATE", "DELETE"}, table


@pytest.mark.django_db
def test_the_role_cannot_pretend_that_a_migration_ran():
    assert privileges("django_migrations") == {"SELECT"}


@pytest.mark.django_db
def test_the_role_makes_no_tables():
    with (
        pytest.raises(DatabaseError, match="permission denied"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("CREATE TABLE planted (id int)")


@pytest.mark.owner
@pytest.mark.django_db
def test_granting_again_takes_back_what_is_not_listed():
    table = settings.APPEND_ONLY_TABLES[0]
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT UPDATE ON {table} TO {settings.DATABASE_APP_ROLE}")

    assert grant()

    assert privileges(table) == {"SELECT", "INSERT"}


@pytest.mark.owner
@pytest.mark.django_db
def test_the_command_sets_the_rights(capsys):
    call_command("grant")

    assert settings.DATABASE_APP_ROLE in capsys.readouterr().out


@pytest.mark.owner
@pytest.mark.django_db
def test_the_command_names_a_role_that_is_missing(settings):
    settings.DATABASE_APP_ROLE = "nobody_here"

    with pytest.raises(CommandError, match="nobody_here"):
        call_command("grant")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", [1, 2])
def test_a_test_leaves_no_rows_in_the_trail_behind(turn):
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM tenants_auditevent")
        assert cursor.fetchone() == (0,)
    AuditEvent.objects.create(scope="s", seq=1, at=timezone.now(), actor_name="a", data={})
