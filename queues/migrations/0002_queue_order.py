import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("queues", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="workload",
            name="queued_at",
            field=models.DateTimeField(null=True, verbose_name="queue time"),
        ),
        migrations.AddField(
            model_name="workload",
            name="turn",
            field=models.CharField(blank=True, default="", max_length=12, verbose_name="turn"),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="workload",
            name="boost",
            field=models.IntegerField(default=0, verbose_name="boost of the priority"),
        ),
        migrations.AddField(
            model_name="workload",
            name="entry_position",
            field=models.PositiveIntegerField(
                null=True, verbose_name="position in the entry, from 1"
            ),
        ),
        migrations.CreateModel(
            name="QueueOrder",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("queue", models.CharField(max_length=253, verbose_name="queue")),
                ("strategy", models.CharField(blank=True, max_length=16, verbose_name="strategy")),
                (
                    "by_use",
                    models.BooleanField(default=False, verbose_name="ordered by past use"),
                ),
                (
                    "pending",
                    models.PositiveIntegerField(default=0, verbose_name="pending workloads"),
                ),
                (
                    "front",
                    models.CharField(blank=True, max_length=64, verbose_name="held in front"),
                ),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("own", "worked out from the cluster's objects"),
                            ("kueue", "Kueue's own list"),
                        ],
                        default="own",
                        max_length=8,
                        verbose_name="source",
                    ),
                ),
                ("placed_at", models.DateTimeField(verbose_name="last changed")),
                (
                    "checked_at",
                    models.DateTimeField(null=True, verbose_name="compared with Kueue"),
                ),
                (
                    "differing",
                    models.PositiveIntegerField(default=0, verbose_name="differing workloads"),
                ),
                (
                    "checks",
                    models.PositiveBigIntegerField(default=0, verbose_name="comparisons"),
                ),
                (
                    "differed",
                    models.PositiveBigIntegerField(
                        default=0, verbose_name="comparisons that differed"
                    ),
                ),
                (
                    "trouble",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("absent", "the cluster has no visibility API"),
                            ("forbidden", "the portal may not ask Kueue"),
                            ("throttled", "Kueue asked to be left alone for a while"),
                            ("silent", "Kueue did not answer"),
                            ("unknown_queue", "Kueue does not know the queue"),
                        ],
                        max_length=16,
                        verbose_name="trouble",
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.cluster",
                    ),
                ),
            ],
            options={
                "verbose_name": "order of a queue",
                "verbose_name_plural": "orders of queues",
                "constraints": [
                    models.UniqueConstraint(
                        models.F("cluster"), models.F("queue"), name="queue_order_once"
                    )
                ],
            },
        ),
    ]
