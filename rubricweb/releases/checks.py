"""What a release leaves out, and why. What is open before one is in `home.checklist`."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count
from django.urls import reverse

from rubricweb.arena.models import Vote
from rubricweb.banks.models import Item
from rubricweb.corpus.models import Run
from rubricweb.grades import visibility
from rubricweb.grades.engine.missing import Missing, failed_cells, missing_cells
from rubricweb.releases.boards import board_specs
from rubricweb.releases.contents import Contents, counted


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence about a release, and where to do something about it."""

    text: str
    address: str = ""


def left_out(contents: Contents) -> list[Remark]:
    """Return what is not in the release, and why. Call it inside `contents.names.reading()`."""
    collection, remarks = contents.collection, []
    states = collection.runs.not_accepted().values_list("state").annotate(Count("pk")).order_by("state")
    for state, number in states:
        remarks.append(
            Remark(f"{counted(number, 'run')}: {Run.State(state).label}", _at("corpus:runs", contents))
        )
    if not contents.options.has_runs:
        remarks.append(Remark("Rankings and responses of runs, by choice of the organizers"))
    if hidden := visibility.hidden_count(collection.pk):
        words = "of open campaigns: their ratings, and all that is computed from them"
        remarks.append(Remark(f"{counted(hidden, 'pair')} {words}"))
    if retired := Item.objects.retired().filter(bank__collection=collection).count():
        remarks.append(Remark(f"{counted(retired, 'retired item')}, with {_their(retired)} grades"))
    if unknown := Item.objects.active().filter(bank__collection=collection, revision__text="").count():
        words = f"{counted(unknown, 'item')} without a text: not in the rubrics, but with their grades"
        remarks.append(Remark(words))
    secret = Item.including_secret.active().filter(bank__collection=collection, revision__is_secret=True)
    if kept := secret.count():
        remarks.append(Remark(f"{counted(kept, 'secret item')}, with {_their(kept)} grades; boards use them"))
    remarks += [Remark(text, _at("grades:jobs", contents)) for text in _ungraded(contents)]
    if votes := Vote.objects.holding(collection).count():
        words = f"{counted(votes, 'vote')} in the arena; download them from the vote board"
        remarks.append(Remark(words, _at("arena:board", contents)))
    remarks.append(Remark("Ratings by people, comments, flags and the names of people"))
    return remarks


def _ungraded(contents: Contents) -> list[str]:
    """By board: cells without a grade, and with a failed one."""
    sentences = []
    for spec in board_specs(contents.collection):
        items = Item.objects.filter(bank=spec.bank) if spec.bank else None
        asked = {"items": items} if items is not None else {}
        for words, look in (("without a grade by", missing_cells), ("with a failed grade by", failed_cells)):
            if cells := _cells(look(contents.collection, [spec.config], **asked)):
                sentences.append(f"{counted(cells, 'pair')} {words} {spec.config}: not counted on any board")
    return sentences


def _cells(missing: list[Missing]) -> int:
    return sum(one.cells for one in missing)


def _at(route: str, contents: Contents) -> str:
    return reverse(route, args=[contents.collection.slug])


def _their(number: int) -> str:
    return "its" if number == 1 else "their"
