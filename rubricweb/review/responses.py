"""A response as a grid: its passages in order, by the items of a bank (RAG'24, Table 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe
from numpy.typing import NDArray

from grading.segmentation import ResponsePassage
from grading.types import FAILED, MISSING, Ratings, Sentence
from rubricweb.banks.models import Bank
from rubricweb.core.forms import ChipForm
from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.corpus import convert
from rubricweb.corpus.models import Response
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades import topic_ratings, visibility
from rubricweb.grades.raters import GraderForm, Rater, covered_from, raters
from rubricweb.review import access, selectors
from rubricweb.review.grid import INSET, inset_frame
from rubricweb.review.selectors.columns import GridColumn, columns_for
from rubricweb.review.selectors.grid import graded_by_kind


@dataclass(frozen=True, slots=True)
class RatedItem:
    """An item that a passage covers."""

    item: GridColumn
    rating: int
    href: str
    """The cell's page."""


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """One passage of the response."""

    number: int
    sentences: tuple[Sentence, ...]
    """The text with what it cites; of a part of a long sentence, the part."""
    covers: tuple[RatedItem, ...]
    highest: int
    """The highest rating, MISSING where no cell is graded."""
    missing: int
    """Cells without a grade, or with one that the reader must not see yet."""
    failed: int


@dataclass(frozen=True, slots=True)
class CoveredItem:
    """An item of the bank, and the numbers of the rows that cover it."""

    item: GridColumn
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AnswerGrid:
    rows: tuple[ResponseRow, ...]
    items: tuple[CoveredItem, ...]
    hidden: int
    """Cells of the response that the reader has to rate before they see grades."""

    @property
    def covered(self) -> int:
        return sum(bool(item.rows) for item in self.items)

    @property
    def covering(self) -> int:
        return sum(bool(row.covers) for row in self.rows)

    @property
    def missing(self) -> int:
        return sum(row.missing for row in self.rows)


def answer_grid(bank: Bank, response: Response, rater: Rater, min_grade: int) -> AnswerGrid:
    """Return the response by the grades of `rater` that the reader may see."""
    pool = collection_pool(bank.collection).only(response.topic_id)
    topic = pool.topics[0]
    items = columns_for(bank, response.topic, rater, selectors.GridQuery())
    columns = tuple(item.column for item in items)
    graded = graded_by_kind(pool, response.topic, rater)
    sheet = _Sheet(
        bank,
        response,
        items,
        topic_ratings.ratings_of(graded, columns, len(topic.doc_ids)),
        topic.row_of,
        topic.passage_pks,
        np.array([rater.can_grade(column) for column in columns], dtype=np.bool_),
    )
    least = rater.min_grades_of((item.kind for item in items), min_grade)
    sentences = convert.sentences(response)
    ranked = topic.ranked_by(pool.run_pks.index(response.run_id)) if response.run_id in pool.run_pks else ()
    passages = convert.response_passages(response, ranked)
    rows = tuple(sheet.row(number, passage, sentences, least) for number, passage in enumerate(passages, 1))
    covered_items = tuple(
        CoveredItem(
            item, tuple(row.number for row in rows if any(rated.item is item for rated in row.covers))
        )
        for item in items
    )
    return AnswerGrid(rows, covered_items, sheet.hidden(passages))


@dataclass(frozen=True, eq=False)
class _Sheet:
    """The ratings of a topic's pool, of which a response has some passages."""

    bank: Bank
    response: Response
    items: list[GridColumn]
    ratings: Ratings
    row_of: dict[str, int]
    passage_pks: tuple[int, ...]
    gradable: NDArray[np.bool_]
    """Whether a cell of the item without a grade is missing one, by item."""

    def row(
        self, number: int, passage: ResponsePassage, sentences: Sequence[Sentence], least: Ratings
    ) -> ResponseRow:
        at = self.row_of.get(passage.doc_id)
        ratings = np.full(len(self.items), MISSING) if at is None else self.ratings[at]
        covering = np.flatnonzero(ratings >= least)
        return ResponseRow(
            number=number,
            sentences=_sentences_of(passage, sentences),
            covers=tuple(self._rated(self.passage_pks[at or 0], int(n), int(ratings[n])) for n in covering),
            highest=int(ratings.max(initial=MISSING)) if (ratings >= 0).any() else MISSING,
            missing=int(((ratings == MISSING) & self.gradable).sum()),
            failed=int((ratings == FAILED).sum()),
        )

    def _rated(self, passage_pk: int, number: int, rating: int) -> RatedItem:
        item = self.items[number]
        place = [self.bank.pk, self.response.topic_id, passage_pk, item.pk]
        return RatedItem(item, rating, reverse("review:cell", args=place))

    def hidden(self, passages: Sequence[ResponsePassage]) -> int:
        """Count the cells of these passages that the reader has to rate first."""
        hidden = visibility.hidden_cells(self.bank.collection_id)[self.response.topic_id].graders
        wordings = {item.revision_pk for item in self.items}
        own = {self.passage_pks[self.row_of[part.doc_id]] for part in passages if part.doc_id in self.row_of}
        return sum(revision in wordings and passage in own for revision, passage in hidden)


def _sentences_of(passage: ResponsePassage, sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """Return the sentences of a passage that have text; a part of one has the part's text."""
    whole = sentences[passage.first : passage.last + 1]
    if passage.is_part and passage.first == passage.last:
        return (Sentence(passage.text, whole[0].citations),)
    return tuple(sentence for sentence in whole if sentence.text.strip())


class AnswerForm(ChipForm, GraderForm):
    """The grader, and from which grade on an item is covered."""

    in_toolbar = ("grader", "min_grade")

    min_grade = covered_from()

    def default_value(self, name: str) -> str:
        return {"grader": self.data["grader"], "min_grade": str(self.default_min_grade)}[name]


@require_safe
def response(request: HtmxRequest, bank_id: int, topic_id: int, run_id: int) -> HttpResponse:
    """Show the run's answer to a topic in order, with what each sentence cites and covers."""
    bank, answer = access.response_for(request.user, bank_id, topic_id, run_id)
    form = AnswerForm(request.GET)
    rater = form.offer(raters(bank))
    min_grade = form.value("min_grade", form.default_min_grade)
    context = inset_frame(request, bank, answer.topic)
    context |= {"inset": f"Answer of {answer.run.run_tag}", "run": answer.run, "response": answer}
    context |= {"form": form, "rater": rater, "min_grade": min_grade}
    context["grid"] = answer_grid(bank, answer, rater, min_grade)
    return page_or_part(request, INSET, context, part="answer")
