from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("corpus", "0008_topics_in_natural_order")]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="default_grader",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
    ]
