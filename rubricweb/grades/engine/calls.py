"""Single calls of a job: what was asked, what came back, how often it was tried, and where its cell is."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.paginator import Page, Paginator

from grading.errors import UnknownPrompt
from grading.types import ItemKind, Outcome
from rubricweb.banks.models import DIRECT_UID, Item
from rubricweb.grades import convert
from rubricweb.grades.configs import kinds_of, spec_of
from rubricweb.grades.engine import breaker
from rubricweb.grades.engine.answers import answers_for
from rubricweb.grades.engine.price import price_of_cell
from rubricweb.grades.engine.progress import measured_rate
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.grades.querysets import GradeQuerySet
from rubricweb.grades.replies.blocks import RawReply, raw_replies
from rubricweb.grades.visibility import visible_grades
from rubricweb.jobs.progress import Price

CALLS_A_PAGE = 20
LATEST_CALLS = 100


@dataclass(frozen=True, slots=True)
class Call:
    grade: Grade
    item: Item | None
    """One that asks these words now, to link to its cell; None where no item does any more."""
    price: Price
    """Of asking once more."""
    prompt: str
    """Written again from the same parts; empty where its wording is not known any more."""
    reply: RawReply

    @property
    def key(self) -> str:
        return str(self.grade.pk)

    @property
    def is_failed(self) -> bool:
        return self.grade.outcome == Outcome.FAILED

    @property
    def reason(self) -> str:
        return self.grade.reply if self.is_failed else ""

    @property
    def error_words(self) -> str:
        return breaker.words(self.grade.error_class) if self.is_failed else ""


def failed_calls(job: GradingJob, page: str | None) -> Page[Call]:
    return _page(job, _grades_of(job).filter(outcome=Outcome.FAILED), page)


def latest_calls(job: GradingJob, page: str | None) -> Page[Call]:
    """The newest grades of the job, of the topics that it worked on last."""
    chunks = job.chunks.filter(done__gt=0).order_by("-number")
    topics = list(dict.fromkeys(chunks.values_list("topic_id", flat=True)[:LATEST_CALLS]))[:3]
    grades = _grades_of(job).by(job.config).for_topics(topics)
    latest = list(grades.order_by("-pk").values_list("pk", flat=True)[:LATEST_CALLS])
    return _page(job, Grade.objects.filter(pk__in=latest), page)


def _grades_of(job: GradingJob) -> GradeQuerySet:
    """Without those of cells that the reader is to rate blind."""
    return visible_grades(Grade.objects.filter(job=job), job.collection_id)


def _page(job: GradingJob, grades: GradeQuerySet, number: str | None) -> Page[Call]:
    related = grades.select_related("config", "topic", "revision", "passage").order_by("-pk")
    related = related.prefetch_related("revision__answer_keys")
    page = Paginator(related, CALLS_A_PAGE).get_page(number)
    rows = list(page.object_list)
    items = _items(job, rows)
    rate, replies = measured_rate(job.config), raw_replies(rows)
    page.object_list = [
        Call(
            row,
            items.get(row.revision_id),
            price_of_cell(row, rate=rate),
            _prompt(row, items),
            replies[row.pk],
        )
        for row in rows
    ]
    return page


def _items(job: GradingJob, rows: list[Grade]) -> dict[int, Item]:
    """By revision."""
    asking = Item.objects.filter(
        bank__collection=job.collection_id, revision__in={row.revision_id for row in rows}
    )
    return {item.revision_id: item for item in asking.order_by("-retired_at", "-pk")}


def _prompt(grade: Grade, items: dict[int, Item]) -> str:
    """A prompt class in another version than that which was asked is not shown for it."""
    try:
        prompt = spec_of(grade.config).prompt
        if spec_of(grade.config).fingerprint != grade.config.fingerprint:
            return ""
    except UnknownPrompt:
        return ""
    cell = (grade.revision_id, grade.passage_id)
    answer = answers_for(grade.config, *([pk] for pk in cell)).get(cell)
    pair = convert.pair(grade.topic, grade.revision, grade.passage, _kind(grade, items), answer)
    cut = grade.context_chars
    return prompt.render(pair, None if cut is None else pair.passage.text[:cut])


def _kind(grade: Grade, items: dict[int, Item]) -> ItemKind:
    if grade.revision.uid == DIRECT_UID:
        return ItemKind.DIRECT
    item = items.get(grade.revision_id)
    return ItemKind(item.kind) if item else min(kinds_of(grade.config))
