from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("corpus", "0010_blind_sums_and_assessors")]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="grader_options",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
