from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("grades", "0008_waiting_jobs"),
    ]

    operations = [
        migrations.AddField(
            model_name="humangrade",
            name="drawn_from",
            field=models.CharField(blank=True, max_length=60),
        ),
    ]
