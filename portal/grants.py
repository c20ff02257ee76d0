"""What the application's database role may do, written down in one place."""

from django.conf import settings
from django.db import connections
from psycopg import sql

ROWS = sql.SQL("SELECT, INSERT, UPDATE, DELETE")
ONLY_ADD = sql.SQL("SELECT, INSERT")
ONLY_READ = sql.SQL("SELECT")


def grant(using: str = "default") -> bool:
    """Give the role its rights on all tables of the schema; False when there is no such role.

    Runs as the owner of the tables. Everything is taken away first, so that a right that is no
    longer listed here is really gone.
    """
    connection = connections[using]
    role = sql.Identifier(settings.DATABASE_APP_ROLE)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [settings.DATABASE_APP_ROLE])
        if cursor.fetchone() is None:
            return False
        present = set(connection.introspection.table_names(cursor))
        for statement in statements(role, present, str(connection.settings_dict["NAME"])):
            cursor.execute(statement)
    return True


def statements(role: sql.Identifier, present: set[str], database: str) -> list[sql.Composed]:
    """Return the statements for the tables that exist."""
    everything = sql.SQL("ALL TABLES IN SCHEMA public")
    found = [
        # The observer copies its rows into a table of its session before it merges them.
        sql.SQL("GRANT TEMPORARY ON DATABASE {} TO {}").format(sql.Identifier(database), role),
        sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(role),
        sql.SQL("REVOKE ALL ON {} FROM {}").format(everything, role),
        sql.SQL("GRANT {} ON {} TO {}").format(ROWS, everything, role),
        sql.SQL("GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {}").format(role),
    ]
    narrower = dict.fromkeys(settings.APPEND_ONLY_TABLES, ONLY_ADD)
    # The history of migrations is read by /readyz and written by the owner alone.
    narrower["django_migrations"] = ONLY_READ
    for table in narrower.keys() & present:
        name = sql.Identifier(table)
        found.append(sql.SQL("REVOKE ALL ON {} FROM {}").format(name, role))
        found.append(sql.SQL("GRANT {} ON {} TO {}").format(narrower[table], name, role))
    return found
