"""A random draw is a row of its own, which ratings point to.

`review.0007_draws_of_campaigns` makes the rows from what campaigns and ratings said before, and
`0014_remove_drawn_from` then removes the old fields.
"""

import django.db.models.deletion
from django.db import migrations, models

DESIGNS = [
    ("cells", "all cells alike"),
    ("cover", "a sample that estimates Rubric-Cover"),
    ("deciding", "cells that decide a run's Rubric-Cover"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("corpus", "0005_answers_by"),
        ("grades", "0012_trial_leases"),
    ]

    operations = [
        migrations.CreateModel(
            name="Draw",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("design", models.CharField(choices=DESIGNS, max_length=20)),
                ("cutoff", models.PositiveSmallIntegerField(null=True)),
                ("min_grade", models.PositiveSmallIntegerField(null=True)),
                ("revisions", models.JSONField(default=list)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="draws",
                        to="corpus.collection",
                    ),
                ),
                ("configs", models.ManyToManyField(related_name="+", to="grades.graderconfig")),
            ],
            options={"ordering": ("pk",)},
        ),
        migrations.AddField(
            model_name="humangrade",
            name="draw",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="ratings",
                to="grades.draw",
            ),
        ),
    ]
