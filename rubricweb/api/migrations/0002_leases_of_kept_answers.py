from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("api", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="keptanswer",
            name="begun",
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="keptanswer",
            name="lease_until",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="keptanswer",
            name="made",
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="keptanswer",
            name="role",
            field=models.CharField(blank=True, db_default="", max_length=20),
        ),
    ]
