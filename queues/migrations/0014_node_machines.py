from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queues", "0013_interval_by_time")]

    operations = [
        migrations.AddField(
            model_name="nodechange",
            name="machines",
            field=models.JSONField(db_default=[], default=list, verbose_name="names in a bill"),
        ),
    ]
