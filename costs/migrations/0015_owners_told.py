from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("costs", "0014_lost_work_in_policies"),
    ]

    operations = [
        migrations.AddField(
            model_name="case",
            name="tell_after",
            field=models.DateTimeField(null=True, verbose_name="mail is due"),
        ),
        migrations.AddField(
            model_name="case",
            name="tell_tries",
            field=models.PositiveSmallIntegerField(
                db_default=0, default=0, verbose_name="mails tried"
            ),
        ),
        migrations.AddField(
            model_name="case",
            name="told_at",
            field=models.DateTimeField(null=True, verbose_name="mail sent"),
        ),
        migrations.AddField(
            model_name="case",
            name="told_to",
            field=models.PositiveSmallIntegerField(
                db_default=0, default=0, verbose_name="mail sent to"
            ),
        ),
        migrations.AddIndex(
            model_name="case",
            index=models.Index(
                models.F("tell_after"),
                condition=models.Q(("state", "asked"), ("told_at", None)),
                name="case_to_be_told",
            ),
        ),
    ]
