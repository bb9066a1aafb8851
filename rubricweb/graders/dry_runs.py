"""Dry runs: a prompt tried on a few passages, as background work, to show what it does."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Substr
from django.utils import timezone

from grading import prompts, types
from grading.errors import GraderUnavailable, GradingError, UnknownGrader
from grading.graders import GraderSpec, misfit, registry
from grading.graders.exemplars import fitting
from grading.prompts import Prompt
from grading.prompts.chat import BEFORE_EXEMPLARS
from grading.types import ItemKind, Outcome
from rubricweb.accounts.models import User
from rubricweb.banks.models import DIRECT_UID, Item, ItemRevision
from rubricweb.core import audit, events
from rubricweb.corpus import convert as corpus
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.graders.models import DryRun
from rubricweb.grades import visibility
from rubricweb.grades.configs import options_of, reading_of, spec_for
from rubricweb.grades.engine import chunks
from rubricweb.grades.engine.missing import answers_for
from rubricweb.grades.exemplars import exemplar_slots
from rubricweb.grades.models import GraderConfig
from rubricweb.jobs import leases, queue, worker_state
from rubricweb.jobs.kinds import CannotRun, Need, TaskKind

logger = logging.getLogger(__name__)

MOST_PASSAGES = 3
BEGINNING = 70
"""Characters of a passage that identify it to people."""

KEPT_FOR = timedelta(days=1)
CANNOT_RUN = (GraderUnavailable, UnknownGrader)


@dataclass(frozen=True, slots=True)
class PassageChoice:
    doc_id: str
    beginning: str
    judgment: int | None


@dataclass(frozen=True, eq=False)
class TrialSample:
    """A topic with its items and passages, and those that are chosen."""

    topic: Topic
    items: tuple[Item, ...]
    """Items of the prompt's kinds that have a text; none in direct grading."""
    passages: tuple[PassageChoice, ...]
    revision: ItemRevision | None
    doc_ids: tuple[str, ...]

    @property
    def passage_options(self) -> list[tuple[str, str]]:
        """Return the ids of the passages, with the judgment and the first words of each."""
        return [
            (
                choice.doc_id,
                choice.beginning
                if choice.judgment is None
                else f"judged {choice.judgment}: {choice.beginning}",
            )
            for choice in self.passages
        ]

    def only_first(self) -> TrialSample:
        """Return the sample with its first passage only."""
        return TrialSample(self.topic, self.items, self.passages, self.revision, self.doc_ids[:1])

    @property
    def unknown(self) -> list[str]:
        """Return the chosen ids that are not in the pool."""
        offered = {choice.doc_id for choice in self.passages}
        return [doc_id for doc_id in self.doc_ids if doc_id not in offered]


@dataclass(frozen=True, slots=True)
class Shown:
    """The messages that a model would get about one passage."""

    doc_id: str
    messages: tuple[tuple[str, str], ...]
    problem: str
    """Why the prompt cannot be asked about it."""


def sample_of(
    collection: Collection, kinds: Iterable[ItemKind], fields: Mapping[str, str]
) -> TrialSample | None:
    """Return the sample that `fields` choose, with defaults for what is missing or does not fit.

    The defaults are the first topic, its first item, and passages judged high and low.

    None in a collection without topics.
    """
    topics = list(collection.topics.all())
    if not topics:
        return None
    topic = next((topic for topic in topics if str(topic.pk) == fields.get("topic")), topics[0])
    items = _items(collection, topic, kinds)
    pool = collection_pool(collection).by_topic[topic.pk]
    rows = topic.pool.annotate(beginning=Substr("passage__text", 1, BEGINNING))
    passages = tuple(
        PassageChoice(doc_id, " ".join(beginning.split()), pool.judgments.get(doc_id))
        for doc_id, beginning in rows.values_list("passage__doc_id", "beginning")
        if doc_id in pool.row_of
    )
    item = next((item for item in items if str(item.revision_id) == fields.get("item")), None)
    chosen = item or (items[0] if items else None)
    named = [fields.get(f"passage_{place}", "").strip() for place in range(1, MOST_PASSAGES + 1)]
    doc_ids = [doc_id for doc_id in dict.fromkeys(named) if doc_id]
    if not doc_ids or (fields.get("shown_topic") and fields["shown_topic"] != str(topic.pk)):
        # The passages that are judged highest and lowest, or the first two.
        judged = sorted(
            (passage for passage in passages if passage.judgment is not None),
            key=lambda passage: passage.judgment or 0,
            reverse=True,
        )
        ends = [judged[0], judged[-1]] if len(judged) > 1 else list(passages[:2])
        doc_ids = [passage.doc_id for passage in ends]
    return TrialSample(topic, items, passages, chosen.revision if chosen else None, tuple(doc_ids))


