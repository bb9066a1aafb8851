"""Reasons of cells say which ranks could swap, and no longer the names of the runs there. Going back keeps that."""

from django.db import migrations

NAMED = r"^Could swap ranks \d+ and \d+ of the leaderboard: "


def remove_names(apps, schema_editor):
    cells = apps.get_model("review", "CampaignCell").objects.filter(reason__regex=NAMED)
    for reason in cells.order_by().values_list("reason", flat=True).distinct():
        cells.filter(reason=reason).update(reason=f"{reason.partition(':')[0]}.")


class Migration(migrations.Migration):
    dependencies = [("review", "0008_remove_is_representative")]

    operations = [migrations.RunPython(remove_names, migrations.RunPython.noop)]
