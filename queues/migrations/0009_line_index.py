"""The line of a queue in its own order, so that its end is found as fast as its front."""

from django.db import migrations, models
from django.db.models import F, Value
from django.db.models.functions import Coalesce

PLACE = Coalesce("position", Value(2147483647), output_field=models.IntegerField())


class Migration(migrations.Migration):
    dependencies = [("queues", "0008_lifetime_counted")]

    operations = [
        migrations.AddIndex(
            model_name="workload",
            index=models.Index(
                F("cluster"), F("queue"), F("state"), PLACE, F("id"), name="workload_line"
            ),
        ),
        # The new index begins with the same columns.
        migrations.RemoveIndex(model_name="workload", name="workload_queue_state"),
    ]
