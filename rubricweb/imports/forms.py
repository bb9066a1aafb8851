"""What people upload and choose; files themselves are read by a worker."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.text import slugify

from grading.formats.ids import is_one_word
from rubricweb.banks.models import Bank
from rubricweb.corpus.importers.judgments import SeveralJudgments
from rubricweb.corpus.importers.runs import TAG_LIMIT
from rubricweb.corpus.models import Collection, Response
from rubricweb.grades.importers import DEFAULT_BANK, NUGGET_GRADER
from rubricweb.imports.contents import ImportOptions

PASTED_CHARACTERS = 1_000_000
HIGHEST_JUDGMENT = 32_767


class NewCollectionForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic when it runs
    """A collection without anything in it."""

    slug = forms.SlugField(
        label="Short name",
        max_length=80,
        required=False,
        help_text="Used in addresses and commands: letters, digits and hyphens. Empty: made from the name.",
    )

    class Meta:
        model = Collection
        fields = ("name", "slug", "description", "min_relevant")
        labels = {"min_relevant": "Relevance cutoff for human labels"}
        help_texts = {
            "min_relevant": "Judgments at or above this value count as relevant (TREC DL and LLMJudge: 2)."
        }
        widgets = {
            "name": forms.TextInput(attrs={"autofocus": True}),
            "description": forms.Textarea(attrs={"rows": 2}),
        }

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"] or slugify(self.cleaned_data.get("name", ""))[:80]
        if not slug and "name" in self.cleaned_data:
            raise ValidationError("The name has no letters or digits that an address can have: choose one.")
        if Collection.objects.filter(slug=slug).exists():
            raise ValidationError(f"{slug} is taken: choose another.")
        return slug


class FilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Several uploaded files, as a list."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile[bytes]]:  # Any: as Django has it
        return [super(FilesField, self).clean(file, initial) for file in data or ()]


class UploadForm(forms.Form):
    """Files, or text for small things, or both."""

    uploads = FilesField(
        label="Files",
        required=False,
        allow_empty_file=True,
        help_text="Drop or choose files: plain, gzip or zip. Their formats are recognised by their content.",
    )
    pasted = forms.CharField(
        label="Text",
        required=False,
        strip=False,
        max_length=PASTED_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3, "class": "mono", "spellcheck": "false", "dir": "ltr"}),
        help_text="The text of one small file, such as a few qrels.",
    )

    @property
    def most_megabytes(self) -> int:
        """Of all files that are sent at once."""
        megabytes: int = settings.UPLOAD_BYTES // 1_000_000
        return megabytes


class OptionsForm(forms.Form):
    """The options of `manage.py import_collection`."""

    bank_name = forms.CharField(
        label="Rubric",
        max_length=80,
        initial=DEFAULT_BANK,
        help_text="Receives the questions and nuggets of bank files.",
    )
    judgments = forms.ChoiceField(
        label="Several judgments of a passage",
        required=False,
        choices=[
            ("", "the highest counts; with Replace the last"),
            *(
                (one.value, f"the {one} counts")
                for one in SeveralJudgments
                if one is not SeveralJudgments.REFUSE
            ),
            (SeveralJudgments.REFUSE.value, "refuse them"),
        ],
    )
    min_relevant = forms.IntegerField(
        label="Relevance cutoff for human labels",
        required=False,
        min_value=0,
        max_value=HIGHEST_JUDGMENT,
        help_text="Empty: as in the collection.",
    )
    official_measure = forms.CharField(
        label="Official measure",
        required=False,
        max_length=60,
        help_text="For a trec_eval summary: ndcg_cut_10 or map. Empty: the first of these that it has.",
    )
    passages_of = forms.ChoiceField(
        label="A passage of a response is",
        required=False,
        choices=Response.PassagesOf.choices,
        help_text="Equal texts are one passage; long ones are cut between sentences.",
    )
    is_segmenting = forms.BooleanField(
        label="Cut documents into passages",
        required=False,
        help_text="For files of passages: windows of ten sentences, starting every five.",
    )
    candidates_run = forms.CharField(
        label="Run of the candidates",
        required=False,
        max_length=TAG_LIMIT,
        help_text="For reranker requests: makes a run of this name from the order of the candidates. "
        "Empty: no run.",
    )
    nugget_grader = forms.CharField(
        label="Grader of the nuggets",
        required=False,
        max_length=200,
        help_text="The model that gave the grades, which the file does not name.",
    )
    replace = forms.BooleanField(
        label="Replace what contradicts an earlier import",
        required=False,
        help_text="Otherwise a contradiction is refused. An import that replaces anything cannot be undone.",
    )

    def clean_passages_of(self) -> str:
        return self.cleaned_data["passages_of"] or Response.PassagesOf.SENTENCE.value

    def clean_candidates_run(self) -> str:
        run_tag: str = self.cleaned_data["candidates_run"]
        if run_tag and not is_one_word(run_tag):
            raise ValidationError("The name of a run is one word, without white space.")
        return run_tag

    def clean_nugget_grader(self) -> str:
        return self.cleaned_data["nugget_grader"] or NUGGET_GRADER

    def clean_bank_name(self) -> str:
        name: str = self.cleaned_data["bank_name"]
        Bank(name=name).clean_fields(exclude=["collection"])
        return name

    def options(self) -> ImportOptions:
        return ImportOptions(**self.cleaned_data)
