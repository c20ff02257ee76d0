from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queues", "0004_generations")]

    operations = [
        migrations.AddField(
            model_name="workload",
            name="reasons",
            field=models.JSONField(default=list, verbose_name="reasons"),
        ),
    ]
