"""The screen that compares two runs, or a board with itself as it was."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from django import forms
from django.http import HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from grading.formats.tables import PrintedTable, tex, tsv_lines
from grading.measures import CUTOFF, MIN_GRADE
from grading.statistics.max_t import ALPHA
from rubricweb.banks.models import Bank
from rubricweb.core.forms import Chip, RowField, offer_choices, offer_read, rows_field
from rubricweb.core.http import Context, HtmxRequest, download, form_response, page_or_part, parse_id
from rubricweb.corpus import access
from rubricweb.corpus.models import Collection, Run
from rubricweb.corpus.run_slices import run_names
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import Definition
from rubricweb.grades.selectors import graders_of
from rubricweb.leaderboards import plots
from rubricweb.leaderboards.board import BoardError, BoardSpec, provenance
from rubricweb.leaderboards.board.certainty import ScoredBoard, scored_board
from rubricweb.leaderboards.board.columns import changed
from rubricweb.leaderboards.board.sentences import headline, resolution
from rubricweb.leaderboards.board_page import query_of
from rubricweb.leaderboards.by_attribute import board_by_attribute, score_sheet, sliceable
from rubricweb.leaderboards.comparison import changes, pair as pairs, sentences
from rubricweb.leaderboards.comparison.in_context import ContextForm, context_of
from rubricweb.leaderboards.comparison.then import Then
from rubricweb.leaderboards.forms import DEFINITIONS, SOURCES, AnalysisForm, GraderField

THEN = "then_"
SAME = "the same"
NOW = "now"
DIFFERENT = ("grader", "bank", "measure", "min_grade", "cutoff", "version", "source", "definition")
"""What may be different before."""
OFFERED = 2
USUAL = {"version": NOW, "source": str(RatingSource.GRADER), "definition": str(Definition.PAPERS)}
"""What an address names of the board before where it would say nothing of the board now."""
PAGE, PART = "leaderboards/compare.html", "compare"
SVG = "image/svg+xml"


class ComparisonForm(AnalysisForm):
    """Two runs by the names that the reader knows; empty ones are the board's first and next."""

    first = forms.CharField(required=False, label="Run")
    second = forms.CharField(required=False, label="Beside")


class RunPairForm(AnalysisForm):
    """A valid form has the `spec`. Without A and B they are the first two of the board; B alone may lack."""

    own = ("a", "b", "by")
    a = forms.ChoiceField(label="A", required=False)
    b = forms.ChoiceField(label="B", required=False)
    by = forms.ChoiceField(label="Group topics by", required=False)
    open = forms.CharField(max_length=200, required=False, widget=forms.HiddenInput)
    """The query id of the opened topic."""

    def __init__(self, parameters: Mapping[str, str], *, collection: Collection) -> None:
        super().__init__(parameters, collection=collection)
        offered = [(str(pk), name) for pk, name in sorted(self._names().items(), key=itemgetter(1))]
        offer_choices(self, "a", [("", "the first of the board"), *offered])
        offer_choices(self, "b", [("", "mean of all runs"), *offered])
        offer_choices(self, "by", [("", "nothing"), *((name, name) for name in sliceable(collection))])

    def _names(self) -> dict[int, str]:
        """Return the runs of the board by key, all where it has none."""
        try:
            return run_names(self.collection, self.run_slice())
        except BoardError:  # `clean` says what is wrong
            return run_names(self.collection)

    def default_value(self, name: str) -> object:
        is_chosen_by_board = name in ("a", "b") and name not in self.address
        return self.data.get(name, "") if is_chosen_by_board else super().default_value(name)

    def clean(self) -> None:
        super().clean()
        a = self.cleaned_data.get("a")
        if a and a == self.cleaned_data.get("b"):
            self.add_error("b", "Choose two different runs.")


