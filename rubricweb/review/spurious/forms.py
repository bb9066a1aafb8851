"""The parameters of the list of spurious items."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from rubricweb.grades.forms import select_at_once
from rubricweb.review.evidence_form import EvidenceForm
from rubricweb.review.spurious.selectors import SORTS


class SuspectsForm(EvidenceForm):
    in_toolbar = (*EvidenceForm.in_toolbar, "sort")

    sort = select_at_once(gettext_lazy("Worst by"), SORTS.items())

    def default_value(self, name: str) -> str:
        return next(iter(SORTS)) if name == "sort" else super().default_value(name)
