from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("corpus", "0003_own_prompts")]

    operations = [
        migrations.AddField(
            model_name="officialscore",
            name="board",
            field=models.CharField(default="official", max_length=80),
        ),
        migrations.RemoveConstraint(model_name="officialscore", name="one_official_score_per_run"),
        migrations.AddConstraint(
            model_name="officialscore",
            constraint=models.UniqueConstraint(
                fields=("collection", "board", "run_tag"), name="one_score_per_official_board_and_run"
            ),
        ),
    ]
