"""Publish boards, read them and close them; a frozen one is a document."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.http import QueryDict
from django.utils import timezone
from django.utils.crypto import salted_hmac

from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.core.reader import everything
from rubricweb.corpus.models import Collection
from rubricweb.grades import visibility
from rubricweb.leaderboards import rank_changes
from rubricweb.leaderboards.board import (
    Board,
    BoardError,
    BoardRow,
    ColumnScore,
    provenance,
    selectors,
    sentences,
)
from rubricweb.leaderboards.board.columns import COLUMNS, Column, Further, Place, at, columns_of
from rubricweb.leaderboards.forms import BoardForm
from rubricweb.leaderboards.models import PublicBoard

VERSION = 3
"""The version of the document: a change to what it holds gets another, and the page shows all.

1 had no `n_answered`; 2 had neither bands nor topics, and said nothing of collection, grader and checks
beside its statements.
"""
TOPIC_DECIMALS = 4
Document = dict[str, Any]  # JSON
NAME_DIGITS = 6
TOKEN_BYTES = 24


def document_of(board: Board, statements: Sequence[tuple[str, str]]) -> Document:
    """Return ranks, names, scores in all and by topic, and what they stand on.

    No text of a topic, passage or item: topics go by their ids.
    """
    columns = at(columns_of(board), Place.FROZEN)
    return {
        "version": VERSION,
        "measure": provenance.measure_name(board.spec),
        "headline": sentences.headline(board.top, board.n_topics),
        "resolution": sentences.resolution(board.top, board.n_topics),
        "collection": str(board.spec.collection),
        "graded_by": provenance.graded_by(board.spec),
        "checked": list(board.verified),
        "n_topics": board.n_topics,
        "n_items": board.n_items,
        "made": f"{datetime.now(UTC):%Y-%m-%d}",
        "topics": [topic.name for topic in board.topics],
        "judged_at": board.judged_at,
        "heads": [
            {"label": entry.label, "note": entry.note} for entry in columns if isinstance(entry, Further)
        ],
        "rows": [_row(row, columns) for row in board.rows],
        "statements": [{"name": name, "value": value} for name, value in statements],
    }


def left_out(document: Document) -> str:
    """Return which cells the scores leave out, in words; nothing where all count."""
    return next((row["value"] for row in document["statements"] if row["name"] == provenance.LEFT_OUT), "")


def digest(document: Document) -> str:
    """Return a digest that is equal for equal documents."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


def _row(row: BoardRow, columns: Sequence[Column]) -> Document:
    plain = [column for column in columns if not isinstance(column, Further)]
    return {column.field: column.value(row) for column in plain} | {
        "others": [{"score": other.score, "stderr": other.stderr} for other in row.others],
        "by_topic": [None if score is None else round(score, TOPIC_DECIMALS) for score in row.by_topic],
    }


def row_of(frozen: Document) -> BoardRow:
    """Return the row that a document holds; what documents of former versions lack is undefined."""
    fields = {column.field for column in at(COLUMNS, Place.FROZEN)} & BoardRow.__dataclass_fields__.keys()
    stored: Document = {field: frozen.get(field) for field in fields}
    ends = [int(rank) for rank in re.findall(r"[0-9]+", frozen["interval"])]
    if stored["n_answered"] is None:
        stored["n_answered"] = stored["n_topics"]
    return BoardRow(
        run_id=0,
        is_tied=False,
        first=ends[0] if ends else None,
        last=ends[-1] if ends else None,
        others=tuple(ColumnScore(other["score"], other["stderr"], 0) for other in frozen["others"]),
        by_topic=tuple(frozen.get("by_topic", ())),
        **stored,
    )


@dataclass(frozen=True, slots=True)
class Published:
    public: PublicBoard
    board: Board
    statements: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class PublicPage:
    """What the page of a published board shows; `digest` is equal for pages that look the same."""

    document: Document
    digest: str


def page_of(public: PublicBoard) -> PublicPage | None:
    """Return what the page shows: a frozen board as it was, a live one as it is; None if that is gone."""
    if public.frozen is not None:
        return PublicPage(public.frozen, digest(public.frozen))
    current = published(public)
    if current is None:
        return None
    document = document_of(current.board, current.statements)
    looks = {
        "board": rank_changes.digest(current.board),
        "left out": left_out(document),
        "made": document["made"],
    }
    return PublicPage(document, digest(looks))


