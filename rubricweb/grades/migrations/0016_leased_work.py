"""Chunks and dry runs have the fields of all leased work."""

import django.utils.timezone
from django.db import migrations, models
from django.db.models import F

STATES = [
    ("queued", "Queued"),
    ("leased", "Leased"),
    ("done", "Done"),
    ("failed", "Failed"),
    ("cancelled", "Cancelled"),
]


def rename_states(apps, schema_editor):
    trials = apps.get_model("grades", "PromptTrial").objects
    trials.filter(state="running").update(state="leased")
    trials.update(queued_at=F("at"))


def restore_states(apps, schema_editor):
    trials = apps.get_model("grades", "PromptTrial").objects
    trials.filter(state="leased").update(state="running")


class Migration(migrations.Migration):
    dependencies = [("grades", "0015_options_of_jobs")]

    operations = [
        migrations.AddField("jobchunk", "queued_at", models.DateTimeField(default=django.utils.timezone.now)),
        migrations.AlterField("jobchunk", "lease_until", models.DateTimeField(blank=True, null=True)),
        migrations.RenameField("prompttrial", "attempt", "attempts"),
        migrations.AlterField("prompttrial", "attempts", models.PositiveSmallIntegerField(default=0)),
        migrations.AddField(
            "prompttrial", "queued_at", models.DateTimeField(default=django.utils.timezone.now)
        ),
        migrations.AlterField("prompttrial", "ended_at", models.DateTimeField(blank=True, null=True)),
        migrations.AlterField(
            "prompttrial", "state", models.CharField(choices=STATES, default="queued", max_length=20)
        ),
        migrations.RunPython(rename_states, restore_states),
    ]
