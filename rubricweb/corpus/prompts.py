"""The prompts that Re-grade asks in a collection."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from grading import prompts
from grading.graders import registry
from grading.types import Purpose
from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import Collection, OwnPrompt

AT = "@"
"""Part of the ids of own prompts only; a published one is known by its class."""


def named(prompt: prompts.Prompt) -> str:
    """Return the name of a prompt in `Collection.grader_prompts`: its class if published, else its id."""
    return prompt.prompt_id if prompts.is_own(prompt) else prompt.prompt_class


def extracts_for(verifying: prompts.Prompt, prompt: prompts.Prompt) -> bool:
    """Return whether `verifying` can verify the answers that `prompt` extracts."""
    return prompt.purpose is Purpose.EXTRACT and verifying.kinds <= prompt.kinds


def unextracted(among: Iterable[prompts.Prompt]) -> list[prompts.Prompt]:
    """Return the prompts about extracted answers for which no other of these extracts the answers."""
    listed = list(among)
    return [
        prompt
        for prompt in listed
        if prompt.needs_answer and not any(extracts_for(prompt, other) for other in listed)
    ]


def active_prompts(collection: Collection) -> tuple[prompts.Prompt, ...]:
    """Return the prompts that an organizer chose and the grader can ask, else the grader's defaults.

    Those of the baseline where the grader's plug-in is not installed: grading says so.
    """
    backend = registry.BACKENDS.get(collection.grader_backend, registry.BACKENDS["lexical"])
    names_own = any(AT in name for name in collection.grader_prompts)
    return backend.chosen(collection.grader_prompts, own_prompts(collection) if names_own else ())


@read_once
def own_prompts(collection: Collection) -> list[prompts.Prompt]:
    """Return the collection's own prompts that are not archived."""
    return [row.prompt for row in _standing(collection.pk)]


@compiled_once
def _standing(collection: int) -> QuerySet[OwnPrompt, OwnPrompt]:
    return OwnPrompt.objects.filter(collection=collection, put_away_at=None)


@transaction.atomic
def save_prompt(collection: Collection, prompt: prompts.Prompt, *, by: User | None) -> tuple[OwnPrompt, bool]:
    """Save `prompt` for good, and return whether it is new: the same text is the same prompt.

    An archived one is restored.
    """
    row, is_new = OwnPrompt.objects.get_or_create(
        collection=collection,
        prompt_class=prompt.prompt_class,
        version=prompt.version,
        defaults={"definition": prompts.as_options(prompt), "by": by},
    )
    if is_new:
        audit.record("prompt saved", row, by=by, detail=row.prompt_id)
    elif row.is_put_away:
        bring_back(row, by=by)
    return row, is_new


@transaction.atomic
def put_away(row: OwnPrompt, *, by: User | None) -> OwnPrompt:
    """Archive the prompt: it is neither offered nor asked; its grades stay, and it can be restored."""
    collection = Collection.objects.select_for_update(no_key=True).get(pk=row.collection_id)
    row.put_away_at = timezone.now()
    row.save(update_fields=["put_away_at"])
    collection.grader_prompts = [name for name in collection.grader_prompts if name != row.prompt_id]
    collection.save(update_fields=["grader_prompts"])
    audit.record("prompt put away", row, by=by, detail=row.prompt_id)
    return row


@transaction.atomic
def bring_back(row: OwnPrompt, *, by: User | None) -> OwnPrompt:
    row.put_away_at = None
    row.save(update_fields=["put_away_at"])
    audit.record("prompt brought back", row, by=by, detail=row.prompt_id)
    return row
