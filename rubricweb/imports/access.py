"""Fetch and authorise in one call: imports are a collection's organizers' business."""

from __future__ import annotations

from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.corpus.access import collection_for
from rubricweb.imports.models import Import, ImportFile


def import_for(user: User, slug: str, import_id: int) -> Import:
    collection = collection_for(user, slug, needed=roles.TO_ORGANIZE)
    batch: Import = get_object_or_404(collection.imports.select_related("collection", "by"), pk=import_id)
    return batch


def file_for(user: User, slug: str, import_id: int, file_id: int) -> ImportFile:
    batch = import_for(user, slug, import_id)
    file: ImportFile = get_object_or_404(batch.files, pk=file_id)
    file.batch = batch
    return file
