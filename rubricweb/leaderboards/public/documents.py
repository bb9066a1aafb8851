"""What a published board's page shows, as JSON: a frozen board is nothing but this.

No measure, item or run is looked up to show it, so that changes to any of them leave it as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rubricweb.leaderboards.board import headline, provenance
from rubricweb.leaderboards.board.types import Board, BoardRow
from rubricweb.leaderboards.sorting import further_heads

VERSION = 3
"""Of the document: a change to what it holds gets another, and the page shows all. 1 had no `n_answered`;
2 had neither bands nor topics, and said nothing of collection, grader and checks beside its statements.
"""
TOPIC_DECIMALS = 4
Document = dict[str, Any]  # JSON


def document_of(board: Board, statements: Sequence[tuple[str, str]]) -> Document:
    """Return ranks, names, scores in all and by topic, and what they stand on.

    No text of a topic, passage or item: topics go by their ids.
    """
    return {
        "version": VERSION,
        "measure": provenance.measure_name(board.spec),
        "headline": headline.headline(board.top, board.n_topics),
        "resolution": headline.resolution(board.top, board.n_topics),
        "collection": str(board.spec.collection),
        "graded_by": provenance.graded_by(board.spec),
        "checked": list(board.verified),
        "n_topics": board.n_topics,
        "n_items": board.n_items,
        "made": f"{datetime.now(UTC):%Y-%m-%d}",
        "topics": [topic.name for topic in board.topics],
        "judged_at": board.judged_at,
        "heads": [{"label": head.label, "note": head.note} for head in further_heads(board)],
        "rows": [_row(row) for row in board.rows],
        "statements": [{"name": name, "value": value} for name, value in statements],
    }


def left_out(document: Document) -> str:
    """Return which cells the scores leave out, in words; nothing where all count."""
    return next((one["value"] for one in document["statements"] if one["name"] == provenance.LEFT_OUT), "")


def digest(document: Document) -> str:
    """Return a digest that is equal for equal documents."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


def _row(row: BoardRow) -> Document:
    of_run = ("rank", "interval", "is_behind", "run_tag", "n_topics", "n_answered", "judged")
    names = (*of_run, "score", "stderr", "low", "high")
    by_topic = [None if score is None else round(score, TOPIC_DECIMALS) for score in row.by_topic]
    others = [{"score": other.score, "stderr": other.stderr} for other in row.others]
    return {name: getattr(row, name) for name in names} | {"others": others, "by_topic": by_topic}
