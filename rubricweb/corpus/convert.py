"""Rows of the corpus as the dataclasses of `grading`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet

from grading import segmentation, types
from grading.formats.passages import PassageEntry
from grading.formats.topic_dialects import TopicEntry
from rubricweb.corpus.models import Passage, Ranking, Response, Topic

PASSAGE_COLUMNS = ("doc_id", "text", "title", "url", "headings", "start_char", "end_char")
READ_AT_ONCE = 2_000


def topic(row: Topic) -> types.Topic:
    return types.Topic(row.query_id, row.text)


def topic_entry(row: Topic) -> TopicEntry:
    """Return the topic with all that its track says of it, as files have it."""
    return TopicEntry(
        query_id=row.query_id,
        title=row.text,
        description=row.description,
        narrative=row.narrative,
        background=row.background,
        limit_words=row.limit_words,
        limit_characters=row.limit_characters,
        attributes=row.attributes,
        foreign=row.foreign,
    )


def passage(row: Passage) -> types.Passage:
    return types.Passage(row.doc_id, row.text)


def passage_entries(rows: QuerySet[Passage]) -> Iterator[PassageEntry]:
    """Yield the passages with all that their files say of them, a few thousand rows at a time."""
    for values in rows.values(*PASSAGE_COLUMNS).iterator(chunk_size=READ_AT_ONCE):
        yield PassageEntry(**values)


def ranking(row: Ranking) -> types.Ranking:
    return types.Ranking(row.run.run_tag, row.topic.query_id, tuple(row.doc_ids), tuple(row.scores))


def response(row: Response) -> types.Response:
    return types.Response(
        run_tag=row.run.run_tag,
        query_id=row.topic.query_id,
        sentences=sentences(row),
        team=row.run.team,
        references=None if row.references is None else tuple(row.references),
        documents=row.documents,
        foreign=row.foreign or {},
    )


def sentences(row: Response) -> tuple[types.Sentence, ...]:
    return tuple(
        types.Sentence(
            sentence["text"],
            None
            if sentence["citations"] is None
            else tuple(types.Citation(doc_id, score) for doc_id, score in sentence["citations"]),
        )
        for sentence in row.sentences
    )


def response_passages(row: Response, ranked: Sequence[str]) -> list[segmentation.ResponsePassage]:
    """Return the passages of the response, whose run ranks the doc ids `ranked` for its topic.

    The passage of a whole answer is the one that its run ranks, whatever its sentences are: they may come of
    another file than its text, and answers with equal texts are passages of their own.
    """
    texts = [sentence["text"] for sentence in row.sentences]
    passages = segmentation.response_passages(texts, segmentation.PassagesOf(row.passages_of))
    if row.passages_of == segmentation.PassagesOf.WHOLE and len(ranked) == 1:
        return [replace(passage, doc_id=ranked[0]) for passage in passages]
    return passages


def response_fields(response: types.Response) -> dict[str, Any]:  # Any: what JSON columns hold
    """Return the values of the columns of `Response` that a file fills."""
    return {
        "sentences": [
            {
                "text": sentence.text,
                "citations": None
                if sentence.citations is None
                else [[citation.doc_id, citation.score] for citation in sentence.citations],
            }
            for sentence in response.sentences
        ],
        "references": None if response.references is None else list(response.references),
        "documents": dict(response.documents),
        "foreign": dict(response.foreign),
    }
