"""Archive a collection and download the file; delete the collection; restore one from an archive."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import FileResponse, Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.archives import actions, removal
from rubricweb.archives.models import Archive, Deletion, Restoration
from rubricweb.core.formatting import number
from rubricweb.core.forms import too_large
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for, run_for_organizer
from rubricweb.corpus.models import Collection

PAGE = "archives/archive.html"
CONFIRM = "core/confirm.html"
RESTORE = "imports/imports.html"
"""The page for a new collection, where an archive is one of two ways to it."""
BESIDES = (
    "Also its settings, members, jobs, imports, log and links to public boards. "
    "People keep their accounts, and other collections keep their graders."
)
SHOWN_RESTORATIONS = 20


class DeleteForm(forms.Form):
    """The collection's slug, typed; and whether it goes without an archive."""

    slug = forms.CharField(max_length=80)
    without_archive = forms.BooleanField(
        required=False,
        label="Delete it without an up-to-date archive",
        help_text="Changes since the last archive cannot be recovered.",
    )

    def __init__(self, submitted: QueryDict | None, *, slug: str, is_archived: bool) -> None:
        super().__init__(submitted)
        self.expected, self.is_archived = slug, is_archived
        self.fields["slug"].label = f"Type its short name to confirm: {slug}"
        if is_archived:
            del self.fields["without_archive"]

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"].strip()
        if slug != self.expected:
            raise forms.ValidationError(f"This is not {self.expected}.")
        return slug

    def clean(self) -> None:
        if not self.is_archived and not self.cleaned_data.get("without_archive"):
            self.add_error("without_archive", "Archive the collection first, or tick this.")


class RestoreForm(forms.Form):
    """An archive, and what its collection shall be called."""

    archive = forms.FileField(
        label="Archive",
        help_text="The zip file that was downloaded.",
    )
    slug = forms.SlugField(
        label="Short name",
        max_length=80,
        required=False,
        help_text="Leave empty to keep the name in the archive.",
    )

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug and Collection.objects.filter(slug=slug).exists():
            raise ValidationError(f"{slug} is taken: choose another.")
        return slug


