from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("corpus", "0020_being_deleted")]

    operations = [
        migrations.AddField("collection", "is_gone", models.BooleanField(default=False)),
    ]
