"""The board that is looked behind, and which runs belong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from django import forms
from django.forms import BoundField

from rubricweb.corpus.models import Collection
from rubricweb.grades.scoring import Definition
from rubricweb.leaderboards.boards import BoardSpec, Missing
from rubricweb.leaderboards.forms import BoardForm

SHOWN = ("grader", "bank", "measure", "min_grade", "cutoff")
DEPTH = 20


class FewShown(BoardForm):
    """The controls of a board, of which few are shown; the others come with the address."""

    shown: tuple[str, ...] = SHOWN

    def shown_fields(self) -> list[BoundField]:
        return [self[name] for name in self.shown]

    def kept_fields(self) -> list[BoundField]:
        return [self[name] for name in self.fields if name not in self.shown and self[name].value()]


class BehindForm(FewShown):
    """A board that a page looks behind."""

    def refined(self, spec: BoardSpec) -> BoardSpec:
        """Over all topics, by the papers' definition: what lies behind a board is told of topics."""
        measure = replace(spec.measure, definition=Definition.PAPERS)
        whole = replace(super().refined(spec), measure=measure, columns=(), missing=Missing.ZERO)
        return replace(whole, by_subtopic=False, topic="", facet="")


class InfluenceForm(BehindForm):
    teams = forms.CharField(
        required=False,
        max_length=400,
        label="Runs of one team or model",
        help_text="Patterns with spaces between, such as bm25* GPT4*; others go by their tag's beginning.",
    )
    depth = forms.IntegerField(min_value=1, max_value=1000, label="Pool depth")

    def __init__(self, sent: Mapping[str, str], *, collection: Collection, view: str) -> None:
        self.shown = (*SHOWN, *({"teams": ("teams", "depth"), "origins": ("teams",)}.get(view, ())))
        super().__init__({"depth": str(DEPTH), **{name: sent[name] for name in sent}}, collection=collection)

    @property
    def patterns(self) -> list[str]:
        return str(self.cleaned_data["teams"]).split()
