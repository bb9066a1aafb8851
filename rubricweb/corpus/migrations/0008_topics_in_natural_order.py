"""Topics stood in the order of the file that brought them: now q5 comes before q11."""

from __future__ import annotations

import re

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Model


def put_in_order(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    topics = apps.get_model("corpus", "Topic").objects
    for collection in apps.get_model("corpus", "Collection").objects.values_list("pk", flat=True):
        of_collection = sorted(topics.filter(collection=collection), key=_natural_key)
        for position, topic in enumerate(of_collection):
            topic.position = position
        topics.bulk_update(of_collection, ["position"], batch_size=500)


def _natural_key(topic: Model) -> list[str | int]:
    parts = re.split(r"([0-9]+)", str(topic.query_id).casefold())  # type: ignore[attr-defined]
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


class Migration(migrations.Migration):
    dependencies = [("corpus", "0007_salts_and_stamps_of_their_own")]
    operations = [migrations.RunPython(put_in_order, migrations.RunPython.noop)]
