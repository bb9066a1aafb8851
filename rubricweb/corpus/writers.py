"""The models that write for a collection: which there are, their forms, and loading them for a job."""

from __future__ import annotations

from dataclasses import dataclass

from django import forms

from grading.generation import TextModel
from grading.generation.models import drafting_backends
from grading.graders.backend_options import WRITING, Thinking, Value
from rubricweb.corpus.models import Collection
from rubricweb.jobs.limits import LimitedModel, limited_model, loaded_model
from rubricweb.jobs.models import LimitedJob

MOST_REPLY_TOKENS = 16_384
"""The most tokens of a reply that a form takes, thinking included."""


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
