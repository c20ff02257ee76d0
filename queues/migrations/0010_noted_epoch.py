from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queues", "0009_line_index")]

    operations = [
        migrations.AddField(
            model_name="stream",
            name="noted_epoch",
            field=models.BigIntegerField(default=0),
        ),
    ]
