"""The ledger of a bank."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from rubricweb.banks.access import bank_for
from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.editor import ledger as selectors
from rubricweb.editor.ledger_forms import LedgerForm


@require_safe
def ledger(request: HtmxRequest, bank_id: int) -> HttpResponse:
    bank = bank_for(request.user, bank_id)
    form = LedgerForm(request.GET, bank)
    context = {
        "bank": bank,
        "collection": bank.collection,
        "section": "topics",
        "form": form,
        "page": selectors.ledger(bank, form.filters, before=form.seen),
    }
    return page_or_part(request, "editor/ledger.html", context, part="changes")
