"""One release: its state while it is made, its files, and its end."""

from __future__ import annotations

from django.contrib import messages
from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from rubricweb.core.http import HtmxRequest, page_or_part, shows_a_secret
from rubricweb.releases import access, actions, selectors
from rubricweb.releases.bundle import PARTS
from rubricweb.releases.names import Names
from rubricweb.releases.share import PAGE, share_page


@shows_a_secret
@require_safe
def release(request: HtmxRequest, slug: str, release_id: int) -> HttpResponse:
    """Show a release open below its row, in any state; while a worker writes it, it asks for itself alone."""
    row = access.release_for(request.user, slug, release_id)
    context = {
        "opened": row,
        "parts": selectors.parts_of(row),
        "total": len(PARTS),
        "boards": row.boards.all(),
    }
    if request.htmx.target == "release":
        return page_or_part(request, PAGE, context | {"collection": row.collection}, part="release")
    return share_page(request, row.collection, context)


@require_safe
def release_file(request: HtmxRequest, slug: str, release_id: int) -> HttpResponseBase:
    row = access.release_for(request.user, slug, release_id)
    if not row.sha256 or not row.path.is_file():
        messages.error(request, "The zip file is not on this server. Make the release again.")
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
        messages.error(request, "This release is still being made. Delete it once it is finished.")
        return redirect(row)
    actions.delete_release(row, by=request.user)
    messages.success(request, f"The release {row} is deleted. Its frozen boards stay.")
    return redirect("releases:share", slug)
