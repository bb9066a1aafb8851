"""Agreement of assessors, and the anchoring effect."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from grading.types import Purpose
from rubricweb.accounts import roles
from rubricweb.campaigns.agreement import selectors
from rubricweb.campaigns.agreement.forms import AssessorAgreementForm
from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades.defaults import banks
from rubricweb.grades.raters import Rater, raters


@require_safe
def agreement(request: HtmxRequest, slug: str) -> HttpResponse:
    """Compare assessors with each other and with a grader."""
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    form = AssessorAgreementForm(request.GET, collection)
    offered = _raters(collection)
    rater = form.offer(offered) if offered else None
    view = selectors.agreement(
        collection, rater, which=form.counted, campaign=form.chosen, shows_names=form.shows_names
    )
    place = {"collection": collection, "section": "review", "tab": "agreement"}
    context = place | {"form": form, "view": view, "rater": rater}
    return page_or_part(request, "campaigns/agreement/agreement.html", context, part="agreement")


def _raters(collection: Collection) -> tuple[Rater, ...]:
    """Return those of all banks that rate as people do, each once."""
    by_pk = {rater.pk: rater for bank in banks(collection) for rater in raters(bank)}
    return tuple(rater for rater in by_pk.values() if rater.purpose is Purpose.RATE)
