"""Human ratings and labels of support as files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from django import forms
from django.http import Http404, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from grading.formats.events import GraderVerdict, How, ModelLabel, PersonLabel, RatingEvent, event_line
from grading.formats.leaderboards import ALL, LeaderboardRow
from grading.support import JudgedCitations
from grading.types import FAILED
from rubricweb.accounts import roles
from rubricweb.banks.secrecy import public
from rubricweb.campaigns.models import CampaignCell, Turn
from rubricweb.core.formatting import safe_cell
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.exports.selectors import joined
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.raters import AddressForm
from rubricweb.grades.visibility import count_ratings, visible_human_grades
from rubricweb.leaderboards.board.files import PER_TOPIC
from rubricweb.support.board import Mean, answered_topics, board, run_names, score_table, scores_of
from rubricweb.support.board_page import BoardForm
from rubricweb.support.labels import SupportRater, labels_by, statements_of
from rubricweb.support.models import SupportEvent, SupportLabel

if TYPE_CHECKING:
    from rubricweb.accounts.models import User


RATING_FORMATS = {
    "jsonl": "application/x-ndjson; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
}

FILES = {"scores": "txt", "qrels": "qrels", "jsonl": "jsonl"}
"""The ending of each."""
SCORES = ("support_precision", "support_recall")


@dataclass(frozen=True, slots=True)
class RandomCellLine:
    """A cell that was drawn at random, with its probability, for estimates."""

    campaign: str
    query_id: str
    item_id: str
    passage_id: str
    order: int
    draw_probability: float
    population: int
    ratings: int


Line = RatingEvent | RandomCellLine


class FileForm(AddressForm):
    """Which file."""

    file = forms.ChoiceField(
        choices=[(name, name) for name in RATING_FORMATS], initial="jsonl", required=False
    )
    names = forms.ChoiceField(choices=[("", "pseudonyms"), ("1", "names")], required=False)


@require_safe
def human_grades(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download every event of ratings.

    Only people who see all ratings may, since others may still have to rate the cells.
    """
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    count_ratings(collection.pk)  # before the headers are written
    form = FileForm(request.GET)
    lines = human_grade_lines(collection, shows_names=bool(form.value("names", "")))
    return _download(lines, form, RatingEvent, f"{slug}_human_grades")


