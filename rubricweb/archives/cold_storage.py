"""Put the grades of a collection into cold storage, and bring them back."""

from __future__ import annotations

from functools import partial

from django.db import transaction
from django.utils import timezone

from rubricweb.accounts.models import User
from rubricweb.archives.removal import why_not
from rubricweb.core import audit
from rubricweb.corpus import pools
from rubricweb.corpus.models import Collection
from rubricweb.grades import cold, matrices
from rubricweb.grades.cold import CannotMove
from rubricweb.grades.models import Grade, MatrixStamp
from rubricweb.leaderboards.board.selectors import board
from rubricweb.leaderboards.forms import BoardForm


def cool(collection: Collection, *, by: User | None) -> int:
    """Move all grades to files; return how many. Raises CannotMove, and then nothing is changed.

    The files are written while people work; what they change meanwhile refuses the move.
    """
    if collection.cold_at:
        raise CannotMove(f"{collection.slug} is in cold storage already.")
    if reason := why_not(collection):
        raise CannotMove(reason)
    matrices.keep_all_snapshots(collection)
    pools.keep_snapshots_of(collection.pk)
    before = _stamps(collection)
    with cold.new_folder(collection.pk) as folder:
        written = cold.write(collection, folder)
        with transaction.atomic():
            locked = Collection.objects.select_for_update().get(pk=collection.pk)
            if reason := why_not(locked):
                raise CannotMove(reason)
            grades = Grade.objects.filter(topic__in=collection.topics.all())
            is_changed = _stamps(collection, locked=True) != before or grades.count() != written
            if locked.cold_at or is_changed:
                raise CannotMove("Grades have changed meanwhile. Try again.")
            if not written:
                raise CannotMove(f"{collection.slug} has no grades.")
            cold.keep(folder, collection.pk)
            grades.order_by()._raw_delete(using="default")
            Collection.objects.filter(pk=collection.pk).update(cold_at=timezone.now())
            audit.record("grades put into cold storage", collection, by=by, detail=f"{written:,} grades")
    collection.refresh_from_db()
    _keep_usual_board(collection)
    return written


def _keep_usual_board(collection: Collection) -> None:
    """Keep the board that the collection opens with, so that nobody waits for it."""
    form = BoardForm({}, collection=collection)
    if form.graders and form.is_valid():
        board(form.spec)


def thaw(collection: Collection, *, by: User | None) -> int:
    """Bring all grades back as rows; return how many. Raises CannotMove, and then nothing is changed."""
    with transaction.atomic():
        if not Collection.objects.select_for_update().get(pk=collection.pk).cold_at:
            raise CannotMove(f"{collection.slug} is not in cold storage.")
        expected = sum(grades for *_, grades in _stamps(collection, locked=True))
        brought = cold.bring_back(collection)
        if brought != expected:
            raise CannotMove(f"The files have {brought:,} grades where there were {expected:,}.")
        Collection.objects.filter(pk=collection.pk).update(cold_at=None)
        audit.record("grades brought back from cold storage", collection, by=by, detail=f"{brought:,} grades")
        transaction.on_commit(partial(cold.remove, collection.pk))
    return brought


def _stamps(collection: Collection, *, locked: bool = False) -> list[tuple[int, int, int]]:
    """Return (key, number, grades) of the stamps of the collection's grades."""
    stamps = MatrixStamp.objects.filter(topic__collection=collection).order_by("pk")
    rows = stamps.select_for_update(of=("self",)) if locked else stamps
    return list(rows.values_list("pk", "number", "grades"))
