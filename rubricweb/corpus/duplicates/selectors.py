"""Which passages are near-duplicates of each other, by the latest search."""

from __future__ import annotations

from collections.abc import Iterable

from rubricweb.corpus.duplicates.models import DuplicateSearch, NearDuplicate
from rubricweb.corpus.models import Collection

DONE = DuplicateSearch.State.DONE


def latest_search(collection: Collection) -> DuplicateSearch | None:
    """Return the search whose groups are marked; None before the first."""
    return collection.duplicate_searches.filter(state=DONE).order_by("-pk").first()


def last_attempt(collection: Collection) -> DuplicateSearch | None:
    """Return the last search, whatever became of it."""
    return collection.duplicate_searches.order_by("-pk").first()


def groups_by_doc_id(collection: Collection) -> dict[str, int]:
    """Return the number of the group by doc id, of the passages that have near-duplicates."""
    search = latest_search(collection)
    if search is None:
        return {}
    return dict(search.members.values_list("passage__doc_id", "group"))


def fellows(passage_id: int, among: Iterable[int]) -> list[int]:
    """Return the near-duplicates of a passage that are among these passages, by primary key."""
    own = NearDuplicate.objects.filter(passage=passage_id, search__state=DONE).order_by("-search")
    mine = own.values_list("search", "group").first()
    if mine is None:
        return []
    rows = NearDuplicate.objects.filter(search=mine[0], group=mine[1]).exclude(passage=passage_id)
    wanted = set(among)
    return [pk for pk in rows.order_by("pk").values_list("passage", flat=True) if pk in wanted]
