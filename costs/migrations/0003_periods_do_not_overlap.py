"""No hour belongs to two periods of a price book; the database itself says so."""

import django.contrib.postgres.constraints
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("costs", "0002_kept_by_triggers"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddConstraint(
            model_name="period",
            constraint=django.contrib.postgres.constraints.ExclusionConstraint(
                expressions=[
                    (models.Func("book", "book", models.Value("[]"), function="int8range"), "&&"),
                    (models.Func("starts", "ends", function="tstzrange"), "&&"),
                ],
                name="period_one_at_a_time",
            ),
        ),
    ]
