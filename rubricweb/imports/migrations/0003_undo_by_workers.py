from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("imports", "0002_undo")]

    operations = [
        migrations.AlterField(
            model_name="import",
            name="step",
            field=models.CharField(
                choices=[("check", "check"), ("write", "import"), ("undo", "undo")],
                default="check",
                max_length=20,
            ),
        ),
    ]
