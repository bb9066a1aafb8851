from django.db import migrations, models

VERBS = [
    ("imported", "Imported"),
    ("added", "Added"),
    ("reworded", "Reworded"),
    ("retired", "Retired"),
    ("restored", "Restored"),
    ("keyed", "answer key changed"),
    ("weighed", "Weighed"),
    ("made secret", "made secret"),
    ("made public", "made public"),
]


class Migration(migrations.Migration):
    dependencies = [("banks", "0009_foreign_parts")]

    operations = [
        migrations.AddField(
            model_name="itemrevision",
            name="is_secret",
            field=models.BooleanField(default=False),
        ),
        migrations.AddIndex(
            model_name="itemrevision",
            index=models.Index(
                condition=models.Q(("is_secret", True)), fields=["topic"], name="secret_wordings_by_topic"
            ),
        ),
        migrations.AlterField(
            model_name="itemchange",
            name="verb",
            field=models.CharField(choices=VERBS, max_length=20),
        ),
    ]
