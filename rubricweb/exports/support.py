"""Labels of support as files, and the scores that are made of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from django.http import Http404, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from grading.formats.events import ModelLabel, PersonLabel, event_line
from grading.formats.leaderboards import ALL, LeaderboardRow
from grading.support.scores import JudgedCitations
from grading.types import FAILED
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.exports.naming import joined
from rubricweb.leaderboards.board.per_topic_files import FORMATS
from rubricweb.support.board import Mean, answered_topics, board, run_names, score_table, scores_of
from rubricweb.support.cited import statements_of
from rubricweb.support.forms import BoardForm
from rubricweb.support.labels import SupportRater, labels_by
from rubricweb.support.models import SupportEvent, SupportLabel

FILES = {"scores": "txt", "qrels": "qrels", "jsonl": "jsonl"}
"""The ending of each."""
SCORES = ("support_precision", "support_recall")


@require_safe
def support(request: HtmxRequest, slug: str, file: str) -> HttpResponseBase:
    """Scores by topic, labels as qrels (both by the parameters of the board), or every label as JSONL."""
    collection = collection_for(request.user, slug)
    rater, rule = BoardForm(request.GET).offer(collection)
    form = request.GET.get("format") or next(iter(FORMATS))
    if file not in FILES or form not in FORMATS:
        raise Http404("No such file of support.")
    if file == "scores":
        lines = FORMATS[form](score_rows(collection, rater, rule))
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
    """Each score of each run, 0 on topics that it does not answer, and the means as topic `all`."""
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
    """`topic sentence-md5 doc-id label` with tabs; a failed label has no line."""
    query_ids = dict(collection.topics.values_list("pk", "query_id"))
    for citation, label in sorted(labels_by(collection, rater).items()):
        if label != FAILED:
            yield "\t".join((query_ids[citation.topic_id], *citation[1:], str(int(label))))


def label_lines(collection: Collection) -> Iterator[str]:
    """Every label of a model and every event of a person, with the sentence where a run still has it."""
    for topic in collection.topics.order_by("position"):
        texts = {md5: one.text for md5, one in statements_of(topic).items()}
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
