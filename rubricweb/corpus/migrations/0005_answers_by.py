from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("corpus", "0004_named_official_boards")]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="answers_by",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
    ]
