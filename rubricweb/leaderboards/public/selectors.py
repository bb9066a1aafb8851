"""What a published board shows: ranks, names and scores, and what they stand on. No text of any kind."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from django.http import QueryDict
from django.utils.crypto import salted_hmac

from rubricweb.core.reader import everything
from rubricweb.corpus.models import Collection
from rubricweb.grades import visibility
from rubricweb.leaderboards import rank_changes
from rubricweb.leaderboards.board import provenance, selectors
from rubricweb.leaderboards.board.types import Board
from rubricweb.leaderboards.forms import BoardForm
from rubricweb.leaderboards.public.documents import Document, digest, document_of, left_out
from rubricweb.leaderboards.public.models import PublicBoard

NAME_DIGITS = 6


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
    shown = published(public)
    if shown is None:
        return None
    document = document_of(shown.board, shown.statements)
    looks = {
        "board": rank_changes.digest(shown.board),
        "left out": left_out(document),
        "made": document["made"],
    }
    return PublicPage(document, digest(looks))


def open_board(token: str) -> PublicBoard | None:
    return PublicBoard.objects.filter(token=token, closed_at=None).select_related("collection").first()


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
