"""Keep how many evictions the cluster itself has counted, to notice those that nobody saw."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("queues", "0007_observer_at_scale"),
    ]

    operations = [
        migrations.AddField(
            model_name="lifetime",
            name="counted",
            field=models.PositiveIntegerField(
                default=0, verbose_name="evictions counted by the cluster"
            ),
        ),
    ]
