"""What the sentence of a finding about a bill is made of, beside its numbers: tags, tenants."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("costs", "0016_several_bills")]

    operations = [
        migrations.AddField(
            model_name="billfinding",
            name="facts",
            field=models.JSONField(db_default={}, default=dict, verbose_name="facts"),
        ),
    ]