def _then(name: str, offered: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    return ("", SAME), *((value or USUAL[name], label) for value, label in offered)


class ThenForm(AnalysisForm):
    """A valid form has `spec`, the board after, and `before`."""

    own = tuple(f"{THEN}{name}" for name in DIFFERENT)
    then_grader = GraderField(GraderConfig.objects.none(), required=False, empty_label=SAME, label="Grader")
    then_bank = RowField(Bank.objects.none(), required=False, empty_label=SAME, label="Rubric")
    then_measure = forms.CharField(
        max_length=60, required=False, label="Measure", widget=forms.TextInput({"placeholder": SAME})
    )
    then_min_grade = forms.IntegerField(
        min_value=MIN_GRADE.lowest,
        max_value=MIN_GRADE.highest,
        required=False,
        label="Threshold",
        widget=forms.NumberInput({"placeholder": SAME}),
    )
    then_cutoff = forms.IntegerField(
        min_value=CUTOFF.lowest,
        max_value=CUTOFF.highest,
        required=False,
        label="Rank cutoff k",
        widget=forms.NumberInput({"placeholder": SAME}),
    )
    then_version = forms.ChoiceField(required=False, label="Version")
    then_source = forms.ChoiceField(choices=_then("source", SOURCES), required=False, label="Ratings by")
    then_definition = forms.ChoiceField(
        choices=_then("definition", DEFINITIONS), required=False, label="Definition"
    )

    run = forms.IntegerField(required=False, widget=forms.HiddenInput)
    """The run whose difference is opened."""

    before: BoardSpec

    def __init__(self, parameters: Mapping[str, str], *, collection: Collection) -> None:
        self.given = {name: parameters[name] for name in parameters}
        super().__init__(parameters, collection=collection)
        offer_read(self, "then_grader", rows_field(self, "grader").queryset or ())
        offer_read(self, "then_bank", rows_field(self, "bank").queryset or ())
        version = rows_field(self, "version")
        versions = [(str(row.pk), version.label_from_instance(row)) for row in version.queryset or ()]
        offer_choices(self, "then_version", [("", SAME), *versions, (NOW, "as of now")])

    def clean(self) -> None:
        super().clean()
        if self.errors:
            return
        form = AnalysisForm(self._given_before(), collection=self.collection)
        if form.is_valid():
            self.before = form.spec
            return
        for name, problems in form.errors.items():
            was = f"{THEN}{name}"
            self.add_error(was if was in self.fields else None, list(problems))

    @property
    def is_chosen(self) -> bool:
        """Return whether the address says what was different before."""
        return any(self.given.get(f"{THEN}{name}") for name in DIFFERENT)

    @property
    def chips_before(self) -> list[Chip]:
        """Return what was different before."""
        return [chip for chip in self.chips if chip.field.name.startswith(THEN)]

    @property
    def chips_after(self) -> list[Chip]:
        return [chip for chip in self.chips if not chip.field.name.startswith(THEN)]

    def _has_choice(self, name: str) -> bool:
        is_one = name.startswith(THEN) and len(getattr(self.fields[name], "choices", ())) == 2  # or the same
        return not is_one and super()._has_choice(name)

    def offers(self) -> list[tuple[str, str]]:
        """Return what a board is most often compared with: in words, and as an address."""
        bank = self.spec.bank
        if bank is None:
            return []
        versions = [] if self.spec.version else list(bank.versions.order_by("-number")[:OFFERED])
        others = [config for config in graders_of(bank) if config != self.spec.config][:OFFERED]
        offers = [
            *((f"Since {row}", "then_version", row.pk) for row in versions),
            *((f"By {row} before", "then_grader", row.pk) for row in others),
        ]
        address = self.address.urlencode()
        return [(label, f"{address}&{name}={pk}".lstrip("&")) for label, name, pk in offers]

    def _given_before(self) -> dict[str, str]:
        now = {name: value for name, value in self.given.items() if not name.startswith(THEN)}
        then = {name: self.given[f"{THEN}{name}"] for name in DIFFERENT if self.given.get(f"{THEN}{name}")}
        if "bank" in then:
            now.pop("version", None)  # a version belongs to its bank
        for name in [name for name in then if then[name] == USUAL.get(name)]:
            now.pop(name, None)
            del then[name]
        return {**now, **then}


@require_safe
def compare(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Answer with the page or its part, or with the file that the address names."""
    collection = access.collection_for(request.user, slug)
    if "tick" in request.GET:
        return redirect(f"{request.path}?{_of_ticked(request.GET)}")
    view = _view(request.GET)
    form = FORMS[view](request.GET, collection=collection)
    context: dict[str, object] = {"collection": collection, "form": form}
    context |= {"view": view, "query": _board_query(form)}
    if not form.graders:
        return page_or_part(request, PAGE, context, part=PART)
    if not form.is_valid():
        return form_response(request, PAGE, context, part=PART)
    context["is_step"] = bool(request.htmx) and request.htmx.trigger != "controls"
    content = _content(form, request)
    if isinstance(content, HttpResponseBase):
        return content
    return page_or_part(request, PAGE, {**context, **content}, part=PART)


FORMS: dict[str, type[AnalysisForm]] = {"": RunPairForm, "then": ThenForm, "context": ContextForm}
"""The form of each view by its name in addresses."""


def _view(address: QueryDict) -> str:
    view = address.get("view", "")
    return "then" if any(name.startswith(THEN) for name in address) else view if view in FORMS else ""


def _content(form: AnalysisForm, request: HtmxRequest) -> Context | HttpResponseBase:
    """Return what the view of this form shows; or a file."""
    address = request.GET
    if isinstance(form, ThenForm):
        return _then_and_now(form, address)
    if isinstance(form, ContextForm):
        content = context_of(form, request)
        is_file = address.get("file") and "sheet" in content
        return _tsv("context", content["sheet"]) if is_file else content
    return _pair(form, address)


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


def _pair(form: AnalysisForm, address: QueryDict) -> Context | HttpResponseBase:
    """Return what the page shows of two runs, or of one; or a file."""
    scored, a, b = scored_board(form.spec), form.cleaned_data["a"], form.cleaned_data["b"]
    if len(scored.run_tags) < (1 if a else 2):
        return {"has_too_few_runs": True}
    pair = pairs.Pair.of(scored, int(a) if a else None, int(b) if b else None)
    form.data = {**form.data, "a": str(pair.a_pk), "b": str(pair.b_pk or "")}
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


def _then_and_now(form: ThenForm, address: QueryDict) -> Context | HttpResponseBase:
    """Return what the page shows of one board then and now; or a file."""
    if not form.is_chosen:
        return {"offers": form.offers()}
    then = Then(scored_board(form.before), scored_board(form.spec))
    opened = then.opened(form.cleaned_data["run"], has_all="all" in address)
    if address.get("file") == "runs.svg" and then.rows:
        return download(then.dots_file(), name="runs.svg", content_type=SVG)
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
        "headline": headline(scored.top, n_topics),
        "resolution": resolution(scored.top, n_topics),
        "test_name": provenance.TESTS[ranks.test if ranks else scored.spec.test],
        "n_pairs": n_runs * (n_runs - 1) // 2 if ranks else 0,
        "level": f"{100 * ALPHA:g} %",
        "measure_name": provenance.measure_name(scored.spec),
    }


def _file(pair: pairs.Pair, name: str) -> HttpResponseBase:
    """Return the table as TSV, or a plot as SVG; any other name is that of the table."""
    stem = slugify(f"{pair.a_tag} {pair.b_tag}") or "runs"
    if name == "topics.svg":
        return download(pairs.bars_file(pair), name=f"{stem}-topics.svg", content_type=SVG)
    if name == "redrawn.svg" and pair.distribution:
        title = f"Mean difference of {pair.a_tag} and {pair.b_tag}, topics drawn again"
        plot = plots.distribution_file(title, pair.distribution)
        return download(plot, name=f"{stem}-redrawn.svg", content_type=SVG)
    return _tsv(stem, pair.sheet())


def _tsv(stem: str, sheet: PrintedTable) -> HttpResponseBase:
    text = "".join(f"{line}\n" for line in tsv_lines(sheet.data))
    return download(text, name=f"{stem}.tsv", content_type="text/tab-separated-values; charset=utf-8")
