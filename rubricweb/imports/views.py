"""Create a collection, upload files, look at what they would change, and import them."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.forms import too_large
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.actions import create_collection
from rubricweb.corpus.models import Collection
from rubricweb.imports import access, actions, contents, screens, undo
from rubricweb.imports.forms import NewCollectionForm, OptionsForm, UploadForm
from rubricweb.imports.models import Import

LIST = "imports/imports.html"
PAGE = "imports/import.html"


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
    """The imports of a collection; POST uploads files for another."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = _upload(request)
    if form.is_bound and form.is_valid():
        batch = actions.begin_import(collection, by=request.user)
        _add(request, batch, form)
        return redirect(batch)
    context = _place(collection) | {
        "form": form,
        "upload": form,
        "history": screens.history(collection),
        "unfinished": screens.unfinished(collection),
    }
    return form_response(request, LIST, context, part="imports")


@require_safe
def one_import(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    """An import in any state: files, counts, options, progress or result; live while a worker has it."""
    batch = access.import_for(request.user, slug, import_id)
    return page_or_part(request, PAGE, _context(batch), part="import")


@require_POST
def add(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    """Add more files to an import that is not made yet."""
    batch = access.import_for(request.user, slug, import_id)
    form = _upload(request)
    if not form.is_valid():
        return form_response(request, PAGE, _context(batch) | {"form": form, "upload": form}, part="import")
    if _may_change(request, batch):
        _add(request, batch, form)
    return redirect(batch)


@require_POST
def check(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    """Check again, with the options sent."""
    batch = access.import_for(request.user, slug, import_id)
    form = OptionsForm(request.POST)
    if not form.is_valid():
        return _refused_options(request, batch, form)
    actions.start_check(batch, form.options())
    return redirect(batch)


@require_POST
def start(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    """Import what was checked; other options than those of the check are checked first."""
    batch = access.import_for(request.user, slug, import_id)
    form = OptionsForm(request.POST)
    if not form.is_valid():
        return _refused_options(request, batch, form)
    if form.options() != contents.ImportOptions.of(batch):
        actions.start_check(batch, form.options())
        messages.info(request, "The options have changed. Check what the import would change, then import.")
    elif screens.batch_of(batch).is_ready:
        actions.start_import(batch)
    else:
        messages.error(request, "Nothing was imported: these files cannot be imported as they are.")
    return redirect(batch)


@require_POST
def discard(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    batch = access.import_for(request.user, slug, import_id)
    if not _may_change(request, batch):
        return redirect(batch)
    actions.discard(batch)
    messages.success(request, "Discarded. The uploaded files are deleted; nothing was imported.")
    return redirect("imports:imports", slug)


@require_POST
def undo_import(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    """Remove what the import added, if nothing was built on it; a worker removes much."""
    batch = access.import_for(request.user, slug, import_id)
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
    """Leave a file out, take it in again, or name its format."""
    row = access.file_for(request.user, slug, import_id, file_id)
    deed, named = request.POST.get("deed"), request.POST.get("format", "")
    if not row.is_kept or not _may_change(request, row.batch):
        return redirect(row.batch)
    if deed == "leave-out":
        actions.leave_out(row)
    elif deed == "take-in":
        actions.take_in(row)
    elif named in dict(screens.format_choices()):
        choose = actions.choose_format_of_all if "alike" in request.POST else actions.choose_format
        choose(row, named)
    return redirect(row.batch)


@require_POST
def leave_out_refused(request: HtmxRequest, slug: str, import_id: int) -> HttpResponse:
    """Leave out every file that keeps the others from being imported."""
    batch = access.import_for(request.user, slug, import_id)
    refused = screens.batch_of(batch).refused_files
    if _may_change(request, batch) and refused:
        actions.leave_out_all(batch, refused)
    return redirect(batch)


def _upload(request: HtmxRequest) -> UploadForm:
    if request.method != "POST":
        return UploadForm()
    form = UploadForm(request.POST, request.FILES)
    if not request.FILES and not too_large(request) and not request.POST.get("pasted", "").strip():
        form.add_error("uploads", "Choose a file, or paste text.")
    return form


def _add(request: HtmxRequest, batch: Import, form: UploadForm) -> None:
    """Keep what was sent, and have it checked."""
    sent = form.cleaned_data
    actions.add_files(batch, sent["uploads"], text=sent["pasted"], too_large=too_large(request))
    actions.start_check(batch)


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
    return _place(batch.collection) | {
        "batch": screens.batch_of(batch),
        "formats": screens.format_choices(),
        "options": OptionsForm(initial=batch.options),
        "upload": UploadForm(),
        "why_not_undo": undo.why_not(batch) if batch.is_imported and not batch.is_live else "",
        "official": screens.official_of(batch),
    }


def _place(collection: Collection) -> dict[str, object]:
    return {"collection": collection}
