"""One cell: its page, and people's ratings of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from grading.types import CONTRADICTS, MAX_RATING, MIN_RATING, ItemKind
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.models import Item
from rubricweb.campaigns.actions import undo_in_grid
from rubricweb.core.formatting import rating_words
from rubricweb.core.http import HtmxRequest, page_or_part, part_or_redirect
from rubricweb.corpus.models import Passage
from rubricweb.grades import human_ratings
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.human_models import AnswerVerdict, HumanGrade
from rubricweb.grades.human_ratings import (
    Cell,
    HumanGradeError,
    RatedMeanwhile,
    ShownRating,
    UnfitRating,
    latest,
    latest_by,
)
from rubricweb.grades.in_context import alone_of, config_on
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import GraderForm, Rater, raters
from rubricweb.grades.verification import verdicts_on
from rubricweb.grades.visibility import Hidden, hidden_of_cell
from rubricweb.review import access
from rubricweb.review.flags.views import subject_context
from rubricweb.review.grid import INSET, GridForm, address_kept, inset_frame
from rubricweb.review.models import Subject
from rubricweb.review.selectors.cell import cell_of_grid, cell_view


class CellForm(forms.Form):
    """The fields of every rating, verdict and undo."""

    seen = forms.IntegerField(min_value=0)
    """The number of the person's latest event for the cell, as the page had it."""
    revision = forms.IntegerField(min_value=1)
    """The wording that the page showed."""
    uid = forms.UUIDField(required=False)
    """Made in the page; a request sent twice is saved once."""

    @property
    def why(self) -> str:
        """Return the first error, in one line."""
        return " ".join(f"{name}: {error}" for name, errors in self.errors.items() for error in errors)


class RatingForm(CellForm):
    rating = forms.IntegerField(min_value=MIN_RATING, max_value=MAX_RATING)


class StanceForm(RatingForm):
    """A rating of an item of which a grader may say that a passage contradicts it."""

    rating = forms.IntegerField(min_value=CONTRADICTS, max_value=MAX_RATING)

    def clean_rating(self) -> int:
        rating: int = self.cleaned_data["rating"]
        if CONTRADICTS < rating < MIN_RATING:
            problem = f"{rating}, expected {MIN_RATING} to {MAX_RATING}, or {CONTRADICTS} for contradicts"
            raise forms.ValidationError(problem)
        return rating


class Reworded(HumanGradeError):
    """The item was reworded after the page was made."""

    def __init__(self) -> None:
        super().__init__("The item has been reworded: read it first.")


class NoText(HumanGradeError):
    """The item is known only by its id, from a file of grades."""

    def __init__(self) -> None:
        super().__init__("This item has no text yet: supply it before you rate it.")


@dataclass(frozen=True, slots=True)
class CellRatings:
    """People's ratings of one cell, for one reader."""

    mine: HumanGrade | AnswerVerdict | None
    """The reader's latest event; None without one, or when it was withdrawn."""
    seen: int
    others: tuple[HumanGrade | AnswerVerdict, ...]
    is_blind: bool
    """The graders' ratings are hidden from the reader too."""


@dataclass(frozen=True, slots=True)
class Saving:
    """The outcome of a rating or an undo that somebody sent."""

    rating: int | None
    """The rating; None for an undo."""
    event: HumanGrade | AnswerVerdict | None = None
    refusal: HumanGradeError | None = None

    @property
    def now(self) -> HumanGrade | AnswerVerdict | None:
        """Return the rating that the person gave in another window, on a conflict; else None."""
        return self.refusal.now if isinstance(self.refusal, RatedMeanwhile) else None

    @property
    def message(self) -> str:
        """Return one sentence about what was saved."""
        event = self.event
        if event is None or event.is_withdrawn or not event.verdict:
            return "Taken back."
        if isinstance(event, AnswerVerdict):
            return "Saved: the answer is right." if event.is_right else "Saved: the answer is wrong."
        saved = f"Saved: {rating_words(event.seen_rating)} is {event.verdict}"
        if event.verdict == HumanGrade.Verdict.WRONG and event.rating is not None:
            saved += f", {rating_words(event.rating)} would be right"
        return f"{saved}."

    @property
    def is_conflict(self) -> bool:
        return isinstance(self.refusal, RatedMeanwhile)


def cell_ratings(item: Item, passage: Passage, reader: User, rater: Rater) -> CellRatings:
    """Return people's ratings of the cell, or their verdicts on the answer that the rater verifies."""
    cell = Cell.of(item, passage)
    config = rater.by_kind.get(ItemKind(item.kind))
    events: list[HumanGrade] | list[AnswerVerdict]
    last: HumanGrade | AnswerVerdict | None
    if rater.verifies and config:
        events = verdicts_on(cell, config)
        last = next((event for event in events if event.by_id == reader.pk), None)
    else:
        events, last = latest(cell), latest_by(reader, cell)
    mine = last if last is not None and not last.is_withdrawn else None
    hidden = _hidden(reader, item, passage)
    others = (
        [] if hidden.ratings else [row for row in events if row.by_id != reader.pk and not row.is_withdrawn]
    )
    return CellRatings(mine, last.number if last else 0, tuple(others), is_blind=bool(hidden.graders))


