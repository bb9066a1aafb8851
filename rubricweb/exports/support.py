"""Labels of support as files, the scores by them, and the page on which a file is chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from django import forms
from django.http import Http404, HttpResponse, HttpResponseBase, QueryDict
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from grading.formats.events import ModelLabel, PersonLabel, event_line
from grading.formats.json_lines import encode_json
from grading.formats.leaderboards import ALL, LeaderboardRow
from grading.formats.support_labels import CONTRADICTION, AnswerLabels, SentenceLabels, labelled_json
from grading.formats.tables import DataTable, Value
from grading.support import is_label
from grading.types import CONTRADICTS, FAILED, MISSING, Sentence
from rubricweb.core.formatting import counted
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, download
from rubricweb.corpus import convert
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Response
from rubricweb.corpus.pseudonyms import assessor_pseudonym, hides_names
from rubricweb.corpus.run_slices import run_names
from rubricweb.exports.files import file_page, joined
from rubricweb.leaderboards.board.files import PER_TOPIC
from rubricweb.support.agreement import agreement
from rubricweb.support.board import (
    RULES,
    Counting,
    Mean,
    SupportBoard,
    SupportRow,
    answered_topics,
    board,
    score_table,
    scores_of,
)
from rubricweb.support.board_page import SupportBoardForm
from rubricweb.support.labels import (
    SupportRater,
    cited,
    imported,
    labels_by,
    placed_labels,
    raters,
    statements_of,
)
from rubricweb.support.models import SupportEvent, SupportLabel

FILES = {"scores": "txt", "answers": "jsonl", "qrels": "qrels", "jsonl": "jsonl"}
"""The ending of each."""


@require_safe
def support(request: HtmxRequest, slug: str, file: str) -> HttpResponseBase:
    """Download scores or labels by the parameters of the board, or all labels made here as JSONL."""
    collection = collection_for(request.user, slug)
    chosen = SupportBoardForm(request.GET)
    rater, counting = chosen.offer(collection)
    if chosen.problem:
        raise Http404(chosen.problem)
    form = request.GET.get("format") or "ir_measures"
    if file not in FILES or form not in PER_TOPIC:
        raise Http404("No such file of support.")
    lines: Iterable[str]
    more: tuple[str, ...] = ()
    if file == "scores":
        lines = PER_TOPIC[form](score_rows(collection, rater, counting))
        more = (counting.rule.value, counting.runs.file_name if counting.runs else "")
    elif file == "answers":
        lines = map(answer_line, labelled_answers(collection, rater))
    elif file == "qrels":
        lines = qrels_lines(collection, rater)
    else:
        lines = label_lines(collection)
    content_type = "application/jsonl" if FILES[file] == "jsonl" else "text/plain"
    return download(
        (f"{line}\n" for line in lines),
        name=support_file_name(collection, file, rater, *more),
        content_type=f"{content_type}; charset=utf-8",
    )


def support_file_name(collection: Collection, file: str, rater: SupportRater, *more: str) -> str:
    """Return the name of one of FILES; `more` is what else the scores depend on."""
    of = {"answers": (rater.key, "answers"), "jsonl": ("labels",)}.get(file, (rater.key,))
    return joined(collection.slug, "support", *of, *more) + f".{FILES[file]}"


def score_rows(collection: Collection, rater: SupportRater, counting: Counting) -> Iterator[LeaderboardRow]:
    """Yield each score of each run by topic, as `counting` has them, and the means as topic `all`."""
    names, scores = run_names(collection, counting.runs), scores_of(collection, rater, counting)
    query_ids = dict(collection.topics.values_list("pk", "query_id"))
    topics, standing = answered_topics(scores), board(collection, rater, counting)
    rows = standing.rows
    runs = [row.run_id for row in rows]
    tables = [score_table(scores, runs, topics, name, counting) for name in standing.names]
    for place, row in enumerate(rows):
        run_tag = names[row.run_id].replace(" ", "-")
        for topic, topic_id in enumerate(topics):
            for name, table in zip(standing.names, tables, strict=True):
                if not np.isnan(value := float(table[place, topic])):
                    yield LeaderboardRow(run_tag, query_ids[topic_id], f"support_{name}", value)
        yield from _means(run_tag, _named(standing, row))


def _named(standing: SupportBoard, row: SupportRow) -> dict[str, Mean]:
    """Return the scores of a row by name."""
    return {name: getattr(row, name) for name in standing.names}


def _means(run_tag: str, means: Mapping[str, Mean]) -> Iterator[LeaderboardRow]:
    for name, mean in means.items():
        if mean.is_defined:
            yield LeaderboardRow(run_tag, ALL, f"support_{name}", mean.value)


def board_table(collection: Collection, rater: SupportRater, counting: Counting) -> DataTable:
    """Return the board, a run a row: each score with its interval and the ranks that the topics leave."""
    standing = board(collection, rater, counting)
    columns = [
        column
        for name in standing.names
        for column in (name, f"{name}_low", f"{name}_high", f"{name}_rank_best", f"{name}_rank_worst")
    ]
    rows = tuple(
        (
            row.run_tag,
            *(cell for mean in _named(standing, row).values() for cell in _cells(mean)),
            row.judged,
            row.missing,
        )
        for row in standing.rows
    )
    stated = (
        *((("runs", counting.runs.stated),) if counting.runs else ()),
        ("labels", f"{rater.name}; {RULES[counting.rule]}"),
        *(("order", each) for each in standing.ahead),
    )
    return DataTable(("run_tag", *columns, "labelled", "missing"), rows, stated)


def _cells(mean: Mean) -> tuple[Value, ...]:
    best, worst = mean.possible or (None, None)
    return mean.value, mean.low, mean.high, best, worst


def agreement_table(collection: Collection, rater: SupportRater) -> DataTable:
    """Return how far people agree with the model, or with each one where the author is people."""
    rows = [
        (str(row.judge), name, condition.pairs, condition.exact, condition.kappa, interval.low, interval.high)
        for row in agreement(collection)
        for name, condition in (("from scratch", row.from_scratch), ("after its label", row.post_edited))
        for interval in (condition.interval,)
        if condition.pairs and rater.judge in (None, row.judge)
    ]
    columns = ("model", "people_labelled", "pairs", "same", "kappa", "kappa_low", "kappa_high")
    return DataTable(columns, tuple(rows), (("intervals", "95 %, over topics"),))


def labelled_answers(collection: Collection, rater: SupportRater) -> Iterator[AnswerLabels]:
    """Yield the rater's answers: those of files in their order, then those with a label made here.

    A label made here stands at every equal sentence of a topic. What has none, or a failed one, is MISSING.
    Keys that a file had beside the labels are in the answer, unless the reader sees pseudonyms of runs.
    """
    labels, names = placed_labels(collection, rater), run_names(collection)
    answers = {answer.response_id: answer for answer in cited(collection).answers}
    foreign = labelled_responses(collection, rater)
    for pk in foreign:
        response = Response.objects.select_related("run", "topic").get(pk=pk)
        run_tag = names[response.run_id]
        rows = zip(convert.sentences(response), labels.at_places(answers[pk]), strict=True)
        yield AnswerLabels(
            run_tag=run_tag.replace(" ", "-"),
            query_id=response.topic.query_id,
            sentences=tuple(_labelled(sentence, row) for sentence, row in rows),
            foreign=foreign[pk] if run_tag == response.run.run_tag else {},
        )


def labelled_responses(collection: Collection, rater: SupportRater) -> dict[int, dict[str, Any]]:
    """Return the answers with a label by key, with what a file had beside: those of files, then others."""
    labels = placed_labels(collection, rater)
    in_order = imported(collection).filter(judge=rater.judge).values_list("response", "foreign")
    foreign = {pk: read for pk, read in in_order if pk in labels.by_response}
    made_here = [
        answer.response_id
        for answer in cited(collection).answers
        if answer.response_id not in foreign
        and any(is_label(label) for row in labels.at_places(answer) for label in row)
    ]
    return foreign | {pk: {} for pk in made_here}


def _labelled(sentence: Sentence, labels: Sequence[int]) -> SentenceLabels:
    """Return as many citations of the sentence as there are labels."""
    doc_ids = [citation.doc_id for citation in sentence.citations or ()]
    return SentenceLabels(
        sentence.text,
        tuple(doc_ids[: len(labels)]),
        tuple(label if is_label(label) else MISSING for label in labels),
    )


def answer_line(answer: AnswerLabels) -> str:
    """Return the answer as a line of JSON, without a line break."""
    return encode_json(labelled_json(answer)).decode()


def qrels_lines(collection: Collection, rater: SupportRater) -> Iterator[str]:
    """Yield `topic sentence-md5 doc-id label` of labels made here, with tabs; a failed one has no line.

    A contradiction is 0, as in the labels of tracks.
    """
    query_ids = dict(collection.topics.values_list("pk", "query_id"))
    for citation, label in sorted(labels_by(collection, rater).items()):
        if label != FAILED:
            yield "\t".join((query_ids[citation.topic_id], *citation[1:], str(max(int(label), 0))))


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


NO_WORD_FOR = "that the passage contradicts the sentence in"


def lost_contradictions(answers: Iterable[AnswerLabels]) -> Iterator[str]:
    """Yield how many contradictions lines of answers have as 0, since no file that was read has the word."""
    lost = 0
    for answer in answers:
        labels = Counter(label for row in answer.labels for label in row)
        rows = labelled_json(answer)["sentences"] if labels[CONTRADICTS] else ()
        kept = Counter(citation["support"] for row in rows for citation in row["citations"])
        lost += labels[CONTRADICTS] - kept[CONTRADICTION]
    if lost:
        yield f"{NO_WORD_FOR} {counted(lost, 'citation')}: they are 0, as NIST has them"


FORMATS = {
    "answers": "by answer, as NIST and RAGDoll have them (JSON Lines)",
    "qrels": "by sentence and document, as qrels",
    "jsonl": "every label made here, of models and people (JSON Lines)",
}


@dataclass(frozen=True)
class SupportExport:
    """Labels of support in one format, before they are written."""

    collection: Collection
    rater: SupportRater
    file: str

    @property
    def file_name(self) -> str:
        return support_file_name(self.collection, self.file, self.rater)

    @cached_property
    def losses(self) -> list[str]:
        """Return what the file will lack, an entry a sort of things."""
        lost = {"answers": _lost_by_answer, "qrels": _lost_by_qrels, "jsonl": _lost_by_event}
        return list(lost[self.file](self.collection, self.rater))


class SupportFileForm(forms.Form):
    """Whose labels are written, and how."""

    rater = forms.ChoiceField(label="Labels of")
    file = forms.ChoiceField(label="Format", choices=list(FORMATS.items()))

    def __init__(self, address: QueryDict, collection: Collection) -> None:
        self.raters = {rater.key: rater for rater in raters(collection)}
        chosen = {"rater": address.get("rater", next(iter(self.raters)))}
        super().__init__(chosen | {"file": address.get("file", "answers")})
        offer_choices(self, "rater", [(key, rater.name) for key, rater in self.raters.items()])


@require_safe
def support_page(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = collection_for(request.user, slug)
    form = SupportFileForm(request.GET, collection)
    export, file_address = None, ""
    if form.is_valid():
        rater, file = form.cleaned_data["rater"], form.cleaned_data["file"]
        export = SupportExport(collection, form.raters[rater], file)
        file_address = f"{reverse('exports:support', args=[slug, file])}?{urlencode({'rater': rater})}"
    return file_page(
        request,
        collection,
        form,
        export,
        title="Labels of support",
        intro="Whether passages that answers cite support their sentences, by one author.",
        file_address=file_address,
    )


def _lost_by_answer(collection: Collection, rater: SupportRater) -> Iterator[str]:
    """Yield what answers with their labels, -1 for none, do not say."""
    labels = labels_by(collection, rater)
    yield from lost_contradictions(labelled_answers(collection, rater))
    if failed := sum(label == FAILED for label in labels.values()):
        yield f"that {failed:,} labels failed: they are -1, as if nobody had been asked"
    yield from _lost_of_people(collection, rater, "which label each person gave: theirs is the majority's")
    if rater.judge and any(map(is_label, labels.values())):
        yield "the replies of the model"
    answers = cited(collection)
    if unsaid := answers.unsaid.total():
        yield f"{unsaid:,} answers whose file does not say what they cite"
    placed = placed_labels(collection, rater)
    if unfitting := placed.unfitting.total():
        yield f"the labels of {unfitting:,} answers that have changed since"
    if lacking := len(answers.answers) - len(labelled_responses(collection, rater)):
        yield f"{lacking:,} answers without a label of {rater.name}"
    if hides_names(collection.pk):
        yield "the names of runs, and what a file had beside the labels: you know runs by pseudonyms"


def _lost_by_qrels(collection: Collection, rater: SupportRater) -> Iterator[str]:
    """Yield what lines of topic, sentence, document and label do not say."""
    yield "the text of a sentence, of which a line has the md5, and the run: equal sentences have one label"
    if failed := sum(label == FAILED for label in labels_by(collection, rater).values()):
        yield f"{failed:,} labels that failed: they have no line"
    contradicts = sum(label == CONTRADICTS for label in labels_by(collection, rater).values())
    if contradicts:
        yield f"{NO_WORD_FOR} {contradicts:,} citations: they are 0, as no support"
    of_files = imported(collection).filter(judge=rater.judge).count() if rater.is_imported else 0
    if of_files:
        yield f"the labels of {of_files:,} answers that came by file, each at its place in one run"
    yield from _lost_of_people(collection, rater, "which label each person gave: theirs is the majority's")
    yield "whose labels they are"


def _lost_by_event(collection: Collection, rater: SupportRater) -> Iterator[str]:
    """Yield what the labels made here leave out, which are everybody's, whoever is chosen."""
    if of_files := imported(collection).count():
        yield f"the labels of {of_files:,} answers that came by file: these are written by answer"
    if SupportEvent.objects.filter(topic__collection=collection).exists():
        yield "the names of people, who have pseudonyms"


def _lost_of_people(collection: Collection, rater: SupportRater, text: str) -> Iterator[str]:
    if rater.judge is None and SupportEvent.objects.filter(topic__collection=collection).exists():
        yield f"{text}, nor when, nor which label of a model they saw first"
