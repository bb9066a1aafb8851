"""The ledger of a bank: everything that happened to its items."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from rubricweb.banks.access import bank_for
from rubricweb.banks.ledger import selectors
from rubricweb.banks.ledger.forms import LedgerForm
from rubricweb.core.http import HtmxRequest, page_or_part


@require_safe
def ledger(request: HtmxRequest, bank_id: int) -> HttpResponse:
    bank = bank_for(request.user, bank_id)
    form = LedgerForm(request.GET, bank)
    context = {
        "bank": bank,
        "collection": bank.collection,
        "section": "topics",
        "form": form,
        "page": selectors.ledger(bank, form.filters, before=form.cleaned_data.get("before")),
    }
    return page_or_part(request, "banks/ledger.html", context, part="changes")
