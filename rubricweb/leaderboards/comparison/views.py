"""The page of comparisons: two runs of a board, one run beside all, or one board then and now."""

from __future__ import annotations

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from grading.formats.tables import PrintedTable, tex, tsv_lines
from grading.statistics.max_t import ALPHA
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part, parse_id
from rubricweb.corpus import access
from rubricweb.corpus.models import Run
from rubricweb.leaderboards.board import headline, provenance
from rubricweb.leaderboards.board.scored import ScoredBoard, scored_board
from rubricweb.leaderboards.board_page import query_of
from rubricweb.leaderboards.by_attribute import board_by_attribute, score_sheet
from rubricweb.leaderboards.comparison import changes, plots
from rubricweb.leaderboards.comparison import pair as pairs
from rubricweb.leaderboards.comparison.forms import THEN, PairForm, ThenForm
from rubricweb.leaderboards.comparison.sentences import sentences
from rubricweb.leaderboards.comparison.then import Then
from rubricweb.leaderboards.forms import AnalysisForm
from rubricweb.leaderboards.sorting import changed

PAGE, PART = "leaderboards/compare.html", "compare"
SVG = "image/svg+xml"


@require_safe
def compare(request: HtmxRequest, slug: str) -> HttpResponse:
    """Answer with the page or its part, or with the file that the address names."""
    collection = access.collection_for(request.user, slug)
    if "tick" in request.GET:
        return redirect(f"{request.path}?{_of_ticked(request.GET)}")
    is_then = request.GET.get("view") == "then" or any(name.startswith(THEN) for name in request.GET)
    kind = ThenForm if is_then else PairForm
    form: PairForm | ThenForm = kind(request.GET, collection=collection)
    context: dict[str, object] = {"collection": collection, "form": form}
    context |= {"view": "then" if is_then else "", "query": _board_query(form)}
    if not form.graders:
        return page_or_part(request, PAGE, context, part=PART)
    if not form.is_valid():
        return form_response(request, PAGE, context, part=PART)
    context["is_step"] = bool(request.htmx) and request.htmx.trigger != "controls"
    content = _then_and_now(form, request.GET) if isinstance(form, ThenForm) else _pair(form, request.GET)
    if isinstance(content, HttpResponse):
        return content
    return page_or_part(request, PAGE, {**context, **content}, part=PART)


def _of_ticked(address: QueryDict) -> str:
    """Return the tail of the address that compares the first two runs ticked on a board; of one, the run."""
    plain = address.copy()
    runs = filter(None, map(parse_id, plain.pop("tick")))
    for name, run in zip("ab", runs, strict=False):
        plain[name] = str(run)
    return plain.urlencode()


def _board_query(form: AnalysisForm) -> str:
    """Return the board of the page as the tail of an address, without what is compared."""
    own = (*form.own, "a", "b", "open", "run", "view")
    return changed(query_of(form), **dict.fromkeys(own, ""))


def _pair(form: PairForm, address: QueryDict) -> Context | HttpResponse:
    """Return what the page shows of two runs, or of one; or a file."""
    scored, a, b = scored_board(form.spec), form.cleaned_data["a"], form.cleaned_data["b"]
    if len(scored.run_tags) < (1 if a else 2):
        return {"has_too_few_runs": True}
    pair = pairs.Pair.of(scored, int(a) if a else None, int(b) if b else None)
    form.show_runs(pair.a_pk, pair.b_pk)
    if name := address.get("file"):
        return _file(pair, name)
    attribute, opened = form.cleaned_data["by"], pair.opened(form.cleaned_data["open"])
    board = board_by_attribute(scored, attribute) if attribute else None
    run = Run.objects.get(pk=pair.a_pk)
    return {
        "pair": pair,
        "groups": pair.groups(attribute),
        "opened": opened,
        "steps": _steps(address, "open", pair.steps(opened.topic.pk) if opened else ("", "")),
        "sheet": pair.sheet(),
        "by_attribute": score_sheet(board, scored) if board else None,
        "run_is_made_here": pair.b is None and run.is_made_here,
        "has_answers": pair.b is None and run.responses.exists(),
        "tex": tex(sentences(pair.comparison)) if pair.comparison else "",
        **_why(scored),
    }


def _then_and_now(form: ThenForm, address: QueryDict) -> Context | HttpResponse:
    """Return what the page shows of one board then and now; or a file."""
    if not form.is_chosen:
        return {"offers": form.offers()}
    then = Then(scored_board(form.before), scored_board(form.spec))
    opened = then.opened(form.cleaned_data["run"], has_all="all" in address)
    if address.get("file") == "runs.svg" and then.rows:
        return _attachment("runs.svg", then.dots_file(), SVG)
    if address.get("file") == "reasons.tsv" and opened:
        return _tsv("reasons", then.reason_table(opened))
    if address.get("file"):
        return _tsv("runs", then.run_table(_board_query(form)))
    places = ["", *(str(row.pk) for row in then.rows), ""]
    at = places.index(str(opened.row.pk)) if opened else 0
    return {
        "then": then,
        "opened_run": opened,
        "steps": _steps(address, "run", (places[at - 1], places[at + 1])),
        "sheet": then.run_table(_board_query(form)),
        "reasons": then.reason_table(opened) if opened else None,
        "is_exact": changes.is_exact(then.before, then.after),
        **_why(then.after),
    }


def _steps(address: QueryDict, name: str, values: tuple[str, str]) -> tuple[str, str]:
    """Return the addresses with these values of a parameter; empty for an empty one."""
    steps = []
    for value in values:
        step = address.copy()
        step[name] = value
        steps.append(step.urlencode() if value else "")
    return steps[0], steps[1]


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
        return _attachment(f"{stem}-topics.svg", pairs.bars_file(pair), SVG)
    if name == "redrawn.svg" and pair.distribution:
        title = f"Mean difference of {pair.a_tag} and {pair.b_tag}, topics drawn again"
        return _attachment(f"{stem}-redrawn.svg", plots.distribution_file(title, pair.distribution), SVG)
    return _tsv(stem, pair.sheet())


def _tsv(stem: str, sheet: PrintedTable) -> HttpResponse:
    text = "".join(f"{line}\n" for line in tsv_lines(sheet.data))
    return _attachment(f"{stem}.tsv", text, "text/tab-separated-values; charset=utf-8")


def _attachment(name: str, text: str, content_type: str) -> HttpResponse:
    disposition = f'attachment; filename="{name}"'
    return HttpResponse(text, content_type=content_type, headers={"Content-Disposition": disposition})
