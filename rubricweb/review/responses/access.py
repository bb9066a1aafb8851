"""Fetch and authorise in one call. Runs that are not accepted are found by nobody."""

from __future__ import annotations

from django.shortcuts import get_object_or_404

from rubricweb.accounts.models import User
from rubricweb.banks.access import bank_topic_for
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Response
from rubricweb.corpus.pseudonyms import shown_names


def response_for(user: User, bank_id: int, topic_id: int, run_id: int) -> tuple[Bank, Response]:
    """The bank to grade by, and the response with its run, by the name that the reader may see."""
    bank, topic = bank_topic_for(user, bank_id, topic_id)
    accepted = bank.collection.runs.accepted()
    rows = Response.objects.select_related("run", "topic").filter(run__in=accepted)
    response: Response = get_object_or_404(rows, run=run_id, topic=topic)
    (response.run.run_tag,) = shown_names(bank.collection_id, (response.run.run_tag,))
    return bank, response
