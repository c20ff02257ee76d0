"""A demo makes up what its GPUs did, too: for as long as it runs, or not at all."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("costs", "0017_facts_of_bill_findings")]

    operations = [
        migrations.AddField(
            model_name="generatedtime",
            name="lasting",
            field=models.BooleanField(default=False, verbose_name="use is generated to this day"),
        ),
        migrations.AddField(
            model_name="generatedtime",
            name="unmeasured",
            field=models.CharField(blank=True, max_length=500, verbose_name="why use is not known"),
        ),
    ]