@require_safe
def random_cells(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download the cells that campaigns drew at random."""
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    form = FileForm(request.GET)
    return _download(random_cell_lines(collection), form, RandomCellLine, f"{slug}_random_cells")


def human_grade_lines(collection: Collection, *, shows_names: bool = False) -> Iterator[RatingEvent]:
    """Yield ratings in chronological order, each with the comment of its turn.

    Events that are hidden from the reader are left out, and those of secret items.
    """
    turns = _turns(collection)
    full = ("topic", "revision", "passage", "by", "config", "decision")
    rows = HumanGrade.objects.filter(topic__collection=collection).select_related(*full).order_by("pk")
    for row in visible_human_grades(public(rows), collection.pk).iterator(chunk_size=2_000):
        campaign, comment = turns.get((row.revision_id, row.passage_id, row.by_id), ("", ""))
        decision = getattr(row, "decision", None)
        yield RatingEvent(
            event=str(row.uid),
            query_id=row.topic.query_id,
            item_id=row.revision.uid,
            passage_id=row.passage.doc_id,
            assessor=_called(collection, row.by, shows_names=shows_names),
            number=row.number,
            rating=row.rating,
            verdict=GraderVerdict(row.verdict),
            how=How(row.how),
            withdrawn=row.is_withdrawn,
            grader=str(row.config) if row.config else "",
            grader_rating=row.seen_rating,
            campaign=campaign if row.how in {HumanGrade.How.BLIND, HumanGrade.How.ASSISTED} else "",
            comment=comment,
            reason=decision.reason if decision else "",
            at=row.at.isoformat(),
        )


def random_cell_lines(collection: Collection) -> Iterator[RandomCellLine]:
    """Yield the random cells of each campaign in its order, without secret items."""
    cells = public(CampaignCell.objects.filter(campaign__collection=collection, is_random=True))
    full = ("campaign", "topic", "revision", "passage")
    done: dict[int, int] = {}
    turns = Turn.objects.filter(cell__in=cells, state=Turn.State.SUBMITTED)
    for cell in turns.values_list("cell", flat=True):
        done[cell] = done.get(cell, 0) + 1
    for row in cells.select_related(*full).order_by("campaign", "order").iterator(chunk_size=2_000):
        yield RandomCellLine(
            campaign=row.campaign.name,
            query_id=row.topic.query_id,
            item_id=row.revision.uid,
            passage_id=row.passage.doc_id,
            order=row.order,
            draw_probability=row.draw_probability,
            population=row.campaign.population,
            ratings=done.get(row.pk, 0),
        )


def _turns(collection: Collection) -> dict[tuple[int, int, int], tuple[str, str]]:
    """Return the last campaign and comment of each (revision, passage, person)."""
    rows = Turn.objects.filter(campaign__collection=collection, state=Turn.State.SUBMITTED).order_by("pk")
    names = ("cell__revision", "cell__passage", "person", "campaign__name", "comment")
    return {
        (revision, passage, person): turn for revision, passage, person, *turn in rows.values_list(*names)
    }


def _called(collection: Collection, person: User, *, shows_names: bool) -> str:
    return person.username if shows_names else assessor_pseudonym(collection, person.pk)


def _download(lines: Iterable[Line], form: FileForm, kind: type[Line], name: str) -> StreamingHttpResponse:
    chosen = form.value("file", "jsonl")
    written = _tsv(lines, kind) if chosen == "tsv" else _jsonl(lines)
    response = StreamingHttpResponse(written, content_type=RATING_FORMATS[chosen])
    response["Content-Disposition"] = f'attachment; filename="{name}.{chosen}"'
    return response


def _jsonl(lines: Iterable[Line]) -> Iterator[str]:
    for line in lines:
        written = (
            event_line(line)
            if isinstance(line, RatingEvent)
            else json.dumps(asdict(line), ensure_ascii=False)
        )
        yield f"{written}\n"


def _tsv(lines: Iterable[Line], kind: type[Line]) -> Iterator[str]:
    """Yield lines with a header; tabs and line breaks inside a field become spaces."""
    names = [name for name in kind.__annotations__ if name != "line"]
    yield "\t".join(names) + "\n"
    for line in lines:
        yield "\t".join(_cell(getattr(line, name)) for name in names) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return "" if value is None else safe_cell(value)


@require_safe
def support(request: HtmxRequest, slug: str, file: str) -> HttpResponseBase:
    """Download scores by topic or labels as qrels, by the parameters of the board, or all labels as JSONL."""
    collection = collection_for(request.user, slug)
    rater, rule = BoardForm(request.GET).offer(collection)
    form = request.GET.get("format") or next(iter(PER_TOPIC))
    if file not in FILES or form not in PER_TOPIC:
        raise Http404("No such file of support.")
    if file == "scores":
        lines = PER_TOPIC[form](score_rows(collection, rater, rule))
    else:
        lines = qrels_lines(collection, rater) if file == "qrels" else label_lines(collection)
    of = (rater.key, rule.value) if file == "scores" else (rater.key,) if file == "qrels" else ("labels",)
    content_type = "application/jsonl" if file == "jsonl" else "text/plain"
    response = StreamingHttpResponse(
        (f"{line}\n" for line in lines), content_type=f"{content_type}; charset=utf-8"
    )
    name = joined(slug, "support", *of) + f".{FILES[file]}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def score_rows(
    collection: Collection, rater: SupportRater, rule: JudgedCitations
) -> Iterator[LeaderboardRow]:
    """Yield each score of each run, 0 on topics that it does not answer, and the means as topic `all`."""
    names, scores = run_names(collection), scores_of(collection, rater, rule)
    query_ids = dict(collection.topics.values_list("pk", "query_id"))
    topics, rows = answered_topics(scores), board(collection, rater, rule).rows
    runs = [row.run_id for row in rows]
    tables = [score_table(scores, runs, topics, name) for name in ("precision", "recall")]
    for place, row in enumerate(rows):
        run_tag = names[row.run_id].replace(" ", "-")
        for topic, topic_id in enumerate(topics):
            for name, table in zip(SCORES, tables, strict=True):
                if not np.isnan(value := float(table[place, topic])):
                    yield LeaderboardRow(run_tag, query_ids[topic_id], name, value)
        yield from _means(run_tag, (row.precision, row.recall))


def _means(run_tag: str, means: tuple[Mean, Mean]) -> Iterator[LeaderboardRow]:
    for name, mean in zip(SCORES, means, strict=True):
        if mean.is_defined:
            yield LeaderboardRow(run_tag, ALL, name, mean.value)


def qrels_lines(collection: Collection, rater: SupportRater) -> Iterator[str]:
    """Yield `topic sentence-md5 doc-id label` with tabs; a failed label has no line."""
    query_ids = dict(collection.topics.values_list("pk", "query_id"))
    for citation, label in sorted(labels_by(collection, rater).items()):
        if label != FAILED:
            yield "\t".join((query_ids[citation.topic_id], *citation[1:], str(int(label))))


def label_lines(collection: Collection) -> Iterator[str]:
    """Yield every label of a model and event of a person, with the sentence where a run still has it."""
    for topic in collection.topics.order_by("position"):
        texts = {md5: statement.text for md5, statement in statements_of(topic).items()}
        of_models = SupportLabel.objects.filter(topic=topic).select_related("judge").order_by("pk")
        for label in of_models:
            yield event_line(
                ModelLabel(
                    topic_id=topic.query_id,
                    sentence_md5=label.sentence_md5,
                    doc_id=label.doc_id,
                    sentence=texts.get(label.sentence_md5),
                    label=label.label,
                    backend=label.judge.backend,
                    llm=label.judge.llm,
                    prompt_id=label.judge.prompt_id,
                    reply=label.reply,
                )
            )
        events = SupportEvent.objects.filter(topic=topic).select_related("seen_judge").order_by("pk")
        for event in events:
            yield event_line(
                PersonLabel(
                    topic_id=topic.query_id,
                    sentence_md5=event.sentence_md5,
                    doc_id=event.doc_id,
                    sentence=texts.get(event.sentence_md5),
                    label=event.label,
                    person=assessor_pseudonym(collection, event.by_id),
                    is_withdrawn=event.label is None,
                    seen_label=event.seen_label,
                    seen_llm=event.seen_judge.llm if event.seen_judge else None,
                    at=event.at.isoformat(),
                )
            )
