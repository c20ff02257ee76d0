"""The reason for closing a case is kept as long as the form lets it be."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Widens a column; PostgreSQL changes only its description for that."""

    dependencies = [("costs", "0021_hours_by_time")]

    operations = [
        migrations.AlterField(
            model_name="case",
            name="closed_why",
            field=models.CharField("why closed", max_length=2000, blank=True),
        )
    ]
