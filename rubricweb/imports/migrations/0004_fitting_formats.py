from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("imports", "0003_undo_by_workers")]

    operations = [
        migrations.AddField("importfile", "fitting_formats", models.JSONField(default=list)),
    ]
