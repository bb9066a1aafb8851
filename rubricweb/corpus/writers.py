"""The language models that write for a collection: drafts, answers, labels of support."""

from __future__ import annotations

from dataclasses import dataclass

from grading.generation.models import drafting_backends
from grading.graders.backend_options import WRITING, Value
from rubricweb.corpus.models import Collection


@dataclass(frozen=True, slots=True)
class Writer:
    """A language model that can write."""

    backend: str
    llm: str

    @property
    def initial(self) -> dict[str, object]:
        """The values of a form's fields `backend` and `llm`."""
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
