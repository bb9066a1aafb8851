"""Create a collection, and upload files for an import; the list of a collection's imports."""

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
from django.views.decorators.http import require_http_methods

from rubricweb.accounts import roles
from rubricweb.core.forms import too_large
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.actions import create_collection
from rubricweb.corpus.models import Collection
from rubricweb.imports import actions, queries
from rubricweb.imports.models import Import

LIST = "imports/imports.html"
PASTED_CHARACTERS = 1_000_000


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