@require_http_methods(["GET", "HEAD", "POST"])
def archive(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show the newest archive of the collection; POST makes another."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    if request.method == "POST":
        return redirect(actions.start_archive(collection, by=request.user))
    newest = actions.newest_archive(collection)
    context = {
        "collection": collection,
        "archive": newest,
        "banks": collection.banks.all(),
        "is_up_to_date": actions.is_up_to_date(newest),
    }
    return page_or_part(request, PAGE, context, part="archive")


@require_safe
def download(request: HtmxRequest, slug: str, archive_id: int) -> FileResponse:
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    kept = collection.archives.filter(pk=archive_id).first()
    if kept is None or not kept.is_there:
        raise Http404("No such archive.")
    return FileResponse(kept.path.open("rb"), as_attachment=True, filename=f"{kept.slug}.zip")


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HtmxRequest, slug: str) -> HttpResponse:
    """Say what goes, and delete it once the slug is typed."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    if under_way := actions.live_deletion(collection):
        return redirect(under_way)
    newest = actions.newest_archive(collection)
    form = DeleteForm(request.POST or None, slug=slug, is_archived=actions.is_up_to_date(newest))
    if form.is_bound and form.is_valid():
        without = form.cleaned_data.get("without_archive", False)
        started = actions.start_deletion(collection, by=request.user, without_archive=without)
        if not started.error:
            if started.is_live:
                return redirect(started)
            messages.success(request, f"{started.name} is deleted.")
            return redirect("home:home")
        form.add_error(None, started.error)
    note, verb = _of_archive(newest, is_archived=form.is_archived)
    context = {
        "title": f"Delete {collection}?",
        "going": removal.going(collection),
        "why_not": removal.why_not(collection),
        "notes": (BESIDES, "This cannot be undone: only an archive can bring the collection back.", note),
        "instead": {"address": reverse("archives:archive", args=[slug]), "verb": verb},
        "form": form,
        "verb": "Delete the collection",
        "back": reverse("corpus:settings", args=[slug]),
    }
    return form_response(request, CONFIRM, context | {"collection": collection}, part="confirm")


def _of_archive(newest: Archive | None, *, is_archived: bool) -> tuple[str, str]:
    """Return what to know of the archive of a collection that is to be deleted, and what to do with it."""
    if is_archived:
        advice = "Download it first: afterwards only the server's administrator can reach it."
        return f"Its archive is up to date. {advice}", "Download its archive"
    if newest and newest.is_there:
        return "It has changed since its archive was made.", "Archive it again"
    return "It has no archive.", "Archive it first"


@require_http_methods(["GET", "HEAD", "POST"])
def deletion(request: HtmxRequest, deletion_id: int) -> HttpResponse:
    """Say how far a deletion is: for who organizes the collection, and once it is gone for who deleted it.

    POST goes on with one that failed after the collection was hidden.
    """
    row = get_object_or_404(Deletion.objects.select_related("by"), pk=deletion_id)
    collection = Collection.objects.filter(pk=row.collection_key).first()
    if row.by != request.user:
        if collection is None:
            raise Http404("No such deletion.")
        roles.require(request.user, collection, roles.TO_ORGANIZE)
    is_hidden = Collection.including_gone.filter(pk=row.collection_key, is_gone=True).exists()
    if request.method == "POST":
        if is_hidden:
            actions.retry_deletion(row)
        return redirect(row)
    context = {"deletion": row, "collection": collection, "is_hidden": is_hidden}
    return page_or_part(request, PAGE, context, part="deletion")


@require_http_methods(["GET", "HEAD", "POST"])
def restore(request: HtmxRequest) -> HttpResponse:
    """Upload an archive, of which a worker makes a collection."""
    if not roles.may_create(request.user):
        raise PermissionDenied("Only staff can restore collections. Ask an administrator.")
    form = RestoreForm(request.POST, request.FILES) if request.method == "POST" else RestoreForm()
    if too_large(request):
        form.errors.pop("archive", None)
        most = number(settings.UPLOAD_BYTES)
        form.add_error("archive", f"It is too large, expected at most {most} bytes.")
    if form.is_bound and form.is_valid():
        submitted = form.cleaned_data
        return redirect(
            actions.start_restoration(submitted["archive"], slug=submitted["slug"], by=request.user)
        )
    own = Restoration.objects.filter(by=request.user)
    context = {"form": form, "restorations": own[:SHOWN_RESTORATIONS], "restores": True}
    return form_response(request, RESTORE, context, part="restore")


@require_http_methods(["GET", "HEAD", "POST"])
def restoration(request: HtmxRequest, restoration_id: int) -> HttpResponse:
    """Say how far a restoration is, for who asked for it. POST cancels it."""
    row = get_object_or_404(Restoration, pk=restoration_id, by=request.user)
    if request.method == "POST":
        actions.cancel_restoration(row)
        return redirect(row)
    context = {"restoration": row, "restorations": [row], "restores": True}
    return page_or_part(request, RESTORE, context, part="restoration")


@require_POST
def run_remove(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    """Remove the run, about which the list of runs has asked."""
    run = run_for_organizer(request.user, slug, run_id)
    _removed(request, partial(removal.remove_run, run, by=request.user), run)
    return redirect("corpus:runs", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def bank_remove(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    """Say what a removal of the bank does; POST removes it."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    bank = get_object_or_404(collection.banks, pk=bank_id)
    if request.method == "POST" and _removed(
        request, partial(removal.remove_bank, bank, by=request.user), bank
    ):
        return redirect(collection)
    planned = removal.removal_of_bank(bank)
    context = {
        "collection": collection,
        "title": f"Remove {bank}?",
        "going": planned.goes,
        "why_not": planned.reason,
        "notes": ("This cannot be undone. No grade, rating or campaign depends on it.",),
        "verb": "Remove",
        "back": reverse("archives:archive", args=[slug]),
    }
    return page_or_part(request, CONFIRM, context, part="confirm")


def _removed(request: HtmxRequest, remove: Callable[[], object], thing: object) -> bool:
    try:
        remove()
    except removal.CannotRemove as reason:
        messages.error(request, f"{thing} was not removed. {reason}")
        return False
    messages.success(request, f"{thing} is removed.")
    return True
