from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("grades", "0013_draws"),
        ("review", "0007_draws_of_campaigns"),
    ]

    operations = [
        migrations.RemoveField(model_name="humangrade", name="drawn_from"),
        migrations.RemoveField(model_name="humangrade", name="is_random"),
    ]
