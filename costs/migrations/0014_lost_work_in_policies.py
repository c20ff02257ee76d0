from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("costs", "0013_cases_and_budgets"),
    ]

    operations = [
        migrations.AddField(
            model_name="policyversion",
            name="lost",
            field=models.CharField(
                db_default="nobody",
                default="nobody",
                max_length=12,
                verbose_name="lost work is given back by",
            ),
        ),
        migrations.AddField(
            model_name="policyversion",
            name="lost_minutes",
            field=models.PositiveIntegerField(
                db_default=60, default=60, verbose_name="minutes of a run at most"
            ),
        ),
        migrations.AddField(
            model_name="policyversion",
            name="failures",
            field=models.BooleanField(
                db_default=False,
                default=False,
                verbose_name="the platform gives back what failures destroy",
            ),
        ),
        migrations.AddConstraint(
            model_name="policyversion",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("lost__in", ["nobody", "taker", "platform"]), ("lost_minutes__lte", 10080)
                ),
                name="policy_lost_work",
            ),
        ),
    ]
