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
        remarks.append(Remark("Rankings and responses of runs: the organizers chose so"))
    if hidden := visibility.hidden_count(collection.pk):
        words = "of open campaigns: their ratings, and what is computed from them"
        remarks.append(Remark(f"{counted(hidden, 'cell')} {words}"))
    if retired := Item.objects.retired().filter(bank__collection=collection).count():
        remarks.append(Remark(f"{counted(retired, 'retired item')}, with {_their(retired)} grades"))
    if unknown := Item.objects.active().filter(bank__collection=collection, revision__text="").count():
        words = f"{counted(unknown, 'item')} whose text nobody has supplied: banks are without, grades are in"
        remarks.append(Remark(words))
    secret = Item.including_secret.active().filter(bank__collection=collection, revision__is_secret=True)
    if kept := secret.count():
        remarks.append(Remark(f"{counted(kept, 'secret item')}, with {_their(kept)} grades; boards use them"))
    remarks += [Remark(text, _at("grades:jobs", contents)) for text in _ungraded(contents)]
    if votes := Vote.objects.holding(collection).count():
        words = f"{counted(votes, 'vote')} in the arena; the vote board has files of its own"
        remarks.append(Remark(words, _at("arena:board", contents)))
    remarks.append(Remark("Human ratings of single cells, comments, flags and the names of people"))
    return remarks


def _ungraded(contents: Contents) -> list[str]:
    """By board: cells without a grade, and with a failed one."""
    sentences = []
    for spec in board_specs(contents.collection):
        items = Item.objects.filter(bank=spec.bank) if spec.bank else None
        asked = {"items": items} if items is not None else {}
        for words, look in (("without a grade by", missing_cells), ("with a failed grade by", failed_cells)):
            if cells := _cells(look(contents.collection, [spec.config], **asked)):
                sentences.append(f"{counted(cells, 'cell')} {words} {spec.config}: no board counts them")
    return sentences


def _cells(missing: list[Missing]) -> int:
    return sum(one.cells for one in missing)


def _at(route: str, contents: Contents) -> str:
    return reverse(route, args=[contents.collection.slug])


def _their(number: int) -> str:
    return "its" if number == 1 else "their"
