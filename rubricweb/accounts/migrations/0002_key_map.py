from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="key_map",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
