"""Search for near-duplicates and keep what was found."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from grading.near_duplicates import find_near_duplicates
from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.corpus.duplicates.models import DuplicateSearch, NearDuplicate
from rubricweb.corpus.models import Collection
from rubricweb.jobs import dispatch, endings
from rubricweb.jobs.leases import Lease

BATCH = 5_000
READ_AT_ONCE = 2_000

Groups = Sequence[Sequence[int]]
"""Primary keys of passages, in the order of their doc ids."""


@transaction.atomic
def start_search(collection: Collection, *, threshold: float, by: User | None) -> DuplicateSearch:
    """Have a worker search; a search that waits or runs goes on, and no second one is begun."""
    running = collection.duplicate_searches.filter(state__in=DuplicateSearch.LIVE).first()
    if running is not None:
        return running
    search = DuplicateSearch.objects.create(collection=collection, threshold=threshold, by=by)
    audit.record("near-duplicates searched", search, by=by, detail=f"threshold {threshold:g}")
    dispatch.enqueue([search])
    return search


def find_groups(collection: Collection, threshold: float) -> tuple[Groups, int]:
    """Return the groups among all passages, and how many passages there are."""
    rows = collection.passages.order_by("doc_id").values_list("pk", "text")
    n_passages = collection.passages.count()
    return find_near_duplicates(rows.iterator(chunk_size=READ_AT_ONCE), threshold=threshold), n_passages


@transaction.atomic
def keep(lease: Lease[DuplicateSearch], groups: Groups, n_passages: int) -> None:
    """End a worker's search. Raises LeaseLost."""
    _replace(lease.work, groups)
    endings.finish(lease, groups=len(groups), passages=n_passages)


def search_now(collection: Collection, *, threshold: float, by: User | None) -> DuplicateSearch:
    """Search without a worker, and keep the groups. Others can write while it searches."""
    groups, n_passages = find_groups(collection, threshold)
    done = {"state": DuplicateSearch.State.DONE, "groups": len(groups), "passages": n_passages}
    with transaction.atomic():
        search = DuplicateSearch.objects.create(collection=collection, threshold=threshold, by=by, **done)
        _replace(search, groups)
        audit.record("near-duplicates searched", search, by=by, detail=f"threshold {threshold:g}")
    return search


def _replace(search: DuplicateSearch, groups: Groups) -> None:
    """Mark the passages of the groups in place of those of earlier searches."""
    search.collection.duplicate_searches.exclude(pk=search.pk).exclude(
        state__in=DuplicateSearch.LIVE
    ).delete()
    NearDuplicate.objects.bulk_create(
        (
            NearDuplicate(search=search, passage_id=passage, group=number)
            for number, group in enumerate(groups, start=1)
            for passage in group
        ),
        batch_size=BATCH,
    )
