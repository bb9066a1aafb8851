"""Which graders' boards a page about a bank shows."""

from __future__ import annotations

from grading.types import ItemKind
from rubricweb.corpus.models import Collection
from rubricweb.editor.forms import FiguresForm
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import graders


def board_graders(figures: FiguresForm, collection: Collection) -> list[GraderConfig]:
    """The chosen grader with its fellow for the other kind; else by kind the first that has grades here."""
    chosen = figures.graders
    if not figures.data.get("grader"):
        graded = {row.config.pk for row in graders(collection)}
        for kind in ItemKind:
            fit = [config for config in figures.rating if kind in kinds_of(config) and config.pk in graded]
            chosen = {**chosen, kind: fit[0]} if fit else chosen
    return list(dict.fromkeys(chosen.values()))
