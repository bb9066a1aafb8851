"""The screen of a published board, and the form that publishes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import quote_etag
from django.views.decorators.http import require_POST, require_safe

from grading.formats.tables import Value, from_mappings, tex, tsv_lines
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.core.formatting import counted
from rubricweb.core.http import HtmxRequest, download
from rubricweb.core.tags import percent
from rubricweb.corpus import access
from rubricweb.corpus.models import Collection
from rubricweb.leaderboards import actions
from rubricweb.leaderboards.actions import Document, left_out, row_of
from rubricweb.leaderboards.board import BoardError, BoardRow
from rubricweb.leaderboards.board.columns import COLUMNS, BoardCell, Column, Further, Place, at
from rubricweb.leaderboards.models import PublicBoard
from rubricweb.leaderboards.plots import Dot, DotAxis, Spread, bands, dot_axis
from rubricweb.plots.cells import mean_of, shade, topic_groups

SORTS = ("", "score", "run")
"""By rank, the lowest score first, by name."""
CACHED_SECONDS = 60


class PublishForm(forms.Form):
    title = forms.CharField(
        max_length=120,
        help_text="Anybody with the link reads the board, and participants find it under Results.",
    )
    kind = forms.ChoiceField(
        label="The link shows",
        choices=[
            ("live", "the current board, whenever it is read"),
            ("frozen", "the board as it is now, unchanged for ever"),
        ],
        initial="live",
        required=False,
        help_text="Cite a frozen board in a paper: edits, imports and withdrawn runs do not change it.",
    )
    is_anonymous = forms.BooleanField(
        required=False,
        label="Hide the names of runs",
        help_text="Each run gets a pseudonym that stays the same.",
    )

    def publish(self, collection: Collection, *, query: str, by: User) -> PublicBoard | None:
        """Publish the board of `query` as a valid form says; where it is refused the form has the reason."""
        is_frozen = self.cleaned_data.pop("kind") == "frozen"
        action = actions.freeze_board if is_frozen else actions.publish_board
        try:
            return action(collection, query=query, by=by, **self.cleaned_data)
        except BoardError as error:
            self.add_error(None, str(error))
            return None


@dataclass(frozen=True, slots=True)
class PublicLine:
    row: BoardRow
    dot: Dot | None
    band: str
    band_rows: int
    numbers: list[BoardCell]
    """The cells of the columns that the page has."""
    topics: list[tuple[str, float | None, int | None]]
    """The name, the score and its shade of each topic, or of neighbouring ones."""


def page_context(public: PublicBoard, document: Document, address: str, sort: str) -> dict[str, object]:
    """Return the context of the page; `address` is its own, for those who cite it."""
    spreads = [spread for row in document["rows"] if (spread := _spread(row_of(row)))]
    axis = dot_axis(spreads)
    columns = at(_columns(document), Place.PUBLIC)
    made = date.fromisoformat(document["made"]) if "made" in document else public.at.date()
    return {
        "public": public,
        "board": document,
        "axis": axis,
        "lines": _lines(document, columns, axis, sort),
        "columns": columns,
        "topics": [name for name, _ in topic_groups(document.get("topics", []))],
        "sort": sort,
        "made": made,
        "facts": _facts(public, document),
        "left_out": left_out(document),
        "address": address,
        "bibtex": _bibtex(public, document, address, made),
    }


def _facts(public: PublicBoard, document: Document) -> str:
    """Return how much the board is made of and who graded it, in words."""
    runs = f"{counted(len(document['rows']), 'run')}{' with pseudonyms' if public.is_anonymous else ''}"
    if "graded_by" not in document:
        return runs
    checked, cells = document["checked"]
    by_people = f"; {percent(checked / cells)} checked by people" if cells else ""
    size = f"{counted(document['n_topics'], 'topic')}, {document['n_items']} questions and nuggets"
    return f"{runs}, {size} · {document['graded_by']}{by_people}"


def file_lines(document: Document) -> list[str]:
    """Return the board as tab-separated values: what it stands on in comments, then a run a line."""
    topics, columns = document.get("topics", []), at(_columns(document), Place.PUBLIC_FILE, ("run_tag",))
    rows: list[dict[str, Value]] = []
    for row in map(row_of, document["rows"]):
        of_topics = zip(topics, row.by_topic, strict=True)
        values = {column.name: column.value(row) for column in columns}
        rows.append(values | {f"topic {topic}": score for topic, score in of_topics})
    stated = [("verdict", document["headline"])] if document["headline"] else []
    return tsv_lines(
        from_mappings(rows, [*stated, *((entry["name"], entry["value"]) for entry in document["statements"])])
    )


def _columns(document: Document) -> list[Column]:
    """Return the columns of the page and its file, with the further measures of the document."""
    further = [
        Further(
            head["label"],
            Place.PUBLIC | Place.PUBLIC_FILE,
            label=head["label"],
            note=head["note"],
            place=place,
        )
        for place, head in enumerate(document["heads"])
    ]
    judged = f"judged@{document['judged_at']}"
    named = [replace(column, label=judged) if column.name == "judged" else column for column in COLUMNS]
    return [*named, *further]


def _lines(
    document: Document, columns: Sequence[Column], axis: DotAxis | None, sort: str
) -> list[PublicLine]:
    rows = [row_of(row) for row in document["rows"]]
    if sort == "run":
        rows = sorted(rows, key=lambda row: row.run_tag)
    elif sort == "score":
        scored = [row for row in rows if row.score is not None]
        rows = [*scored[::-1], *(row for row in rows if row.score is None)]
    elif any(row.is_behind for row in rows):
        rows = sorted(rows, key=lambda row: (row.is_behind is None, row.is_behind))
    groups = topic_groups(document.get("topics", []))
    highest = max([1.0, *(score for row in rows for score in row.by_topic if score is not None)])
    return [
        PublicLine(
            row,
            axis.dot(spread) if axis and (spread := _spread(row)) else None,
            *band,
            [column.cell(row) for column in columns],
            [
                (name, score, None if score is None else shade(score / highest))
                for name, score in ((name, mean_of(row.by_topic[places])) for name, places in groups)
            ],
        )
        for row, band in zip(rows, bands([row.is_behind for row in rows]), strict=True)
    ]


def _spread(row: BoardRow) -> Spread | None:
    return None if row.score is None else Spread(row.score, row.low, row.high)


def _bibtex(public: PublicBoard, document: Document, address: str, made: date) -> str:
    kind = "frozen" if public.is_frozen else "as of"
    fields = {
        "title": f"{{{tex(public.title)}}}",
        "author": f"{{{tex(document.get('collection', 'RubricWeb'))}}}",
        "year": str(made.year),
        "howpublished": rf"\url{{{address}}}",
        "note": f"Leaderboard, {kind} {made.isoformat()}",
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@misc{{leaderboard-{public.token[:8]},\n{lines}}}"


@login_not_required
@require_safe
def public(request: HttpRequest, token: str) -> HttpResponseBase:
    """Show the board, read only.

    A wrong, closed or broken link is not found, and none says which.
    """
    link, page = _published_page(token)
    sort = request.GET.get("sort", "")
    sort = sort if sort in SORTS else ""
    etag = quote_etag(f"{page.digest}-{link.pk}-{int(link.is_anonymous)}-{sort}")
    response = get_conditional_response(request, etag=etag)
    if response is None:
        # Without the request: nothing of the page depends on who reads it.
        address = request.build_absolute_uri(link.get_absolute_url())
        context = page_context(link, page.document, address, sort)
        response = HttpResponse(render_to_string("leaderboards/public.html", context))
    response["ETag"] = etag
    return _cached(request, response)


@login_not_required
@require_safe
def public_file(request: HttpRequest, token: str) -> HttpResponseBase:
    """Download the published board as tab-separated values."""
    _, page = _published_page(token)
    text = "\n".join([*file_lines(page.document), ""])
    tsv = "text/tab-separated-values; charset=utf-8"
    return _cached(request, download(text, name="leaderboard.tsv", content_type=tsv))


def _published_page(token: str) -> tuple[PublicBoard, actions.PublicPage]:
    open_boards = PublicBoard.objects.filter(token=token, closed_at=None)
    link = open_boards.select_related("collection").first()
    page = actions.page_of(link) if link else None
    if link is None or page is None:
        raise Http404("No such board.")
    return link, page


def _cached(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    response["X-Robots-Tag"] = "noindex, nofollow"
    patch_cache_control(response, public=True, max_age=CACHED_SECONDS)
    request.session.accessed = False  # only to see that nobody must sign in: caches may share the page
    return response


@require_POST
def close(request: HtmxRequest, slug: str, board_id: int) -> HttpResponse:
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    board = get_object_or_404(collection.public_boards, pk=board_id)
    actions.close_board(board, by=request.user)
    messages.success(request, f"{board} is closed. Its link no longer works.")
    return redirect("releases:share", slug)
