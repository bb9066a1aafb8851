"""The page of two runs."""

from __future__ import annotations

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from grading.formats.data_table import Value, from_mappings
from grading.formats.sheets import PrintedTable, TextCell, row, tex
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus import access
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.scored import ScoredBoard, scored_board
from rubricweb.leaderboards.comparison.forms import ComparisonForm
from rubricweb.leaderboards.comparison.selectors import RunComparison, compare, named_topics
from rubricweb.leaderboards.comparison.sentences import sentence, sentences

PAGE, PART = "leaderboards/comparison.html", "comparison"


@require_safe
def comparison(request: HtmxRequest, slug: str) -> HttpResponse:
    """What can be said of two runs, and where they differ. The board and the runs are in the address."""
    collection = access.collection_for(request.user, slug)
    form = ComparisonForm(request.GET, collection=collection)
    context = {"collection": collection, "section": "leaderboard", "tab": "comparison", "form": form}
    if not form.graders:
        return page_or_part(request, PAGE, context, part=PART)
    if not form.is_valid():
        return form_response(request, PAGE, context, part=PART)
    return page_or_part(request, PAGE, {**context, **_compared(form)}, part=PART)


def _compared(form: ComparisonForm) -> Context:
    scored = scored_board(form.spec)
    if len(scored.run_tags) < 2:
        return {"has_too_few_runs": True}
    found = compare(scored, form.cleaned_data["first"], form.cleaned_data["second"])
    form.show(found)
    return {
        "found": found,
        "said": sentence(found),
        "tex": tex(sentences(found)),
        "test_name": provenance.TESTS[found.test],
        "topics": _sheet(found, scored),
    }


def _sheet(found: RunComparison, scored: ScoredBoard) -> PrintedTable:
    """Each topic that counts for both."""
    spec = scored.spec
    names = named_topics(spec.collection)

    def address(topic_id: int) -> str:
        return (
            reverse("editor:topic", args=[spec.bank.pk, topic_id], query={"view": "grid"})
            if spec.bank
            else ""
        )

    rows = tuple(
        (
            TextCell(names[one.topic_id], href=address(one.topic_id)),
            *row(one.first, one.second, one.difference),
        )
        for one in found.topics
    )
    data: list[dict[str, Value]] = [
        {"topic": one.query_id, found.first: one.first, found.second: one.second} for one in found.topics
    ]
    return PrintedTable(
        f"{found.first} and {found.second} by topic, {provenance.measure_name(spec)}",
        ("Topic", found.first, found.second, "Difference"),
        rows,
        data=from_mappings(data, provenance.scored_statements(scored)),
    )
