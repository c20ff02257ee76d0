"""The audit trail and the revisions are only ever added to; the database itself says so."""

from django.db import migrations

TABLES = ("tenants_auditevent", "tenants_revision")

FUNCTION = """
CREATE FUNCTION gpuportal_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % is forbidden: rows are only added', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END
$$
"""

TRIGGERS = """
CREATE TRIGGER append_only_rows BEFORE UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION gpuportal_append_only();
CREATE TRIGGER append_only_table BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION gpuportal_append_only();
"""

UNDO = """
DROP TRIGGER append_only_rows ON {table};
DROP TRIGGER append_only_table ON {table};
"""


class Migration(migrations.Migration):
    dependencies = [("tenants", "0001_initial")]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION gpuportal_append_only()"),
        *(
            migrations.RunSQL(TRIGGERS.format(table=table), UNDO.format(table=table))
            for table in TABLES
        ),
    ]
