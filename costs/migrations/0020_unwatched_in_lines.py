"""What of a line was in hours that nobody watched, and hours that were watched in part."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds columns alone: what is not known of older rows stays unknown."""

    dependencies = [("costs", "0019_four_eyes_and_once")]

    operations = [
        migrations.AddField(
            model_name="reconciliation",
            name="partial",
            field=models.PositiveIntegerField(null=True, verbose_name="partly observed hours"),
        ),
        migrations.AlterField(
            model_name="reconciliation",
            name="missing",
            field=models.PositiveIntegerField(verbose_name="missing hours"),
        ),
        migrations.AddField(
            model_name="statementline",
            name="unwatched",
            field=models.DecimalField(
                decimal_places=6, max_digits=20, null=True,
                verbose_name="in hours that nobody watched",
            ),
        ),
    ]  # fmt: skip
