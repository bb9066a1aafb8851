from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("review", "0010_campaigns_move"),
    ]

    operations = [
        migrations.AlterField(
            model_name="flag",
            name="kind",
            field=models.CharField(
                choices=[
                    ("spurious", "misleading"),
                    ("uncovered", "not covered"),
                    ("wrong-answer", "wrong answer"),
                    ("unclear", "unclear"),
                    ("duplicate", "duplicate"),
                    ("comment", "comment"),
                ],
                max_length=20,
            ),
        ),
    ]
