"""Fetch and authorise in one call: a collection's prompts are its organizers' business."""

from __future__ import annotations

from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import OwnPrompt
from rubricweb.prompts.models import DryRun


def prompt_for(user: User, slug: str, prompt_id: int) -> OwnPrompt:
    collection = collection_for(user, slug, needed=roles.TO_ORGANIZE)
    row: OwnPrompt = get_object_or_404(collection.prompts.select_related("collection"), pk=prompt_id)
    return row


def dry_run_for(user: User, slug: str, dry_run_id: int) -> DryRun:
    collection = collection_for(user, slug, needed=roles.TO_ORGANIZE)
    related = collection.dry_runs.select_related("collection", "topic", "revision")
    dry_run: DryRun = get_object_or_404(related, pk=dry_run_id)
    return dry_run
