"""What each grader does, for whoever has to choose one, with an example of a prompt and its reply."""

from __future__ import annotations

from dataclasses import dataclass

from grading import prompts, types
from grading.errors import ParseFailure
from grading.graders import GraderSpec, registry
from grading.graders.registry import Backend
from grading.types import ItemKind, Purpose

QUESTION = "Why do leaves turn yellow in autumn?"
PASSAGE = (
    "In autumn a tree stops making chlorophyll. As the green fades, carotenoids that were in the leaf "
    "all along become visible, and the leaf looks yellow."
)
KEY = "carotenoids"
REPLIES = {"hf_extractive": KEY}
"""By back-end; models that rate reply with a number."""


@dataclass(frozen=True, slots=True)
class Guide:
    """The description of one back-end; each text is a sentence or two."""

    backend_name: str
    name: str
    does: str
    needs: str
    cost: str
    use: str
    avoid: str

    @property
    def backend(self) -> Backend:
        return registry.BACKENDS[self.backend_name]

    @property
    def prompt(self) -> prompts.Prompt:
        """The first that it asks by default and that ends in a rating."""
        asked = map(prompts.get, self.backend.prompt_classes)
        return next(prompt for prompt in asked if prompt.purpose is not Purpose.EXTRACT)


GUIDES = (
    Guide(
        "lexical",
        "Word overlap",
        "Counts how many of the item's words stand close together in the passage. It understands nothing: a "
        "paraphrase gets 0, a passage that repeats the question gets 5.",
        "Nothing.",
        "Free; thousands of cells a second.",
        "To see the screens, to try an import, and as the floor that a model must beat.",
        "For any score that you report.",
    ),
    Guide(
        "hf_seq2seq",
        "Small model that rates",
        "Reads prompt and passage and answers with a grade. FLAN-T5-large is the grader of the papers.",
        "A worker with a GPU of 8 GB, or patience; passages are cut to 512 tokens.",
        "Free on your own machine; tens to hundreds of cells a second on a GPU.",
        "To compare with published results, or to grade a large pool on one GPU.",
        "For long passages, and where details decide.",
    ),
    Guide(
        "hf_causal",
        "Chat model on your machine",
        "Reads prompt and passage and answers with a grade, with its probability as confidence. The model is "
        "a name, a folder or a GGUF file.",
        "A worker with a GPU that holds the model: about 16 GB for 8 billion parameters.",
        "Free on your own machine; a few to a hundred cells a second on a GPU.",
        "Where passages must not leave your machines, or a grade must be repeatable.",
        "If the systems that you evaluate use the same model.",
    ),
    Guide(
        "hf_extractive",
        "Answer finder",
        "Marks the words of the passage that answer the question. They are right if the answer key has them.",
        "Questions with answer keys. A worker; a GPU helps.",
        "Free on your own machine; the quickest of the models.",
        "For factual questions with short answers, where a verdict must be checked by eye.",
        "For nuggets, opinions, and questions without a key.",
    ),
    Guide(
        "openai_compatible",
        "Model behind a server",
        "Sends each prompt to a server that speaks the OpenAI protocol: your own vLLM, or a provider.",
        "The server's address and key, which the administrator sets for the workers.",
        "A provider charges by the token; Re-grade shows the price before it starts.",
        "For the largest models, and for several workers that share one model.",
        "With a provider, if passages are confidential. Its models change: name the exact version.",
    ),
    Guide(
        "batch_file",
        "Batches of a model behind a server",
        "Sends up to 50,000 prompts of a topic as one file, which a provider answers within a day; or writes "
        "the files for vllm run-batch on a machine of yours.",
        "A server with a batch endpoint, or a shared folder, which the administrator sets for the workers.",
        "With a provider half the price of single calls; Re-grade shows it before it starts.",
        "For large pools that nobody waits for.",
        "While a bank is being written: every change would wait for hours.",
    ),
)


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt as it is sent, a reply, and the grade that is read from it."""

    messages: tuple[tuple[str, str], ...]
    reply: str
    rating: int | None


def guide_of(backend_name: str) -> Guide:
    """The first one where there is no such back-end."""
    return next((guide for guide in GUIDES if guide.backend_name == backend_name), GUIDES[0])


def example_of(guide: Guide) -> Example:
    item = types.Item("example/1", ItemKind.QUESTION, QUESTION, answers=(KEY,))
    topic = types.Topic("example", "autumn leaves")
    pair = types.CellToGrade(item, types.Passage("example", PASSAGE), topic)
    if not guide.backend.needs_model:
        return _baseline(guide, pair)
    reply = REPLIES.get(guide.backend_name, "4")
    return Example(tuple(guide.prompt.messages(pair)), reply, _read(guide, reply, pair))


def _baseline(guide: Guide, pair: types.CellToGrade) -> Example:
    """The baseline itself, since it needs no model."""
    grader = registry.build(
        GraderSpec(guide.backend_name, guide.backend.default_llm, guide.prompt.prompt_class)
    )
    grade = next(iter(grader.grade([pair])))
    return (
        Example((), grade.answer, grade.rating) if isinstance(grade, types.Grade) else Example((), "", None)
    )


def _read(guide: Guide, reply: str, pair: types.CellToGrade) -> int | None:
    """None for a prompt that asks for text."""
    try:
        return guide.prompt.parse(reply, pair).rating
    except ParseFailure:
        return None
