"""Campaigns and decisions go to the app `campaigns`, with all their rows: only the tables' names change."""

from django.db import migrations

TABLES = {
    "Campaign": "campaigns_campaign",
    "CampaignCell": "campaigns_campaigncell",
    "Turn": "campaigns_turn",
    "Decision": "campaigns_decision",
    "DecidedRating": "campaigns_decidedrating",
}


class Migration(migrations.Migration):
    dependencies = [("review", "0009_reasons_without_runs"), ("grades", "0015_options_of_jobs")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.AlterModelTable(name, table) for name, table in TABLES.items()],
            state_operations=[
                migrations.DeleteModel(name)
                for name in ("DecidedRating", "Decision", "Turn", "CampaignCell", "Campaign")
            ],
        )
    ]
