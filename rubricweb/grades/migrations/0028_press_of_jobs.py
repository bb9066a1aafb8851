from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("grades", "0027_draws_for_sums")]

    operations = [
        migrations.AddField("gradingjob", "press", models.UUIDField(editable=False, null=True)),
    ]
