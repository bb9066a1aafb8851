"""Older databases: requests for drafts and dry runs keep what was asked and what came of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from grading.prompts import as_options
from grading.types import ItemKind
from rubricweb.banks.drafting.actions import DraftOptions, request_drafts
from rubricweb.banks.drafting.models import DraftRequest
from rubricweb.prompts.models import DryRun
from tests.factories import STRICT, gradable
from tests.rubricweb.migrating import migrate_to_newest, migrated

BEFORE = [("banks", "0007_importance_suggestions"), ("grades", "0015_options_of_jobs")]


@pytest.fixture
def newest_at_the_end():
    """Later tests need the newest tables."""
    yield
    migrate_to_newest()


@pytest.mark.django_db(transaction=True)
def test_tasks_become_leased_work(newest_at_the_end, collection, redis_server):
    bank = gradable(collection, topics=1, passages=1, items=1)
    item = bank.items.select_related("topic", "revision").get()
    questions = DraftOptions(ItemKind.QUESTION, "hf_seq2seq", "tiny")
    nuggets = DraftOptions(ItemKind.NUGGET, "hf_seq2seq", "tiny")
    running, seen = (request_drafts(bank, item.topic, each, by=None) for each in (questions, nuggets))
    dry_run = DryRun.objects.create(
        collection=collection,
        prompt_class=STRICT.prompt_class,
        definition=as_options(STRICT),
        backend="lexical",
        llm="lexical",
        topic=item.topic,
        revision=item.revision,
        doc_ids=["d1"],
        results=[{"reply": "4"}],
    )
    long_ago = timezone.now() - timedelta(days=3)
    old = migrated(BEFORE)
    requests = old.get_model("banks", "DraftRequest").objects
    requests.filter(pk=running.pk).update(state="running", attempt=7, tries=2, asked_at=long_ago)
    requests.filter(pk=seen.pk).update(state="dismissed", error="no question", reply="No.")
    trials = old.get_model("grades", "PromptTrial").objects
    trials.update(state="running", attempt=3, at=long_ago)

    migrate_to_newest()
    running, seen = DraftRequest.objects.order_by("pk")
    assert (running.state, running.attempts, running.queued_at) == ("leased", 2, long_ago)
    assert (seen.state, seen.is_dismissed, seen.error, seen.reply) == ("failed", True, "no question", "No.")
    moved = DryRun.objects.get()
    assert (moved.pk, moved.state, moved.attempts, moved.queued_at) == (dry_run.pk, "leased", 3, long_ago)
    assert moved.results == [{"reply": "4"}]
