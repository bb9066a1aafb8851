"""A collection's passages as JSON lines, with their places in documents; the deduplicated corpus."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from grading.formats.passages import PassageEntry, passage_lines
from rubricweb.accounts import roles
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus import convert, duplicates
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection


class NotSearched(Exception):
    """No search for near-duplicates has ended, so that none can be left out; the text says so."""


def passages_of(collection: Collection, *, has_duplicates: bool = True) -> Iterator[PassageEntry]:
    """Return the passages by doc id; `has_duplicates=False` keeps the representative of each group only.

    Raises NotSearched before the first passage.
    """
    rows = collection.passages.order_by("doc_id")
    if has_duplicates:
        return convert.passage_entries(rows)
    if duplicates.latest_search(collection) is None:
        raise NotSearched(f"Nobody has looked for near-duplicates in {collection} yet.")
    redundant = duplicates.redundant_doc_ids(collection)
    return (entry for entry in convert.passage_entries(rows) if entry.doc_id not in redundant)


@require_safe
def passages_file(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download the passages, for people who see the names of runs; `deduplicated=1` for representatives.

    Without a search nothing is a near-duplicate, and all passages come.
    """
    collection = collection_for(request.user, slug, needed=roles.TO_SEE_RUNS)
    is_deduplicated = bool(request.GET.get("deduplicated"))
    is_searched = duplicates.latest_search(collection) is not None
    entries = passages_of(collection, has_duplicates=not (is_deduplicated and is_searched))
    response = StreamingHttpResponse(passage_lines(entries), content_type="application/jsonl; charset=utf-8")
    name = f"{slug}_passages{'_deduplicated' if is_deduplicated else ''}.jsonl"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
