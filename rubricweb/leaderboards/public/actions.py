"""Publish a board, and take it back."""

from __future__ import annotations

import secrets

from django.db import transaction
from django.utils import timezone

from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.corpus.models import Collection
from rubricweb.leaderboards.board.types import BoardError
from rubricweb.leaderboards.public import selectors
from rubricweb.leaderboards.public.documents import Document, document_of
from rubricweb.leaderboards.public.models import PublicBoard

TOKEN_BYTES = 24


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
    shown = _calibrated(board)
    board.frozen = document_of(shown.board, shown.statements)
    return _published(board, "board frozen")


@transaction.atomic
def publish_document(
    collection: Collection, document: Document, *, title: str, is_anonymous: bool, by: User | None
) -> PublicBoard:
    """Publish a frozen board whose names, where they are made up, are in the document already."""
    board = _new(collection, title=title, query="", is_anonymous=is_anonymous, by=by)
    board.frozen = document
    return _published(board, "board frozen")


def _calibrated(board: PublicBoard) -> selectors.Published:
    """Return what the board shows. Raises BoardError where it cannot be made, or lacks a calibration."""
    shown = selectors.published(board)
    if shown is None:
        raise BoardError("grader", "The grader, rubric or version of this board is gone.")
    if lacks := shown.board.calibration_lacks:
        raise BoardError(
            "grader", f"This collection publishes calibrated boards only. The grader is {lacks}."
        )
    return shown


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