def blind_ids(collection_id: int, doc_ids: Iterable[str]) -> list[str]:
    """Return the passages that the reader has to rate blind; no model answers about them before that."""
    blind = visibility.blind_passages(collection_id)
    rows = Passage.objects.filter(collection=collection_id, doc_id__in=list(doc_ids) if blind else [])
    return sorted(doc_id for pk, doc_id in rows.values_list("pk", "doc_id") if pk in blind)


def pairs_of(sample: TrialSample, prompt: Prompt, spec: GraderSpec | None) -> list[types.CellToGrade]:
    """Return the pairs, with answers that the grader of `spec` extracted where the prompt needs them."""
    rows = Passage.objects.filter(collection=sample.topic.collection_id, doc_id__in=sample.doc_ids)
    by_id = {row.doc_id: row for row in rows}
    passages = [by_id[doc_id] for doc_id in sample.doc_ids if doc_id in by_id]
    item, answers = _item(sample, prompt), _answers(sample, spec, passages)
    topic = corpus.topic(sample.topic)
    return [
        types.CellToGrade(item, corpus.passage(passage), topic, answers.get(passage.pk))
        for passage in passages
    ]


def spec_of_dry_run(collection: Collection, prompt: Prompt, backend: str, llm: str) -> GraderSpec:
    return spec_for(backend, llm, prompt, reading_of(collection), options_of(collection, backend))


def shown_to_model(prompt: Prompt, pair: types.CellToGrade) -> Shown:
    failure = misfit(prompt, pair)
    return Shown(pair.passage.passage_id, tuple(prompt.messages(pair)), failure.reason if failure else "")


def _item(sample: TrialSample, prompt: Prompt) -> types.Item:
    kind = min(prompt.kinds)
    if sample.revision is None:
        return types.Item(DIRECT_UID, kind, sample.topic.text if kind is ItemKind.DIRECT else "")
    kinds = [ItemKind(item.kind) for item in sample.items if item.revision_id == sample.revision.pk]
    return chunks.item(sample.revision, kinds[0] if kinds else kind)


def _answers(sample: TrialSample, spec: GraderSpec | None, passages: list[Passage]) -> dict[int, str]:
    """Return the extracted answers by passage pk."""
    if spec is None or sample.revision is None:
        return {}
    config = GraderConfig(backend=spec.backend, prompt_class=spec.prompt_class, options=dict(spec.options))
    answers = answers_for(config, [sample.revision.pk], [passage.pk for passage in passages])
    hidden = visibility.hidden_cells(sample.topic.collection_id)[sample.topic.pk].graders
    return {place[1]: answer for place, answer in answers.items() if place not in hidden}


def _items(collection: Collection, topic: Topic, kinds: Iterable[ItemKind]) -> tuple[Item, ...]:
    """Return the items of these kinds, each wording once."""
    items = Item.objects.filter(bank__collection=collection).for_topic(topic).active().of_kinds(kinds)
    worded = items.exclude(revision__text="").select_related("revision")
    items = worded.prefetch_related("revision__answer_keys").order_by("bank__name", "position", "pk")
    return tuple({item.revision_id: item for item in items}.values())


@dataclass(frozen=True, slots=True)
class DryRunReply:
    """The result for one passage."""

    doc_id: str
    prompt: str
    reply: str
    rating: int | None
    outcome: str
    answer: str
    reason: str
    """Reason for its failure."""
    context_chars: int | None
    confidence: float | None

    @classmethod
    def of(cls, result: types.Grade | types.GradeFailure) -> DryRunReply:
        trace = result.trace
        prompt, reply, cut = (trace.prompt, trace.reply, trace.context_chars) if trace else ("", "", None)
        common = (result.passage_id, prompt, reply)
        if isinstance(result, types.GradeFailure):
            return cls(*common, None, Outcome.FAILED.value, "", result.reason, cut, confidence=None)
        return cls(
            *common,
            rating=result.rating,
            outcome=result.outcome.value,
            answer=result.answer,
            reason="",
            context_chars=cut,
            confidence=result.confidence,
        )


