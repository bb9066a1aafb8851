"""Rows of the corpus as the dataclasses of `grading`."""

from __future__ import annotations

from grading import types
from rubricweb.corpus.models import Passage, Ranking, Topic


def topic(row: Topic) -> types.Topic:
    return types.Topic(row.query_id, row.text)


def passage(row: Passage) -> types.Passage:
    return types.Passage(row.doc_id, row.text)


def ranking(row: Ranking) -> types.Ranking:
    return types.Ranking(row.run.run_tag, row.topic.query_id, tuple(row.doc_ids), tuple(row.scores))
