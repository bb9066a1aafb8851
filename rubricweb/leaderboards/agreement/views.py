"""The page of inter-annotator tables."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus import access
from rubricweb.corpus.pools import collection_pool
from rubricweb.leaderboards.agreement import selectors, sheets
from rubricweb.leaderboards.agreement.forms import AgreementForm

PAGE = "leaderboards/agreement.html"


@require_safe
def agreement(request: HtmxRequest, slug: str) -> HttpResponse:
    """Labels against judgments, graded and binarised; the thresholds are in the address."""
    collection = access.collection_for(request.user, slug)
    form = AgreementForm(request.GET, collection=collection)
    is_judged = any(topic.judgments for topic in collection_pool(collection).topics)
    context = {
        "collection": collection,
        "section": "leaderboard",
        "tab": "agreement",
        "form": form,
        "is_judged": is_judged,
    }
    if not form.graders or not is_judged:
        return page_or_part(request, PAGE, context, part="agreement")
    if not form.is_valid():
        return form_response(request, PAGE, context, part="agreement")
    return page_or_part(request, PAGE, {**context, **_tables(form)}, part="agreement")


def _tables(form: AgreementForm) -> Context:
    picked = form.cleaned_data
    min_grade, min_relevant, needed = picked["min_grade"], picked["min_relevant"], picked["min_answers"]
    agreements = selectors.agreements(form.labellers, min_answers=needed)
    rated = [labeller for labeller in form.labellers if labeller.bank]
    return {
        "binary": sheets.binary(agreements, min_grade=min_grade, min_relevant=min_relevant),
        "graded": [
            (f"graded-{place}", sheets.graded(one, min_relevant=min_relevant))
            for place, one in enumerate(agreements)
        ],
        "thresholds": [
            (
                f"thresholds-{place}",
                sheets.thresholds(one, selectors.threshold_kappas(one, min_relevant=min_relevant)),
            )
            for place, one in enumerate(rated)
        ],
        "between": sheets.graders(
            selectors.between(form.labellers, min_grade=min_grade, min_answers=needed), min_grade=min_grade
        ),
    }
