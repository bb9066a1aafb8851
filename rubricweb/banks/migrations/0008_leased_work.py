"""Requests for drafts have the fields of all leased work."""

import django.utils.timezone
from django.db import migrations, models

STATES = [
    ("queued", "Queued"),
    ("leased", "Leased"),
    ("done", "Done"),
    ("failed", "Failed"),
    ("cancelled", "Cancelled"),
]


def rename_states(apps, schema_editor):
    requests = apps.get_model("banks", "DraftRequest").objects
    requests.filter(state="running").update(state="leased")
    requests.filter(state="dismissed").update(state="failed", is_dismissed=True)


def restore_states(apps, schema_editor):
    requests = apps.get_model("banks", "DraftRequest").objects
    requests.filter(state="leased").update(state="running")
    requests.filter(is_dismissed=True).update(state="dismissed")


class Migration(migrations.Migration):
    dependencies = [("banks", "0007_importance_suggestions")]

    operations = [
        migrations.RemoveField("draftrequest", "attempt"),
        migrations.RenameField("draftrequest", "tries", "attempts"),
        migrations.RenameField("draftrequest", "asked_at", "queued_at"),
        migrations.AlterField(
            "draftrequest", "queued_at", models.DateTimeField(default=django.utils.timezone.now)
        ),
        migrations.AddField("draftrequest", "is_dismissed", models.BooleanField(default=False)),
        migrations.AlterField(
            "draftrequest", "state", models.CharField(choices=STATES, default="queued", max_length=20)
        ),
        migrations.RunPython(rename_states, restore_states),
    ]
