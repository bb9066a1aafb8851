"""The page of comparisons: two runs of a board, one run beside all, or one board then and now."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from grading.formats.data_table import tsv_lines
from grading.formats.sheets import PrintedTable, tex
from grading.statistics.max_t import ALPHA
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus import access
from rubricweb.corpus.models import Run
from rubricweb.leaderboards.board import headline, provenance
from rubricweb.leaderboards.board.scored import ScoredBoard, scored_board
from rubricweb.leaderboards.board_page import query_of
from rubricweb.leaderboards.by_attribute import board_by_attribute, score_sheet
from rubricweb.leaderboards.comparison import pair as pairs
from rubricweb.leaderboards.comparison import plots
from rubricweb.leaderboards.comparison.forms import PairForm
from rubricweb.leaderboards.comparison.sentences import sentences

PAGE, PART = "leaderboards/compare.html", "compare"


@require_safe
def compare(request: HtmxRequest, slug: str) -> HttpResponse:
    """Answer with the page or its part, or with the file that the address names."""
    collection = access.collection_for(request.user, slug)
    form = PairForm(request.GET, collection=collection)
    context = {"collection": collection, "section": "leaderboard", "tab": "compare", "form": form}
    if not form.graders:
        return page_or_part(request, PAGE, context, part=PART)
    if not form.is_valid():
        return form_response(request, PAGE, context, part=PART)
    scored, a, b = scored_board(form.spec), form.cleaned_data["a"], form.cleaned_data["b"]
    if len(scored.run_tags) < (1 if a else 2):
        return page_or_part(request, PAGE, {**context, "has_too_few_runs": True}, part=PART)
    pair = pairs.Pair.of(scored, int(a) if a else None, int(b) if b else None)
    form.show_runs(pair.a_pk, pair.b_pk)
    if name := request.GET.get("file"):
        return _file(pair, name)
    context |= {"query": query_of(form), "pair": pair, **_shown(form, pair)}
    context["is_step"] = bool(request.htmx) and request.htmx.trigger != "controls"
    return page_or_part(request, PAGE, context, part=PART)


def _shown(form: PairForm, pair: pairs.Pair) -> Context:
    """Return what the page shows of two runs, or of one."""
    attribute, opened = form.cleaned_data["by"], pair.opened(form.cleaned_data["open"])
    board = board_by_attribute(pair.scored, attribute) if attribute else None
    run = Run.objects.get(pk=pair.a_pk)
    return {
        "groups": pair.groups(attribute),
        "opened": opened,
        "steps": pair.steps(opened.topic.pk) if opened else ("", ""),
        "sheet": pair.sheet(),
        "by_attribute": score_sheet(board, pair.scored) if board else None,
        "run_is_made_here": pair.b is None and run.is_made_here,
        "has_answers": pair.b is None and run.responses.exists(),
        **_why(pair.scored),
        "tex": tex(sentences(pair.comparison)) if pair.comparison else "",
    }


def _why(scored: ScoredBoard) -> Context:
    """Return by what rule the board calls a run clearly ahead."""
    ranks, n_runs = scored.ranks, len(scored.run_tags)
    n_topics = ranks.topics if ranks else 0
    return {
        "headline": headline.headline(scored.top, n_topics),
        "resolution": headline.resolution(scored.top, n_topics),
        "test_name": provenance.TESTS[ranks.test if ranks else scored.spec.test],
        "n_pairs": n_runs * (n_runs - 1) // 2 if ranks else 0,
        "level": f"{100 * ALPHA:g} %",
        "measure_name": provenance.measure_name(scored.spec),
    }


def _file(pair: pairs.Pair, name: str) -> HttpResponse:
    """Return the table as TSV, or a plot as SVG; any other name is that of the table."""
    stem = slugify(f"{pair.a_tag} {pair.b_tag}") or "runs"
    if name == "topics.svg":
        return svg_response(f"{stem}-topics", pairs.bars_file(pair))
    if name == "redrawn.svg" and pair.distribution:
        title = f"Mean difference of {pair.a_tag} and {pair.b_tag}, topics drawn again"
        return svg_response(f"{stem}-redrawn", plots.distribution_file(title, pair.distribution))
    return tsv_response(stem, pair.sheet())


def svg_response(stem: str, text: str) -> HttpResponse:
    return _attachment(f"{stem}.svg", text, "image/svg+xml")


def tsv_response(stem: str, sheet: PrintedTable) -> HttpResponse:
    text = "".join(f"{line}\n" for line in tsv_lines(sheet.data))
    return _attachment(f"{stem}.tsv", text, "text/tab-separated-values; charset=utf-8")


def _attachment(name: str, text: str, content_type: str) -> HttpResponse:
    disposition = f'attachment; filename="{name}"'
    return HttpResponse(text, content_type=content_type, headers={"Content-Disposition": disposition})
