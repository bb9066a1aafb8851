"""Everything that leaves a collection, on one page: files, public boards, releases; and one release."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import FileResponse, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.compiled import compiled_once
from rubricweb.core.http import Context, HtmxRequest, download, page_or_part, shows_a_secret
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.exports.assignments import assessed_banks
from rubricweb.exports.boards import qrels_name, qrels_summary
from rubricweb.exports.events import FlagsExportForm
from rubricweb.exports.files import ONE_WAY
from rubricweb.grades import visibility
from rubricweb.grades.selectors import all_banks
from rubricweb.home.checklist import checklist_of
from rubricweb.leaderboards.actions import new_board
from rubricweb.leaderboards.board import files
from rubricweb.leaderboards.board_page import query_of, refused
from rubricweb.leaderboards.forms import BoardForm, LabelForm
from rubricweb.leaderboards.models import PublicBoard
from rubricweb.leaderboards.public import PublishForm
from rubricweb.releases import access, actions, readme
from rubricweb.releases.bundle import PARTS
from rubricweb.releases.models import Release
from rubricweb.releases.parts import Names, ReleaseOptions, ReleasePart, contents_of

PAGE = "releases/share.html"
FORM, CONTENTS = "make-release", "contents"
"""Ids of the parts that are fetched once they are opened: the form of a release, and what that contains."""
SHOWN_LOSSES = 500
"""How many the page lists; the text file has all."""


class ReleaseForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic when it runs
    class Meta:
        model = Release
        fields = ("title", "license", "citation", "contact", "has_runs", "is_anonymous", "freezes_boards")
        labels = {
            "license": "Licence of the data",
            "citation": "How to cite it",
            "has_runs": "Include the rankings and responses of the runs",
            "is_anonymous": "Replace the names of runs and teams by pseudonyms",
            "freezes_boards": "Publish its boards, frozen",
        }
        help_texts = {
            "license": "For example CC BY 4.0, as far as the sources of the passages allow.",
            "contact": "An email address or a web page.",
            "is_anonymous": "You can download the list of names; the release does not contain it.",
            "freezes_boards": "Each board gets a public link, and its numbers never change.",
        }
        widgets = {"citation": forms.Textarea(attrs={"rows": 2})}


@shows_a_secret
@require_http_methods(["GET", "HEAD", "POST"])
def share(request: HtmxRequest, slug: str) -> HttpResponse:
    """Offer the files, and to organizers public boards and releases; POST makes one of these.

    The address is that of a board: what is chosen there is what is downloaded and published here. The field
    `make` of a POST names the form that it comes from; that of an address, the form that is open.
    """
    is_post = request.method == "POST"
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE if is_post else roles.TO_VIEW)
    return _opened_part(request, collection) or share_page(request, collection)


def _opened_part(request: HtmxRequest, collection: Collection) -> HttpResponse | None:
    """Return the part that an organizer opened; None for the page."""
    part = request.htmx.target
    if part not in (FORM, CONTENTS) or not roles.holds(request.user, collection, roles.TO_ORGANIZE):
        return None
    more = _new_release(request, collection) if part == FORM else {"preview": preview(collection)}
    return page_or_part(request, PAGE, {"collection": collection, **more}, part=part)


def share_page(request: HtmxRequest, collection: Collection, opened: Context | None = None) -> HttpResponse:
    """Return the page, with a release open below its row where the context of one is given."""
    is_post = request.method == "POST"
    visibility.count_ratings(collection.pk)  # the page says what its files lack
    form = BoardForm(request.GET, collection=collection)
    labels = LabelForm(request.GET, collection=collection, auto_id="qrels_%s")
    is_valid = bool(form.graders) and form.is_valid() and labels.is_valid()
    context: dict[str, object] = {
        "collection": collection,
        "form": form,
        "labels": labels,
        "is_valid": is_valid,
        "flags_form": FlagsExportForm(auto_id="flags_%s"),
        "one_way": ONE_WAY,
        "banks": all_banks(collection),
        "assessed": assessed_banks(collection),
    }
    context |= _files(collection, form, labels) if is_valid else {}
    if roles.holds(request.user, collection, roles.TO_ORGANIZE):
        more = _for_organizers(request, collection, form, is_valid)
        if isinstance(more, HttpResponse):
            return more
        context |= more
    response = page_or_part(request, PAGE, context | dict(opened or {}), part="share")
    is_refused = bool(form.graders) and not is_valid
    response.status_code = 422 if is_post or is_refused else 200
    return refused(response) if is_refused else response


def _for_organizers(
    request: HtmxRequest, collection: Collection, form: BoardForm, is_valid: bool
) -> HttpResponse | dict[str, object]:
    """Return the forms of a public board and of a release; the answer, where one of them was made."""
    board = PublishForm(
        _submitted(request, "board"), initial={"title": f"Leaderboard of {collection}"}, auto_id="publish_%s"
    )
    refusal = refusal_of(collection)
    release = _release_form(_submitted(request, "release"), collection)
    if release.is_bound and release.is_valid() and not refusal:
        return redirect(actions.start_release(release.save(commit=False), by=request.user))
    if board.is_bound and is_valid and board.is_valid():
        made = board.publish(collection, query=query_of(form), by=request.user)
        if made:
            frozen = " and frozen" if made.is_frozen else ""
            messages.success(request, f"Published{frozen}. Anybody with the link can read it.")
            address = request.GET.copy()
            address["new"] = str(made.pk)
            return redirect(f"{request.path}?{address.urlencode()}")
    context: dict[str, object] = {"publish_form": board, "refusal": refusal}
    if release.is_bound or request.GET.get("make") == "release":
        context |= _new_release(request, collection) | {"release_form": release}
    with visibility.reading_for_everybody():
        context |= {"withheld": visibility.hidden_count(collection.pk)}
    context |= {"published": _published(collection.pk), "releases": releases(collection)}
    if new := new_board(collection, request.GET.get("new", "")):
        context |= {"new": new, "new_link": request.build_absolute_uri(new.get_absolute_url())}
    return context


def _new_release(request: HtmxRequest, collection: Collection) -> dict[str, object]:
    """Return an empty form, the steps before a release, and what it contains where somebody opened that."""
    return {
        "release_form": _release_form(None, collection),
        "checklist": checklist_of(collection),
        "preview": preview(collection) if CONTENTS in request.GET else None,
    }


def _release_form(submitted: QueryDict | None, collection: Collection) -> ReleaseForm:
    return ReleaseForm(submitted, instance=Release(collection=collection, title=collection.name))


def _submitted(request: HtmxRequest, make: str) -> QueryDict | None:
    return request.POST if request.POST.get("make") == make else None


def _files(collection: Collection, form: BoardForm, labels: LabelForm) -> dict[str, object]:
    return {
        "query": query_of(form),
        "labels_query": query_of(labels),
        "summary": qrels_summary(labels.spec),
        "file_name": qrels_name(labels.spec),
        "shown": SHOWN_LOSSES,
        "of_runs": files.OF_RUNS,
        "of_topics": files.OF_TOPICS,
        "board_losses": files.LOSSES,
    }


@shows_a_secret
@require_safe
def release(request: HtmxRequest, slug: str, release_id: int) -> HttpResponse:
    """Show a release open below its row, in any state; while a worker writes it, it asks for itself alone."""
    row = access.release_for(request.user, slug, release_id)
    context = {"opened": row, "parts": parts_of(row), "total": len(PARTS), "boards": row.boards.all()}
    if request.htmx.target == "release":
        return page_or_part(request, PAGE, context | {"collection": row.collection}, part="release")
    return share_page(request, row.collection, context)


@require_safe
def release_file(request: HtmxRequest, slug: str, release_id: int) -> HttpResponseBase:
    row = access.release_for(request.user, slug, release_id)
    if not row.sha256 or not row.path.is_file():
        messages.error(request, "The zip file is not on this server. Make the release again.")
        return redirect(row)
    return FileResponse(row.path.open("rb"), as_attachment=True, filename=row.file_name)


@require_safe
def release_names(request: HtmxRequest, slug: str, release_id: int) -> HttpResponseBase:
    """Download which made-up name is whose."""
    row = access.release_for(request.user, slug, release_id)
    lines = Names(**row.names).lines()
    text = "".join(f"{line}\n" for line in lines)
    return download(text, name=f"{slug}-names.tsv", content_type="text/tab-separated-values")


@require_POST
def delete(request: HtmxRequest, slug: str, release_id: int) -> HttpResponse:
    row = access.release_for(request.user, slug, release_id)
    if row.is_live:
        messages.error(request, "This release is still being made. Delete it once it is finished.")
        return redirect(row)
    actions.delete_release(row, by=request.user)
    messages.success(request, f"The release {row} is deleted. Its frozen boards stay.")
    return redirect("releases:share", slug)


@dataclass(frozen=True, slots=True)
class PreviewRow:
    part: ReleasePart
    size: str


@dataclass(frozen=True, slots=True)
class Preview:
    """A release before it is made: its parts with sizes, and what is left out."""

    rows: list[PreviewRow]
    left_out: list[readme.Remark]


@dataclass(frozen=True, slots=True)
class PartFiles:
    """A part of a release that was made."""

    title: str
    files: list[dict[str, object]]
    size: int
    """Bytes."""


def refusal_of(collection: Collection) -> str:
    """Return why no release can be made now; empty if one can."""
    with Names().reading():
        try:
            visibility.refuse_sums(collection)
        except visibility.Refused as error:
            return str(error)
    return ""


def preview(collection: Collection) -> Preview:
    """Preview a release with the runs, so that their number shows before the form takes them."""
    contents = contents_of(collection, ReleaseOptions(has_runs=True))
    with contents.names.reading():
        return Preview([PreviewRow(part, part.size(contents)) for part in PARTS], readme.left_out(contents))


def releases(collection: Collection) -> list[Release]:
    """Return the newest first, without the lists of their files."""
    rows = _releases(collection.pk)
    for row in rows:
        row.collection = collection
    return rows


@compiled_once
def _releases(collection: int) -> QuerySet[Release, Release]:
    rows = Release.objects.filter(collection=collection).select_related("by")
    return rows.defer("files", "names", "left_out")


@compiled_once
def _published(collection: int) -> QuerySet[PublicBoard, PublicBoard]:
    return PublicBoard.objects.filter(collection=collection)


def parts_of(release: Release) -> list[PartFiles]:
    titles = {part.name: part.title for part in PARTS}
    order = list(titles)
    files = sorted(release.files, key=lambda file: (order.index(file["part"]), file["name"]))
    return [
        PartFiles(titles[name], rows, sum(row["size"] for row in rows))
        for name, listed in groupby(files, key=lambda file: file["part"])
        if (rows := list(listed))
    ]
