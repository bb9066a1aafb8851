from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("corpus", "0016_official_scores_of_topics"),
    ]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="pool_rule",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
