"""One release: its state while it is made, its files, and its end."""

from __future__ import annotations

from django.contrib import messages
from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.corpus.models import Collection
from rubricweb.releases import access, actions, selectors
from rubricweb.releases.bundle import PARTS
from rubricweb.releases.names import Names

PAGE = "releases/release.html"


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
    return redirect("releases:share", slug)


def _place(collection: Collection) -> dict[str, object]:
    return {"collection": collection, "section": "exports"}
