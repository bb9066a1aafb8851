"""The audit trail as a page, and as a file for a spreadsheet."""

from __future__ import annotations

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from rubricweb.accounts import roles
from rubricweb.core import formatting
from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.corpus import access
from rubricweb.corpus.audit import selectors
from rubricweb.corpus.audit.forms import AuditForm


@require_safe
def audit(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = AuditForm(request.GET, collection)
    context = {
        "collection": collection,
        "form": form,
        "page": selectors.audit_page(collection, form.filters, before=form.cleaned_data.get("before")),
    }
    return page_or_part(request, "corpus/audit.html", context, part="entries")


@require_safe
def audit_file(request: HtmxRequest, slug: str, form: str) -> StreamingHttpResponse:
    """All entries that match the filters, as `tsv` or `csv`."""
    if form not in formatting.CONTENT_TYPES:
        raise Http404("No such format.")
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    filters = AuditForm(request.GET, collection).filters
    rows = formatting.lines(selectors.table(collection, filters), form)
    response = StreamingHttpResponse(rows, content_type=formatting.CONTENT_TYPES[form])
    response["Content-Disposition"] = f'attachment; filename="{collection.slug}-audit.{form}"'
    return response