def new_board(collection: Collection, pk: str) -> PublicBoard | None:
    """Return the open board that the address names as just published."""
    return collection.public_boards.filter(pk=pk, closed_at=None).first() if pk.isdecimal() else None


def published(public: PublicBoard) -> Published | None:
    """Return the board as it is now; None if its grader, bank or version is gone."""
    form = BoardForm(QueryDict(public.query), collection=public.collection)
    if not form.graders or not form.is_valid():
        return None
    with reading(public.collection):
        board = selectors.board(form.spec)
        if public.is_anonymous:
            board = _anonymous(public, board)
        return Published(public, board, provenance.statements(board))


def _anonymous(public: PublicBoard, board: Board) -> Board:
    """Return the board with made-up names wherever a page of it names runs: rows, headline, statements."""
    rows = tuple(replace(row, run_tag=made_up_name(public, row.run_tag)) for row in board.rows)
    rows = tuple(sorted(rows, key=lambda row: (row.rank, row.run_tag)))
    if board.top is None:
        return replace(board, rows=rows)
    first = tuple(sorted(made_up_name(public, run_tag) for run_tag in board.top.first))
    return replace(board, rows=rows, top=replace(board.top, first=first))


def reading(collection: Collection) -> AbstractContextManager[None]:
    """Read as everybody, for whom cells to be rated blind do not count: one of the readers may rate them."""
    return everything() if collection.public_counts_blind else visibility.reading_for_everybody()


def made_up_name(public: PublicBoard, run_tag: str) -> str:
    """Return the pseudonym of a run on a published board: it stays, and tells nothing of the tag."""
    salt = public.collection.name_salt
    digest = salted_hmac(
        "rubricweb.leaderboards.public", f"{public.token}:{run_tag}", secret=salt, algorithm="sha256"
    )
    return f"run {digest.hexdigest()[:NAME_DIGITS]}"


@transaction.atomic
def publish_board(
    collection: Collection, *, title: str, query: str, is_anonymous: bool, by: User | None
) -> PublicBoard:
    """Give the board of `query` an address of its own, where it is live. Raises BoardError."""
    board = _new(collection, title=title, query=query, is_anonymous=is_anonymous, by=by)
    if collection.requires_calibration:
        _calibrated(board)
    return _published(board, "board published")


@transaction.atomic
def freeze_board(
    collection: Collection, *, title: str, query: str, is_anonymous: bool, by: User | None
) -> PublicBoard:
    """Publish the board of `query` as it is now. Raises BoardError where it cannot be made."""
    board = _new(collection, title=title, query=query, is_anonymous=is_anonymous, by=by)
    current = _calibrated(board)
    board.frozen = document_of(current.board, current.statements)
    return _published(board, "board frozen")


@transaction.atomic
def publish_document(
    collection: Collection, document: Document, *, title: str, is_anonymous: bool, by: User | None
) -> PublicBoard:
    """Publish a frozen board whose names, where they are made up, are in the document already."""
    board = _new(collection, title=title, query="", is_anonymous=is_anonymous, by=by)
    board.frozen = document
    return _published(board, "board frozen")


def _calibrated(board: PublicBoard) -> Published:
    """Return what the board shows. Raises BoardError where it cannot be made, or lacks a calibration."""
    current = published(board)
    if current is None:
        raise BoardError("grader", "The grader, rubric or version of this board is gone.")
    if lacks := current.board.calibration_lacks:
        raise BoardError(
            "grader", f"This collection publishes calibrated boards only. The grader is {lacks}."
        )
    return current


def _new(collection: Collection, **fields: object) -> PublicBoard:
    return PublicBoard(collection=collection, token=secrets.token_urlsafe(TOKEN_BYTES), **fields)


def _published(board: PublicBoard, verb: str) -> PublicBoard:
    board.save()
    audit.record(verb, board, by=board.by, detail=board.collection.slug)
    return board


@transaction.atomic
def close_board(board: PublicBoard, *, by: User | None) -> PublicBoard:
    """Close a published board: its address is not found any more."""
    if board.is_open:
        board.closed_at = timezone.now()
        board.save(update_fields=["closed_at"])
        audit.record("board closed", board, by=by, detail=board.collection.slug)
    return board
