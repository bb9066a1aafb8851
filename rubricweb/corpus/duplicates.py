"""Search for near-duplicate passages, as background work; no passage is ever merged.

A file of passages may leave out all but the representative of each group (`exports.corpus`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import QuerySet

from grading.near_duplicates import find_near_duplicates, representative
from rubricweb.accounts.models import User
from rubricweb.core import audit, events
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.derived_models import DuplicateSearch, NearDuplicate
from rubricweb.corpus.models import Collection
from rubricweb.jobs import kinds, leases, queue

BATCH = 5_000
READ_AT_ONCE = 2_000

Groups = Sequence[Sequence[int]]
"""Primary keys of passages, in the order of their doc ids."""
DONE = DuplicateSearch.State.DONE


@transaction.atomic
def start_search(collection: Collection, *, threshold: float, by: User | None) -> DuplicateSearch:
    """Have a worker search; a search that waits or runs goes on, and no second one is begun."""
    running = collection.duplicate_searches.filter(state__in=DuplicateSearch.LIVE).first()
    if running is not None:
        return running
    search = DuplicateSearch.objects.create(collection=collection, threshold=threshold, by=by)
    audit.record("near-duplicates searched", search, by=by, detail=f"threshold {threshold:g}")
    queue.enqueue([search])
    return search


def find_groups(collection: Collection, threshold: float) -> tuple[Groups, int]:
    """Return the groups among all passages, and how many passages there are."""
    rows = collection.passages.order_by("doc_id").values_list("pk", "text")
    n_passages = collection.passages.count()
    return find_near_duplicates(rows.iterator(chunk_size=READ_AT_ONCE), threshold=threshold), n_passages


@transaction.atomic
def keep(lease: leases.Lease[DuplicateSearch], groups: Groups, n_passages: int) -> None:
    """End a worker's search. Raises LeaseLost."""
    _replace(lease.work, groups)
    leases.finish(lease, groups=len(groups), passages=n_passages)


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


def latest_search(collection: Collection) -> DuplicateSearch | None:
    """Return the search whose groups are marked; None before the first."""
    return next(iter(_done_searches(collection.pk)), None)


@compiled_once
def _done_searches(collection: int) -> QuerySet[DuplicateSearch]:
    return DuplicateSearch.objects.filter(collection=collection, state=DONE).order_by("-pk")[:1]


def groups_by_doc_id(collection: Collection) -> dict[str, int]:
    """Return the number of the group by doc id, of the passages that have near-duplicates."""
    search = latest_search(collection)
    if search is None:
        return {}
    return dict(search.members.values_list("passage__doc_id", "group"))


def representative_of(passage_id: int, collection: Collection) -> str:
    """Return the doc id that stands for the group of a passage; empty where it has no near-duplicates."""
    search = latest_search(collection)
    own = search.members.filter(passage=passage_id).values("group") if search else None
    if search is None or own is None:
        return ""
    doc_ids = search.members.filter(group__in=own).values_list("passage__doc_id", flat=True)
    return representative(doc_ids) if doc_ids else ""


def redundant_doc_ids(collection: Collection) -> set[str]:
    """Return the doc ids of the passages whose group another one represents (`representative`)."""
    groups: dict[int, list[str]] = {}
    for doc_id, group in groups_by_doc_id(collection).items():
        groups.setdefault(group, []).append(doc_id)
    return {doc_id for group in groups.values() for doc_id in group if doc_id != representative(group)}


def fellows(passage_id: int, among: Iterable[int]) -> list[int]:
    """Return the near-duplicates of a passage that are among these passages, by primary key."""
    own = NearDuplicate.objects.filter(passage=passage_id, search__state=DONE).order_by("-search")
    mine = own.values_list("search", "group").first()
    if mine is None:
        return []
    rows = NearDuplicate.objects.filter(search=mine[0], group=mine[1]).exclude(passage=passage_id)
    candidates = set(among)
    return [pk for pk in rows.order_by("pk").values_list("passage", flat=True) if pk in candidates]


class DuplicateSearches(kinds.TaskKind[DuplicateSearch]):
    name = "near-duplicates"
    model = DuplicateSearch
    related = ("collection", "by")
    is_retried = True

    def run(self, lease: leases.Lease[DuplicateSearch]) -> None:
        groups, n_passages = find_groups(lease.work.collection, lease.work.threshold)
        keep(lease, groups, n_passages)

    def label(self, work: DuplicateSearch) -> str:
        return f"the search for near-duplicates in {work.collection}"

    def changed(self, work: DuplicateSearch) -> None:
        events.publish_on_commit(work.collection.channel, "progress")
