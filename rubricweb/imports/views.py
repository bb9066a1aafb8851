"""The screens of imports: a new collection, the list with its uploads, and one import from check to undo."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from grading.types import MAX_RATING, is_one_word
from rubricweb.accounts import roles
from rubricweb.banks.models import Bank
from rubricweb.core.forms import too_large
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.actions import create_collection
from rubricweb.corpus.import_judgments import SeveralJudgments
from rubricweb.corpus.import_runs import TAG_LIMIT
from rubricweb.corpus.models import Collection, Response
from rubricweb.grades.import_collection import DEFAULT_BANK
from rubricweb.grades.import_grades import NAME_LIMIT
from rubricweb.imports import actions, contents, queries, undo
from rubricweb.imports.models import Import

LIST = "imports/imports.html"
PASTED_CHARACTERS = 1_000_000
PAGE = "imports/import.html"
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


class FilesForm(forms.Form):
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
        """Return the limit of one request, for all its files."""
        megabytes: int = settings.UPLOAD_BYTES // 1_000_000
        return megabytes


@require_http_methods(["GET", "HEAD", "POST"])
def new_collection(request: HtmxRequest) -> HttpResponse:
    if not roles.may_create(request.user):
        raise PermissionDenied("Only staff can create collections. Ask an administrator.")
    form = NewCollectionForm(request.POST or None, initial={"min_relevant": 1})
    if form.is_bound and form.is_valid():
        collection = create_collection(form.save(commit=False), by=request.user)
        messages.success(
            request,
            f"{collection} is created, and you are its organizer. Next: import its files.",
        )
        return redirect("imports:imports", collection.slug)
    return form_response(request, LIST, {"form": form}, part="new")


@require_http_methods(["GET", "HEAD", "POST"])
def imports(request: HtmxRequest, slug: str) -> HttpResponse:
    """List the imports of a collection; POST uploads files for another."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = upload_form(request)
    if form.is_bound and form.is_valid():
        batch = actions.begin_import(collection, by=request.user)
        add_and_check(request, batch, form)
        return redirect(batch)
    context = {
        "collection": collection,
        "form": form,
        "upload": form,
        "history": queries.history(collection),
        "unfinished": queries.unfinished(collection),
    }
    return form_response(request, LIST, context, part="imports")


def upload_form(request: HtmxRequest) -> FilesForm:
    if request.method != "POST":
        return FilesForm()
    form = FilesForm(request.POST, request.FILES)
    if not request.FILES and not too_large(request) and not request.POST.get("pasted", "").strip():
        form.add_error("uploads", "Choose a file, or paste text.")
    return form


def add_and_check(request: HtmxRequest, batch: Import, form: FilesForm) -> None:
    """Keep what was sent, and have it checked."""
    fields = form.cleaned_data
    actions.add_files(batch, fields["uploads"], text=fields["pasted"], too_large=too_large(request))
    actions.start_check(batch)


