"""An index by which a page of one month reads that month, however many there are."""

import django.contrib.postgres.indexes
from django.db import migrations


class Migration(migrations.Migration):
    """Adds an index of some kilobytes: hours are written in their order, block by block."""

    dependencies = [("costs", "0020_unwatched_in_lines")]

    operations = [
        migrations.AddIndex(
            model_name="tenanthour",
            index=django.contrib.postgres.indexes.BrinIndex(
                "hour", name="tenant_hour_in_time", autosummarize=True
            ),
        )
    ]
