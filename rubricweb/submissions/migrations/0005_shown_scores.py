from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("submissions", "0004_rejected_files")]

    operations = [
        migrations.AddField(
            model_name="call",
            name="shows_scores",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
