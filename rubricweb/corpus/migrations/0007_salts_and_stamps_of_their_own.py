import secrets

from django.db import migrations


def draw(apps, schema_editor):
    """Each collection has a salt and a stamp that no other has; adding the column gave all the same."""
    Collection = apps.get_model("corpus", "Collection")
    for pk in Collection.objects.values_list("pk", flat=True):
        Collection.objects.filter(pk=pk).update(
            stamp=secrets.randbits(62), name_salt=secrets.token_urlsafe(24)
        )


class Migration(migrations.Migration):
    dependencies = [("corpus", "0006_name_salt_and_drawn_stamps")]

    operations = [migrations.RunPython(draw, migrations.RunPython.noop)]
