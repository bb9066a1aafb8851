from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("grades", "0014_remove_drawn_from")]

    operations = [
        migrations.AddField(
            model_name="gradingjob",
            name="options",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
