"""The prompts that Re-grade asks in a collection, and the language models that write for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django import forms
from django.db import transaction
from django.utils import timezone

from grading import prompts
from grading.generation import TextModel
from grading.generation.models import drafting_backends
from grading.graders import registry
from grading.graders.backend_options import WRITING, Thinking, Value
from grading.prompts import Prompt
from grading.types import Purpose
from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.corpus.models import Collection, OwnPrompt
from rubricweb.jobs.limits import LimitedModel, limited_model, loaded_model
from rubricweb.jobs.models import LimitedJob

AT = "@"
"""Part of the ids of own prompts only; a published one is known by its class."""
MOST_REPLY_TOKENS = 16_384
"""The most tokens of a reply that a form takes, thinking included."""


def named(prompt: Prompt) -> str:
    """Return the name of a prompt in `Collection.grader_prompts`: its class if published, else its id."""
    return prompt.prompt_id if prompts.is_own(prompt) else prompt.prompt_class


def extracts_for(verifying: Prompt, prompt: Prompt) -> bool:
    """Return whether `verifying` can verify the answers that `prompt` extracts."""
    return prompt.purpose is Purpose.EXTRACT and verifying.kinds <= prompt.kinds


def unextracted(among: Iterable[Prompt]) -> list[Prompt]:
    """Return the prompts about extracted answers for which no other of these extracts the answers."""
    listed = list(among)
    return [
        prompt
        for prompt in listed
        if prompt.needs_answer and not any(extracts_for(prompt, other) for other in listed)
    ]


def active_prompts(collection: Collection) -> tuple[Prompt, ...]:
    """Return the prompts that an organizer chose and the grader can ask, else the grader's defaults.

    Those of the baseline where the grader's plug-in is not installed: grading says so.
    """
    backend = registry.BACKENDS.get(collection.grader_backend, registry.BACKENDS["lexical"])
    names_own = any(AT in name for name in collection.grader_prompts)
    return backend.chosen(collection.grader_prompts, own_prompts(collection) if names_own else ())


def own_prompts(collection: Collection) -> list[Prompt]:
    """Return the collection's own prompts that are not archived."""
    return [row.prompt for row in collection.prompts.all() if not row.is_put_away]


@transaction.atomic
def save_prompt(collection: Collection, prompt: Prompt, *, by: User | None) -> tuple[OwnPrompt, bool]:
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


@dataclass(frozen=True, slots=True)
class Writer:
    """A language model that can write."""

    backend: str
    llm: str

    @property
    def initial(self) -> dict[str, object]:
        """Return the values of a form's fields `backend` and `llm`."""
        return {"backend": self.backend, "llm": self.llm}


def writer_of(collection: Collection) -> Writer | None:
    """Return the collection's own model where it can write; else None."""
    if collection.grader_backend not in dict(writer_choices()) or not collection.grader_llm:
        return None
    return Writer(collection.grader_backend, collection.grader_llm)


def options_of_writer(collection: Collection, backend: str, llm: str) -> dict[str, Value]:
    """Return what the Settings say of the collection's own model that holds where it writes; else nothing."""
    if (collection.grader_backend, collection.grader_llm) != (backend, llm):
        return {}
    chosen: dict[str, Value] = collection.grader_options
    return {name: chosen[name] for name in WRITING if name in chosen}


def first_writer(collection: Collection) -> Writer:
    """Return the collection's own model, or the default of the first back-end that can write."""
    first = drafting_backends()[0]
    return writer_of(collection) or Writer(first.name, first.default_llm)


def writer_choices() -> list[tuple[str, str]]:
    """Name and label of each back-end that can write, in the order offered."""
    return [(backend.name, backend.label) for backend in drafting_backends()]


class WriterForm(forms.Form):
    """Which language model is asked."""

    backend = forms.ChoiceField(label="Kind of model", choices=writer_choices)
    llm = forms.CharField(label="Model", max_length=200)

    def offer(self, collection: Collection) -> None:
        """Offer the collection's own model first, if it can be asked, and else a back-end's default."""
        self.initial.update(first_writer(collection).initial)

    @property
    def writer(self) -> Writer:
        """Return what the valid form says."""
        return Writer(self.cleaned_data["backend"], self.cleaned_data["llm"].strip())


def longest_reply_field(usual: int, help_text: str = "") -> forms.IntegerField:
    """Return a field for the tokens that a reply may have, `usual` ones unless somebody says otherwise."""
    return forms.IntegerField(
        label="Longest reply, in tokens",
        min_value=1,
        max_value=MOST_REPLY_TOKENS,
        initial=usual,
        help_text=help_text,
    )


def limited_writer(
    job: LimitedJob, collection: Collection, writer: Writer, *, longest_reply: int
) -> LimitedModel:
    """Return the writer, loaded, with the options that the collection's Settings give it.

    A reply may have `longest_reply` tokens, or more where the Settings allow more. Raises CannotRun.
    """
    longest, thinking = _reply_options(collection, writer, longest_reply)
    return limited_model(
        job, backend=writer.backend, llm=writer.llm, longest_reply=longest, thinking=thinking
    )


def unlimited_writer(collection: Collection, writer: Writer, *, longest_reply: int) -> TextModel:
    """Return the writer as `limited_writer` does, for work that is no job. Raises CannotRun."""
    longest, thinking = _reply_options(collection, writer, longest_reply)
    return loaded_model(writer.backend, writer.llm, longest_reply=longest, thinking=thinking)


def _reply_options(collection: Collection, writer: Writer, longest_reply: int) -> tuple[int, Thinking]:
    options = options_of_writer(collection, writer.backend, writer.llm)
    return max(longest_reply, int(options.get("max_new_tokens", 0))), Thinking.of(options)