def _hidden(reader: User, item: Item, passage: Passage) -> Hidden:
    """Return what is hidden of the cell; of a passage in context, what is hidden of it alone."""
    return hidden_of_cell(reader, item.topic, item.revision_id, alone_of(passage))


def displayed_rating(item: Item, passage: Passage, rater: Rater, source: RatingSource) -> ShownRating | None:
    """Return the grader's rating that a reader of `source` sees."""
    config = rater.by_kind.get(ItemKind(item.kind))
    if source is RatingSource.HUMANS or config is None:
        return None
    config = config_on(passage, config)
    grade = Grade.objects.by(config).filter(revision=item.revision_id, passage=passage).first()
    return ShownRating(config, grade.rating) if grade is not None else None


Place = tuple[Item, Passage]
STATUS = {type(None): 200, RatedMeanwhile: 409, Reworded: 409, UnfitRating: 422, NoText: 422}


@require_safe
def cell(request: HtmxRequest, bank_id: int, topic_id: int, passage_id: int, item_id: int) -> HttpResponse:
    """Show a passage and an item: the answer, the prompt, the reply, other graders, the runs."""
    place = access.cell_for(request.user, (bank_id, topic_id), (passage_id, item_id), request.GET)
    return page_or_part(request, INSET, _context(request, place), part="panel")


@require_POST
def rate(request: HtmxRequest, bank_id: int, topic_id: int, passage_id: int, item_id: int) -> HttpResponse:
    """Save the user's rating unless they rated the cell elsewhere since the page was made."""
    place = _to_assess(request, (bank_id, topic_id), (passage_id, item_id))
    item, passage = place
    rater = GraderForm(request.GET).offer(raters(item.bank))
    form = (StanceForm if rater.knows_contradiction else RatingForm)(request.POST)
    if not form.is_valid():
        return _respond(request, place, Saving(None, refusal=UnfitRating(form.why)))
    is_blind = _hidden(request.user, item, passage).graders
    before = None if is_blind else displayed_rating(item, passage, rater, _source(request))
    return _save(request, place, form, partial(human_ratings.rate_cell, displayed=before))


@require_POST
def undo(request: HtmxRequest, bank_id: int, topic_id: int, passage_id: int, item_id: int) -> HttpResponse:
    """Withdraw the user's latest rating of the cell."""
    place = _to_assess(request, (bank_id, topic_id), (passage_id, item_id))
    form = CellForm(request.POST)
    if not form.is_valid():
        return _respond(request, place, Saving(None, refusal=UnfitRating(form.why)))
    return _save(request, place, form, undo_in_grid)


def _to_assess(request: HtmxRequest, where: tuple[int, int], cell: tuple[int, int]) -> Place:
    return access.cell_for(request.user, where, cell, request.GET, needed=roles.TO_RATE)


def _save(
    request: HtmxRequest, place: Place, form: CellForm, change: Callable[..., HumanGrade]
) -> HttpResponse:
    cleaned = dict(form.cleaned_data)
    rating = cleaned.get("rating")
    try:
        if cleaned.pop("revision") != place[0].revision_id:
            raise Reworded
        if not place[0].revision.text:
            raise NoText
        return _respond(request, place, Saving(rating, change(Cell.of(*place), **cleaned, by=request.user)))
    except HumanGradeError as refusal:
        return _respond(request, place, Saving(rating, refusal=refusal))


def _respond(request: HtmxRequest, place: Place, saving: Saving) -> HttpResponse:
    """Render the cell for a grid, the panel for the panel; redirect a plain browser to the cell's page."""
    item, passage = place
    to = reverse("review:cell", args=[item.bank_id, item.topic_id, passage.pk, item.pk])
    if not request.htmx:
        if saving.refusal:
            messages.error(request, str(saving.refusal))
        return part_or_redirect(request, "", {}, to=to + address_kept(request)["suffix"])
    context = _context(request, place) | {"saving": saving}
    template = f"{INSET}#panel"
    if request.POST.get("part") == "cell":
        form = GridForm(request.GET)
        rater = form.offer(raters(item.bank))
        form.offer_versions(item.bank)
        query = form.query(at=(passage.pk, item.pk))
        cell = cell_of_grid(item.bank, item.topic, rater, query, request.user)
        template, context = "review/_saved.html", {**address_kept(request), "saving": saving, "cell": cell}
    return render(request, template, context, status=STATUS[type(saving.refusal)])


def _source(request: HtmxRequest) -> RatingSource:
    source = request.GET.get("source", "")
    return RatingSource(source) if source in set(RatingSource) else RatingSource.GRADER


def _context(request: HtmxRequest, place: Place) -> dict[str, object]:
    item, passage = place
    rater = GraderForm(request.GET).offer(raters(item.bank))
    cell = cell_view(item, passage, rater)
    own_and_others = cell_ratings(item, passage, request.user, rater)
    return {
        **inset_frame(request, item.bank, item.topic),
        **subject_context(request, Subject(item.bank, item.topic, item, passage)),
        "inset": passage.doc_id,
        "rater": rater,
        "cell": cell.blinded() if own_and_others.is_blind else cell,
        "ratings": own_and_others,
    }