class OptionsForm(forms.Form):
    """The options of `rubricweb import_collection`."""

    bank_name = forms.CharField(
        label="Rubric",
        max_length=80,
        initial=DEFAULT_BANK,
        help_text="Receives the questions and nuggets of the files.",
    )
    judgments = forms.ChoiceField(
        label="Several judgments of a passage",
        required=False,
        choices=[
            ("", "the highest counts; with Replace the last"),
            *(
                (rule.value, f"the {rule} counts")
                for rule in SeveralJudgments
                if rule is not SeveralJudgments.REFUSE
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
    scale = forms.IntegerField(
        label="Highest label of the judges",
        required=False,
        min_value=1,
        max_value=MAX_RATING,
        help_text="The top of the scale of judges' qrels, which begins at 0. Empty: the highest in all.",
    )
    after_prediction_of = forms.CharField(
        label="After predictions of",
        required=False,
        max_length=200,
        help_text="The model whose labels people saw and corrected. Empty: they labelled from scratch.",
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

    def clean_bank_name(self) -> str:
        name: str = self.cleaned_data["bank_name"]
        Bank(name=name).clean_fields(exclude=["collection"])
        return name

    def options(self) -> contents.ImportOptions:
        return contents.ImportOptions(**self.cleaned_data)


@require_safe
def one_import(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    """Show an import in any state: files, counts, options, progress or result; live while a worker has it."""
    batch = queries.import_for(request.user, slug, import_id)
    return page_or_part(request, PAGE, _context(batch), part="import")


@require_POST
def add(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    """Add more files to an import that is not made yet."""
    batch = queries.import_for(request.user, slug, import_id)
    form = upload_form(request)
    if not form.is_valid():
        return form_response(request, PAGE, _context(batch) | {"form": form, "upload": form}, part="import")
    if _may_change(request, batch):
        add_and_check(request, batch, form)
    return redirect(batch)


@require_POST
def check(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    """Check again, with the options sent."""
    batch = queries.import_for(request.user, slug, import_id)
    form = OptionsForm(request.POST)
    if not form.is_valid():
        return _refused_options(request, batch, form)
    actions.start_check(batch, form.options())
    return redirect(batch)


@require_POST
def start(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    """Import what was checked; other options than those of the check are checked first."""
    batch = queries.import_for(request.user, slug, import_id)
    form = OptionsForm(request.POST)
    if not form.is_valid():
        return _refused_options(request, batch, form)
    if form.options() != contents.ImportOptions.of(batch):
        actions.start_check(batch, form.options())
        messages.info(request, "The options have changed. Check what the import would change, then import.")
    elif queries.batch_of(batch).is_ready:
        actions.start_import(batch)
    else:
        messages.error(request, "Nothing was imported: these files cannot be imported as they are.")
    return redirect(batch)


@require_POST
def discard(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    batch = queries.import_for(request.user, slug, import_id)
    if not _may_change(request, batch):
        return redirect(batch)
    actions.discard(batch)
    messages.success(request, "Discarded. The uploaded files are deleted; nothing was imported.")
    return redirect("imports:imports", slug)


@require_POST
def undo_import(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    """Remove what the import added, if nothing was built on it; a worker removes much."""
    batch = queries.import_for(request.user, slug, import_id)
    if undo.is_large(batch) and not undo.why_not(batch):
        actions.start_undo(batch, by=request.user)
        return redirect(batch)
    try:
        undo.undo_import(batch, by=request.user)
    except undo.CannotUndo as reason:
        messages.error(
            request,
            f"Import {batch.pk} was not undone. {reason}",
        )
    else:
        messages.success(request, f"Import {batch.pk} is undone: what it added is gone.")
    return redirect(batch)


@require_POST
def file(request: HtmxRequest, slug: str, import_id: int, file_id: int) -> HttpResponse:
    """Leave a file out, take it in again, or name its format or its author."""
    row = queries.file_for(request.user, slug, import_id, file_id)
    deed, named = request.POST.get("deed"), request.POST.get("format", "")
    if not row.is_kept or not _may_change(request, row.batch):
        return redirect(row.batch)
    if deed == "leave-out":
        actions.leave_out(row)
    elif deed == "take-in":
        actions.take_in(row)
    elif deed == "author":
        actions.name_author(row, " ".join(request.POST.get("author", "").split())[:NAME_LIMIT])
    elif named in dict(queries.format_choices()):
        choose = actions.choose_format_of_all if "alike" in request.POST else actions.choose_format
        choose(row, named)
    return redirect(row.batch)


@require_POST
def leave_out_refused(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    """Leave out every file that keeps the others from being imported."""
    batch = queries.import_for(request.user, slug, import_id)
    refused = queries.batch_of(batch).refused_files
    if _may_change(request, batch) and refused:
        actions.leave_out_all(batch, refused)
    return redirect(batch)


def _may_change(request: HtmxRequest, batch: Import) -> bool:
    """Say why not where a worker has the files, or has imported them."""
    if batch.is_live or batch.is_imported:
        doing = "at work" if batch.is_live else "made"
        messages.error(request, f"Import {batch.pk} is {doing}: nothing was changed.")
        return False
    return True


def _refused_options(request: HtmxRequest, batch: Import, form: OptionsForm) -> HttpResponse:
    context = _context(batch) | {"form": form, "options": form}
    return form_response(request, PAGE, context, part="import")


def _context(batch: Import) -> dict[str, object]:
    return {
        "collection": batch.collection,
        "batch": queries.batch_of(batch),
        "formats": queries.format_choices(),
        "options": OptionsForm(initial=batch.options),
        "upload": FilesForm(),
        "why_not_undo": undo.why_not(batch) if batch.is_imported and not batch.is_live else "",
        "official": queries.official_of(batch),
    }
