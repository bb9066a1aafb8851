"""Names of teams that differ only in case become one, as the collection spelled it first."""

from __future__ import annotations

from django.db import migrations

NAMED = (
    ("accounts", "Membership", "collection"),
    ("accounts", "Invitation", "collection"),
    ("corpus", "Run", "collection"),
    ("submissions", "Submission", "call__collection"),
)


def unite(apps, schema_editor):
    first = {}
    for app, model, path in NAMED:
        rows = apps.get_model(app, model).objects.exclude(team="").order_by("pk")
        for pk, collection, team in rows.values_list("pk", path, "team"):
            spelling = first.setdefault((collection, team.casefold()), team)
            if spelling != team:
                rows.filter(pk=pk).update(team=spelling)


class Migration(migrations.Migration):
    dependencies = [
        ("submissions", "0001_initial"),
        ("accounts", "0004_invitations"),
    ]

    operations = [migrations.RunPython(unite, migrations.RunPython.noop, elidable=True)]