@transaction.atomic
def start_dry_run(
    collection: Collection, prompt: Prompt, sample: TrialSample, *, backend: str, llm: str, by: User | None
) -> DryRun:
    """Queue a dry run on the passages of `sample`; without an `llm`, by the back-end's default model."""
    collection.dry_runs.filter(at__lt=timezone.now() - KEPT_FOR).delete()
    dry_run: DryRun = DryRun.objects.create(
        collection=collection,
        prompt_class=prompt.prompt_class,
        definition=prompts.as_options(prompt) if prompts.is_own(prompt) else {},
        backend=backend,
        llm=llm or registry.BACKENDS[backend].default_llm,
        topic=sample.topic,
        revision=sample.revision,
        doc_ids=list(sample.doc_ids),
        by=by,
    )
    audit.record("prompt tried", dry_run, by=by, detail=f"{prompt.prompt_id} with {dry_run.llm}")
    queue.enqueue([dry_run])
    return dry_run


def keep(lease: leases.Lease[DryRun], replies: Iterable[DryRunReply], seconds: float) -> None:
    """Save the replies in the order of the passages, and the time they took. Raises LeaseLost."""
    order = {doc_id: place for place, doc_id in enumerate(lease.work.doc_ids)}
    ordered = sorted(replies, key=lambda reply: order[reply.doc_id])
    leases.finish(lease, results=[asdict(reply) for reply in ordered], seconds=seconds)


def sample_of_dry_run(dry_run: DryRun) -> TrialSample | None:
    """Return the sample of the dry run, with its alternatives."""
    fields = {f"passage_{place}": doc_id for place, doc_id in enumerate(dry_run.doc_ids, start=1)}
    fields |= {"topic": str(dry_run.topic_id), "item": str(dry_run.revision_id or "")}
    return sample_of(dry_run.collection, dry_run.prompt.kinds, fields)


def spec_of(dry_run: DryRun) -> GraderSpec:
    return spec_of_dry_run(dry_run.collection, dry_run.prompt, dry_run.backend, dry_run.llm)


def pairs(dry_run: DryRun) -> list[types.CellToGrade]:
    """Return what the grader is asked. Raises GraderUnavailable where its exemplars have changed."""
    sample, spec = sample_of_dry_run(dry_run), spec_of(dry_run)
    slots = exemplar_slots(spec)
    plain = pairs_of(sample, dry_run.prompt, spec) if sample else []
    return [replace(pair, exemplars=fitting(slots, pair)) for pair in plain]


def results(dry_run: DryRun) -> list[DryRunReply]:
    """Return the results, without those of passages that the reader is to rate blind.

    Such a reader sees no exemplars, which say how people rated other passages.
    """
    hidden = blind_ids(dry_run.collection_id, dry_run.doc_ids)
    replies = [DryRunReply(**reply) for reply in dry_run.results if reply["doc_id"] not in hidden]
    if not visibility.blind_passages(dry_run.collection_id):
        return replies
    return [replace(reply, prompt=reply.prompt.partition(BEFORE_EXEMPLARS)[0]) for reply in replies]


class DryRuns(TaskKind[DryRun]):
    name = "dry-run"
    model = DryRun
    related = ("collection", "topic", "revision")

    def run(self, lease: leases.Lease[DryRun]) -> None:
        """Run the dry run with the same grader as a job, but save no grades."""
        dry_run = lease.work
        try:
            with worker_state.now.load(dry_run.llm):
                grader = chunks.loaded_grader(spec_of(dry_run))
            start = time.monotonic()
            replies = [DryRunReply.of(result) for result in grader.grade(pairs(dry_run))]
            seconds = time.monotonic() - start
        except CANNOT_RUN as error:
            raise CannotRun(str(error)) from error
        except GradingError as error:
            logger.warning("dry run %s failed: %s", dry_run.pk, error)
            leases.fail(lease, error=str(error))
        else:
            keep(lease, replies, seconds)
            logger.info("dry run %s: %d replies", dry_run.pk, len(replies))

    def need(self, work: DryRun) -> Need:
        key = f"prompt-{work.backend}-{work.llm}"
        return Need(key, work.llm, *registry.requirement(work.backend))

    def label(self, work: DryRun) -> str:
        return f"dry run of {work.prompt_class}"

    def changed(self, work: DryRun) -> None:
        events.publish_on_commit(work.collection.channel, "progress")
