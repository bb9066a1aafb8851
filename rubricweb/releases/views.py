"""Preview a release, make it, download it."""

from __future__ import annotations

from django.contrib import messages
from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.releases import access, actions, selectors
from rubricweb.releases.bundle import PARTS
from rubricweb.releases.forms import ReleaseForm
from rubricweb.releases.models import Release
from rubricweb.releases.names import Names

LIST = "releases/releases.html"
PAGE = "releases/release.html"


@require_http_methods(["GET", "HEAD", "POST"])
def releases(request: HtmxRequest, slug: str) -> HttpResponse:
    """What a release would hold, and those that were made; POST makes one."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    release = Release(collection=collection, title=collection.name)
    form = ReleaseForm(request.POST if request.method == "POST" else None, instance=release)
    preview = selectors.preview(collection)
    if form.is_bound and form.is_valid() and not preview.refusal:
        return redirect(actions.start_release(form.save(commit=False), by=request.user))
    context = _place(collection) | {"form": form, "preview": preview}
    context["releases"] = selectors.releases(collection)
    return form_response(request, LIST, context, part="releases")


@require_safe
def release(request: HtmxRequest, slug: str, release_id: int) -> HttpResponse:
    """One release in any state; live while a worker writes it."""
    row = access.release_for(request.user, slug, release_id)
    context = _place(row.collection) | {
        "release": row,
        "parts": selectors.parts_of(row),
        "total": len(PARTS),
        "boards": row.boards.all(),
    }
    return page_or_part(request, PAGE, context, part="release")


@require_safe
def release_file(request: HtmxRequest, slug: str, release_id: int) -> HttpResponseBase:
    row = access.release_for(request.user, slug, release_id)
    if not row.sha256 or not row.path.is_file():
        messages.error(request, gettext("The zip file is not on this server. Make the release again."))
        return redirect(row)
    return FileResponse(row.path.open("rb"), as_attachment=True, filename=row.file_name)


@require_safe
def release_names(request: HtmxRequest, slug: str, release_id: int) -> HttpResponse:
    """Which made-up name is whose."""
    row = access.release_for(request.user, slug, release_id)
    lines = Names(**row.names).lines()
    response = HttpResponse("".join(f"{line}\n" for line in lines), content_type="text/tab-separated-values")
    response["Content-Disposition"] = f'attachment; filename="{slug}-names.tsv"'
    return response


@require_POST
def delete(request: HtmxRequest, slug: str, release_id: int) -> HttpResponse:
    row = access.release_for(request.user, slug, release_id)
    if row.is_live:
        messages.error(request, gettext("A worker is writing this release. Delete it when it is finished."))
        return redirect(row)
    actions.delete_release(row, by=request.user)
    messages.success(
        request, gettext("The release %(row)s is deleted. Its frozen boards stay.") % {"row": row}
    )
    return redirect("releases:releases", slug)


def _place(collection: Collection) -> dict[str, object]:
    return {"collection": collection, "section": "exports"}
