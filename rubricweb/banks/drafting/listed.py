"""What models are asked to draft, in the list of a collection's jobs."""

from __future__ import annotations

from django.db.models import QuerySet
from django.urls import reverse

from rubricweb.banks.drafting import actions
from rubricweb.banks.drafting.models import DraftRequest
from rubricweb.jobs.listing import TaskListing


def _requests(collection_id: int) -> QuerySet[DraftRequest]:
    rows = DraftRequest.objects.filter(bank__collection=collection_id)
    return rows.select_related("bank__collection", "topic", "by").defer("reply")


LISTING = TaskListing(
    kind="drafts",
    jobs=_requests,
    name=lambda request: f"Draft questions for {request.topic.query_id}",
    does=str,
    address=lambda request: reverse("editor:drafts", args=[request.bank_id, request.topic_id]),
    opens="Drafts",
    acts={"cancel": actions.cancel_request},
)
