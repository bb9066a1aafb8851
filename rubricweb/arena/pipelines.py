"""The modules of a pipeline that a person chooses for a question: retriever, reranker, prompt, model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django import forms
from django.conf import settings

from grading.systems.pipeline import CLOSED_BOOK, MOST_PASSES, SystemSpec
from grading.systems.reranking import rating_prompts
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.arena.battles import DRAWN, SYSTEMS
from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pseudonyms import shown_names
from rubricweb.corpus.writers import Writer, writer_of
from rubricweb.jobs.limits import MILLION, cost
from rubricweb.systems.retrieval import corpus_names

SIDES = ("first", "second")
MODULES = ("retriever", "reranker", "model")
SERVER = "openai_compatible"
CORPUS, RUN, RATE = "corpus:", "run:", "rate:"
Choices = list[tuple[str, str]]


def writers(collection: Collection, person: User) -> list[Writer]:
    """Return the models that the person may ask: the collection's own, then the server's that have a price.

    None without the collection's own. Assessors need the right to start grading, and a known price.
    """
    own = writer_of(collection)
    priced = [Writer(SERVER, llm) for llm in sorted(settings.PRICES) if settings.OPENAI_BASE_URL]
    listed = list(dict.fromkeys([own, *priced])) if own else []
    if roles.holds(person, collection, roles.TO_GRADE):
        return listed
    return [writer for writer in listed if collection.assessors_grade and price_of(writer) is not None]


def price_of(writer: Writer) -> float | None:
    """Return the price in dollars of a million tokens read and as many written."""
    return cost(writer.backend, writer.llm, MILLION, MILLION)


def retrievers(collection: Collection, person: User) -> Choices:
    """Return what a pipeline may begin with; runs for those alone who see their names and rankings anyhow."""
    ranked: Choices = []
    if roles.holds(person, collection, roles.TO_SEE_RUNS):
        runs = collection.runs.accepted().filter(rankings__isnull=False).distinct().order_by("run_tag")
        ranked = [(f"{RUN}{run.pk}", f"{run.run_tag} (topics only)") for run in runs]
    corpora = [(f"{CORPUS}{name}", f"BM25 over {name}") for name in corpus_names()]
    return [("", "BM25"), *corpora, *ranked]


def rerankers() -> Choices:
    passes = [(str(n), f"In lists, {n} pass{'es' if n > 1 else ''}") for n in range(1, MOST_PASSES + 1)]
    ratings = [(f"{RATE}{name}", f"By ratings, {name}") for name in rating_prompts()]
    return [("", "Not at all"), *passes, *ratings]


def add_fields(form: forms.Form, collection: Collection, person: User, models: list[Writer]) -> None:
    """Add the modules of both sides; a choice of one is left out."""
    offered: dict[str, tuple[str, Choices]] = {"retriever": ("Retrieves by", retrievers(collection, person))}
    if models:
        offered["reranker"] = ("Reranks", rerankers())
        offered["model"] = ("Model", [(str(n) if n else "", model.llm) for n, model in enumerate(models)])
    for side in SIDES:
        for module, (label, choices) in offered.items():
            if len(choices) > 1:
                form.fields[f"{side}_{module}"] = forms.ChoiceField(label=label, required=False)
                offer_choices(form, f"{side}_{module}", choices)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A system whose modules somebody chose."""

    spec: SystemSpec
    name: str = ""


class BadPipeline(ValueError):
    """Modules that do not go together; the text says which."""


def chosen(
    collection: Collection, side: str, cleaned: Mapping[str, str], models: list[Writer], topic: Topic | None
) -> str | Pipeline:
    """Return the named system of a side where no module is changed, else its pipeline. Raises BadPipeline."""
    name = cleaned.get(side, DRAWN)
    retriever, reranker, model = (cleaned.get(f"{side}_{module}", "") for module in MODULES)
    if not (retriever or reranker or model):
        return name
    if name == DRAWN:
        raise BadPipeline("Choose how it answers, too.")
    system = SYSTEMS[name]
    if system.answering in CLOSED_BOOK and (retriever or reranker):
        raise BadPipeline("It reads no passages: nothing is retrieved or reranked.")
    writer = models[int(model or 0)] if models else None
    spec = system.spec(writer)
    if retriever.startswith(CORPUS):
        spec = replace(spec, corpus=retriever.removeprefix(CORPUS))
    elif retriever:
        if topic is None:
            raise BadPipeline("A run has rankings for topics only: choose a topic.")
        run = collection.runs.accepted().get(pk=retriever.removeprefix(RUN))
        spec = replace(spec, runs=(run.run_tag,))
    if reranker and writer:
        rates = reranker.startswith(RATE)
        passes, prompt = (0, reranker.removeprefix(RATE)) if rates else (int(reranker), "")
        spec = replace(
            spec, rerank_passes=passes, rating_prompt=prompt, backend=writer.backend, llm=writer.llm
        )
    return name if spec == system.spec(models[0] if models else None) else Pipeline(spec)


def modules(collection_id: int, spec: SystemSpec) -> str:
    """Return the modules in words; a run by the name that the reader may see."""
    return replace(spec, runs=shown_names(collection_id, spec.runs)).method
