from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("support", "0006_low_priority"),
    ]

    operations = [
        migrations.AddField(
            model_name="supportsettings",
            name="sample",
            field=models.PositiveIntegerField(null=True),
        ),
    ]
