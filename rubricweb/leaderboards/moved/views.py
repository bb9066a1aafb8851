"""The page of what moved between two boards."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus import access
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.scored import ScoredBoard, scored_board
from rubricweb.leaderboards.board.types import BoardSpec
from rubricweb.leaderboards.moved import files, selectors, sheets
from rubricweb.leaderboards.moved.forms import MovedForm

PAGE = "leaderboards/moved.html"
SHOWN_ROWS = 40


@require_safe
def moved(request: HtmxRequest, slug: str) -> HttpResponse:
    """Two boards, side by side; `run` says whose difference is explained."""
    collection = access.collection_for(request.user, slug)
    form = MovedForm(request.GET, collection=collection)
    context = {"collection": collection, "section": "leaderboard", "tab": "moved", "form": form}
    if not form.graders:
        return page_or_part(request, PAGE, context, part="moved")
    if not form.is_valid():
        return form_response(request, PAGE, context, part="moved")
    if not form.is_told:
        return page_or_part(request, PAGE, {**context, "is_untold": True}, part="moved")
    return page_or_part(request, PAGE, {**context, **_tables(request, form)}, part="moved")


def _tables(request: HtmxRequest, form: MovedForm) -> Context:
    before, after = scored_board(form.before), scored_board(form.spec)
    rows = selectors.moved_rows(before, after)
    query = request.GET.copy()
    for name in ("run", "all"):
        query.pop(name, None)
    sheet = sheets.runs(rows, lambda tag: f"?{query.urlencode()}&{urlencode({'run': tag})}#reasons")
    return {
        "sheet": replace(sheet, data=files.runs(before, after, rows)),
        "n_moved": sum(row.rose != 0 for row in rows),
        "n_sure": sum(row.is_sure for row in rows),
        "n_runs": len(rows),
        "is_tested": any(row.p is not None for row in rows),
        "can_tell": selectors.can_tell_moves(after),
        "n_topics": after.ranks.topics if after.ranks else 0,
        "test_name": provenance.TESTS[after.ranks.test if after.ranks else after.spec.test],
        "differences": _differences(form.before, form.spec),
        "is_exact": selectors.is_exact(before, after),
        **_reasons(request, before, after, rows),
    }


def _reasons(
    request: HtmxRequest, before: ScoredBoard, after: ScoredBoard, rows: list[selectors.MovedRow]
) -> Context:
    """Return why the score of the chosen run, or of the one that moved most, changed."""
    if not rows:
        return {}
    row = next((row for row in rows if row.run_tag == request.GET.get("run")), rows[0])
    parts = selectors.explained(before, after, row.run_tag)
    shown = parts if "all" in request.GET else parts[:SHOWN_ROWS]
    data = files.reasons(before, after, parts, row.run_tag)
    reasons = replace(sheets.reasons(shown, row.run_tag, after.spec.bank), data=data)
    return {"row": row, "reasons": reasons, "n_parts": len(parts), "n_shown": len(shown)}


def _differences(before: BoardSpec, after: BoardSpec) -> list[tuple[str, str, str]]:
    """Name, before and after of what the two boards are made of."""
    pairs = [
        ("grader", str(before.config), str(after.config)),
        ("bank", str(before.bank or "labels"), str(after.bank or "labels")),
        ("version", str(before.version or "as of now"), str(after.version or "as of now")),
        ("ratings by", before.source.value, after.source.value),
        ("definition", _definition(before), _definition(after)),
        ("measure", provenance.measure_name(before), provenance.measure_name(after)),
        ("threshold", str(before.measure.min_grade), str(after.measure.min_grade)),
    ]
    return [pair for pair in pairs if pair[1] != pair[2]]


def _definition(spec: BoardSpec) -> str:
    return provenance.DEFINITIONS[spec.measure.definition]
