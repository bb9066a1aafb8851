from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("grades", "0026_low_priority"),
    ]

    operations = [
        migrations.AddField(
            model_name="draw",
            name="passages",
            field=models.JSONField(default=list, db_default=models.Value([], models.JSONField())),
        ),
        migrations.AlterField(
            model_name="draw",
            name="design",
            field=models.CharField(
                choices=[
                    ("cells", "all cells alike"),
                    ("cover", "a sample that estimates Rubric-Cover"),
                    ("answers", "single cells, a sample that estimates scores of whole answers"),
                    ("passages", "whole passages, a sample that estimates P@k"),
                    ("deciding", "cells that decide a run's Rubric-Cover"),
                ],
                max_length=20,
            ),
        ),
    ]
