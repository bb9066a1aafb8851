"""Snapshots of ratings are made anew: where topics were imported in another order than the collection has them,
one topic's snapshot had the ratings of others, or none. Until workers have made them, rows are read.
"""

from django.db import migrations


def remove(apps, schema_editor):
    apps.get_model("grades", "MatrixSnapshot").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("grades", "0024_reply_blocks")]

    operations = [migrations.RunPython(remove, migrations.RunPython.noop)]
