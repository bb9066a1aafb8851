"""Publish a board, and take it back."""

from __future__ import annotations

import secrets

from django.db import transaction
from django.utils import timezone

from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.corpus.models import Collection
from rubricweb.leaderboards.public.models import PublicBoard

TOKEN_BYTES = 24


@transaction.atomic
def publish_board(
    collection: Collection, *, title: str, query: str, is_anonymous: bool, by: User | None
) -> PublicBoard:
    """Give the board of `query` an address of its own."""
    board = PublicBoard.objects.create(
        collection=collection,
        token=secrets.token_urlsafe(TOKEN_BYTES),
        title=title,
        query=query,
        is_anonymous=is_anonymous,
        by=by,
    )
    audit.record("board published", board, by=by, detail=collection.slug)
    return board


@transaction.atomic
def close_board(board: PublicBoard, *, by: User | None) -> PublicBoard:
    """Close a published board: its address is not found any more."""
    if board.is_open:
        board.closed_at = timezone.now()
        board.save(update_fields=["closed_at"])
        audit.record("board closed", board, by=by, detail=board.collection.slug)
    return board
