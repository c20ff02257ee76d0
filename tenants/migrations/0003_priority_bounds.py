"""Bounds of a priority that are watched: stops in a day, and the longest wait."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0002_append_only"),
    ]

    operations = [
        migrations.AddField(
            model_name="priority",
            name="longest_wait_hours",
            field=models.PositiveIntegerField(null=True, verbose_name="longest wait in hours"),
        ),
        migrations.AddField(
            model_name="priority",
            name="preemptions_per_day",
            field=models.PositiveIntegerField(null=True, verbose_name="stops in a day"),
        ),
    ]
