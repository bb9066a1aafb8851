"""What Re-grade asks in a collection: published prompts, and the collection's own."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone

from grading import prompts
from grading.graders import registry
from grading.prompts import Prompt
from grading.types import Purpose
from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.corpus.models import Collection, OwnPrompt

AT = "@"
"""Only the id of a collection's own prompt has it; a published one is known by its class."""


def named(prompt: Prompt) -> str:
    """As `Collection.grader_prompts` names it: a published one by its class, an own one by its id."""
    return prompt.prompt_id if prompts.is_own(prompt) else prompt.prompt_class


def extracts_for(verifying: Prompt, prompt: Prompt) -> bool:
    """Can the answers that `prompt` extracts be given to `verifying`?"""
    return prompt.purpose is Purpose.EXTRACT and verifying.kinds <= prompt.kinds


def unextracted(among: Iterable[Prompt]) -> list[Prompt]:
    """Those that ask about answers which no other of these prompts extracts."""
    listed = list(among)
    return [
        prompt
        for prompt in listed
        if prompt.needs_answer and not any(extracts_for(prompt, other) for other in listed)
    ]


def asked_prompts(collection: Collection) -> tuple[Prompt, ...]:
    """Those that an organizer chose and the grader can ask, else the grader's default ones."""
    backend = registry.BACKENDS[collection.grader_backend]
    names_own = any(AT in name for name in collection.grader_prompts)
    return backend.chosen(collection.grader_prompts, own_prompts(collection) if names_own else ())


def own_prompts(collection: Collection) -> list[Prompt]:
    """The collection's own prompts that are not put away."""
    return [row.prompt for row in collection.prompts.all() if not row.is_put_away]


@transaction.atomic
def save_prompt(collection: Collection, prompt: Prompt, *, by: User | None) -> tuple[OwnPrompt, bool]:
    """Keep `prompt` for good, and say whether it is new: the same words are the same prompt for ever.

    One that was put away comes back.
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
    """Offer the prompt no more, and ask it no more; its grades stay, and it can come back."""
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
