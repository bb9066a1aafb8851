"""Dry runs go to the app `prompts`, with all their rows: only the table's name changes."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("grades", "0016_leased_work")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.AlterModelTable("PromptTrial", "prompts_dryrun")],
            state_operations=[migrations.DeleteModel("PromptTrial")],
        )
    ]
