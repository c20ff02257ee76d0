"""How much of each hour pods were watched; of rows that stand there already nothing is known.

They get 0, which says so. An hour of a closed period keeps it: no row is rewritten.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("costs", "0006_kept_when_closed"),
    ]

    operations = [
        *(
            migrations.AddField(
                model_name=name,
                name="pods",
                field=models.BigIntegerField(db_default=0, verbose_name="pods watched"),
            )
            for name in ("tenanthour", "tenantday", "tenantmonth")
        ),
        migrations.AddConstraint(
            model_name="tenanthour",
            constraint=models.CheckConstraint(
                condition=models.Q(("pods__gte", 0), ("pods__lte", 3600)),
                name="tenant_hour_pods",
            ),
        ),
    ]
