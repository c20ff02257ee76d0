"""Indexes for the lists of jobs: their usual order, their names, and how many there are."""

from django.db import migrations, models
from django.db.models import Case, ExpressionWrapper, F, Value, When
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce

URGENCY = Case(
    When(state="finished", then=Value(0)),
    When(state="deactivated", then=Value(1)),
    When(state="running", then=Value(2)),
    When(state="starting", then=Value(3)),
    When(state="waiting", then=Value(4)),
    When(state="stopping", then=Value(5)),
    default=Value(-1),
    output_field=models.SmallIntegerField(),
)
PLACE = Coalesce("position", Value(2147483647), output_field=models.IntegerField())
NEARNESS = ExpressionWrapper(
    CombinedExpression(PLACE, "*", Value(-1)), output_field=models.IntegerField()
)


class Migration(migrations.Migration):
    dependencies = [("queues", "0005_workload_reasons"), ("tenants", "0002_append_only")]

    operations = [
        migrations.RemoveIndex(model_name="workload", name="workload_entry"),
        migrations.AddIndex(
            model_name="workload",
            index=models.Index(
                F("cluster"), F("namespace"), F("entry"), F("state"), name="workload_entry_state"
            ),
        ),
        migrations.AddIndex(
            model_name="workload",
            index=models.Index(
                URGENCY, NEARNESS, F("created_at"), F("id"), name="workload_attention"
            ),
        ),
        migrations.AddIndex(
            model_name="workload",
            index=models.Index(F("created_at"), F("id"), name="workload_newest"),
        ),
        migrations.AddIndex(
            model_name="workload",
            index=models.Index(F("devices"), F("created_at"), F("id"), name="workload_size"),
        ),
        migrations.AddIndex(
            model_name="workload", index=models.Index(F("job_name"), name="workload_job_name")
        ),
        migrations.AddIndex(
            model_name="workload", index=models.Index(F("name"), name="workload_name")
        ),
    ]
