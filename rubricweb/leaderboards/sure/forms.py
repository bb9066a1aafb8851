"""What the page is about, in its address; and the upload of an official leaderboard."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.core.files.uploadedfile import UploadedFile

from grading.types import Purpose
from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection
from rubricweb.corpus.official import NAME_LIMIT
from rubricweb.grades.configs import WHOLE_SCALE, kinds_of, scale_of
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import graders_of
from rubricweb.leaderboards.forms import AnalysisForm
from rubricweb.leaderboards.meta.references import reference_choices
from rubricweb.leaderboards.sure.evidence import Evidence

DEPTH = 20
MOST_OTHERS = 3
"""Graders that a picture can tell apart beside the board's own."""
UPLOAD_BYTES = 2_000_000


class SureForm(AnalysisForm):
    """The board, what it is compared with, and which graders are laid over."""

    own = ("reference",)
    inapplicable = {
        "definition": "the Workbench's definition, which takes all items that the grader rated, in the "
        "rubric or not, so that no item can be left out: scores are as in the papers",
    }
    in_menu = (*AnalysisForm.in_menu, "teams", "depth")

    reference = forms.ChoiceField(label="People", required=False)
    others = forms.BooleanField(required=False, widget=forms.HiddenInput)
    teams = forms.CharField(
        required=False,
        max_length=400,
        label="Runs of one team or model",
        help_text="Patterns such as bm25* GPT4*. Other runs are grouped by the beginning of their tag.",
    )
    depth = forms.IntegerField(min_value=1, max_value=1000, label="Pool depth")

    def __init__(self, sent: Mapping[str, object], *, collection: Collection) -> None:
        self.references = reference_choices(collection)
        super().__init__(sent, collection=collection)
        offer_choices(self, "reference", self.references)

    def default_values(self, given: Mapping[str, object]) -> dict[str, object]:
        first = self.references[0][0] if self.references else ""
        return super().default_values(given) | {"depth": DEPTH, "reference": first}

    @property
    def patterns(self) -> list[str]:
        return str(self.cleaned_data["teams"]).split()

    @property
    def offered(self) -> list[GraderConfig]:
        """The other graders that rate these items of the bank on the whole scale, as the board's does."""
        spec = self.spec
        if spec.bank is None or scale_of(spec.config) != WHOLE_SCALE:
            return []
        fitting = [
            config
            for config in graders_of(spec.bank, (Purpose.RATE,))
            if config != spec.config
            and scale_of(config) == WHOLE_SCALE
            and spec.kinds <= set(kinds_of(config))
        ]
        return fitting[:MOST_OTHERS]

    def evidence(self, query: str) -> Evidence:
        """Return what a valid form asks for."""
        picked = self.cleaned_data
        others = self.offered if picked["others"] else []
        return Evidence(self.spec, picked["reference"], others, query)


class OfficialForm(forms.Form):
    """An official leaderboard to take."""

    name = forms.CharField(
        max_length=NAME_LIMIT,
        help_text="For example: official NDCG@10. A board with this name is replaced.",
    )
    file = forms.FileField(
        help_text="JSON or TSV (header run_tag and rank, or run_tag and score), a board exported here as TSV "
        "or JSON, or summaries of trec_eval; .gz too. Tied runs may share a rank."
    )
    measure = forms.CharField(
        required=False,
        max_length=60,
        help_text="For a trec_eval summary. Empty: its ndcg_cut_10, or else map.",
    )

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > UPLOAD_BYTES:
            raise forms.ValidationError(f"Larger than {UPLOAD_BYTES // 1_000_000} MB. Is it a leaderboard?")
        return file
