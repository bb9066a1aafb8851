"""The problems of a bank: the list, the one that is open, and what people do about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import push_url

from grading.types import ItemKind
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks import actions, selectors
from rubricweb.banks.access import bank_topic_for_editor, item_for_editor
from rubricweb.banks.changes import BankError, EditConflict
from rubricweb.banks.models import Bank, Item
from rubricweb.core.compiled import compiled_once
from rubricweb.core.http import (
    Context,
    HtmxRequest,
    form_response,
    offer_undo_on_page,
    page_or_part,
    parse_id,
)
from rubricweb.corpus import access, duplicates
from rubricweb.corpus.models import Collection, Topic
from rubricweb.editor import items
from rubricweb.editor.forms import SeenForm, wording_form
from rubricweb.grades.raters import raters
from rubricweb.grades.selectors import banks
from rubricweb.review.flags import actions as flags
from rubricweb.review.models import Flag, Subject as FlagSubject
from rubricweb.review.problems import copies, count_hidden, evidence, listing, opened
from rubricweb.review.problems.listing import FLAG_KINDS, ListedProblem, ProblemKind, reason_of_pair
from rubricweb.review.problems.opened import (
    KINDS,
    APair,
    APassage,
    ProblemSearchForm,
    ProblemsForm,
    SetAsideForm,
    SpansForm,
    Subject,
    draft_form,
    named_item,
    rewording,
)

PAGE = "review/problems/problems.html"
PAGE_ROWS = 50


@require_http_methods(["GET", "HEAD", "POST"])
def problems(request: HtmxRequest, slug: str) -> HttpResponse:
    """List the problems, and open the one in `?problem=`; POST solves one, or undoes that."""
    collection = access.collection_for(request.user, slug)
    form = ProblemsForm(request.GET, banks(collection))
    if request.method == "POST":
        return _ended(request, form.offered_bank())
    if form.chosen_bank is None:
        context = {"collection": collection, "form": form, "bank": None}
        return page_or_part(request, PAGE, context, part="problems")
    target = (request.htmx.target or "") if request.htmx else ""
    part = {"problem-list": "list", "problem": "opened", "nearest": "nearest"}.get(target, "problems")
    return page_or_part(request, PAGE, _context(request.user, collection, request.GET), part=part)


def _context(
    user: User, collection: Collection, address: QueryDict, typed: QueryDict | None = None
) -> dict[str, object]:
    """Return the list by the parameters of `address`, and the opened problem; `typed` has its spans."""
    form = ProblemsForm(address, banks(collection))
    bank = form.offered_bank()
    rater = form.offer(raters(bank))
    form.offer_bank(bank, _topics(collection.pk))
    topics = evidence(bank, rater, form.query, user, form.topic_id)
    search = duplicates.latest_search(collection)
    groups = copies.pooled_groups(collection, search, bank, rater) if search else []
    if form.topic_id:
        groups = [group for group in groups if group.topic.topic_id == form.topic_id]
    listed = listing.problems(bank, topics, rater, form.query, groups)
    offered = listed.set_aside if address.get("aside") else listed.listed
    kept = [problem for problem in offered if form.kind in (None, problem.kind)]
    key = address.get("problem", "") or (kept[0].key if kept else "")
    place = next((n for n, problem in enumerate(kept) if problem.key == key), None)
    number = form.value("page", 1 if place is None else place // PAGE_ROWS + 1)
    page = Paginator(kept, PAGE_ROWS).get_page(number)
    context: dict[str, object] = {
        "collection": collection,
        "bank": bank,
        "form": form,
        "rater": rater,
        "query": form.query,
        "problems": listed,
        "hidden": count_hidden(topics),
        "page": page,
        "rows": (rows := listing.rows(bank, page, listed.decided)),
        "most": max((problem.effect.change for problem in kept if problem.effect), default=0.0),
        "kinds": [(kind, KINDS[kind], count) for kind, count in listed.counts().items()],
        "key": key,
        "is_chosen": "problem" in address,
        "number": None if place is None else place + 1,
        **_neighbours(kept, place),
        "search": search,
        "attempt": collection.duplicate_searches.order_by("-pk").first(),
        "search_form": ProblemSearchForm(),
        "groups": copies.totals(groups),
        "reason": SetAsideForm(),
    }
    if key:
        context["decision"] = next((row.decision for row in rows if row.problem.key == key), None)
        subject = opened.subject_of(user, bank, key)
        if isinstance(subject, APassage) and subject.kind is ProblemKind.COPIES:
            context |= opened.group_of(bank, groups, subject)
        else:
            context |= opened.opened(subject, topics, rater, form.query)
            context |= _nearest(context, typed or address)
    return context


@compiled_once
def _topics(collection: int) -> QuerySet[Topic]:
    return Topic.objects.filter(collection=collection)


def _neighbours(kept: list[ListedProblem], place: int | None) -> Context:
    if place is None:
        return {"previous": "", "next": kept[0].key if kept else ""}
    before = kept[place - 1].key if place else ""
    return {"previous": before, "next": kept[place + 1].key if place + 1 < len(kept) else before}


def _nearest(context: Mapping[str, Any], typed: QueryDict) -> Context:
    """Return the items closest to the words that are marked in a passage; or why they cannot be read."""
    passage, topic = context.get("passage"), context["topic"]
    if passage is None:
        return {}
    form = SpansForm(passage, typed)
    if not form.is_valid():
        return {"problem": " ".join(map(str, form.errors["spans"]))}
    spans = form.cleaned_data["spans"].spans
    text = " ".join(spans) or passage.text
    near = opened.closest(context["bank"], topic, passage, text, context["rater"])
    return {"spans": spans, "near": near}


def _ended(request: HtmxRequest, bank: Bank) -> HttpResponse:
    """Do what the form asks, and open the next problem; what is refused stays open and says why."""
    key, address = request.POST.get("problem", ""), request.GET.copy()
    subject = opened.subject_of(request.user, bank, key)
    place = reverse("review:problems", args=[bank.collection.slug])
    address["problem"] = key
    refusal = Solution(request, bank, subject, undo_at=f"{place}?{address.urlencode()}").do()
    if refusal is not None:
        context = _context(request.user, bank.collection, address, request.POST)
        context |= refusal.context
        return form_response(request, PAGE, context, part="opened", status=refusal.status)
    if upcoming := request.POST.get("next", ""):
        address["problem"] = upcoming
    else:
        del address["problem"]
    to = f"{place}?{address.urlencode()}" if address else place
    if not request.htmx:
        return redirect(to)
    context = _context(request.user, bank.collection, address) | {"is_ended": True}
    response = page_or_part(request, PAGE, context, part="problems")
    return items.items_changed(push_url(response, to))


@require_POST
def search(request: HtmxRequest, slug: str) -> HttpResponse:
    """Have a worker look for near-duplicate passages."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = ProblemSearchForm(request.POST)
    if form.is_valid():
        duplicates.start_search(collection, threshold=form.cleaned_data["threshold"], by=request.user)
        return redirect(
            f"{reverse('review:problems', args=[slug])}?{urlencode({'kind': ProblemKind.COPIES})}"
        )
    context = _context(request.user, collection, QueryDict(f"kind={ProblemKind.COPIES}")) | {
        "search_form": form
    }
    return form_response(request, PAGE, context, part="problems", status=422)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was done, as the opened problem shows it."""

    context: Context
    status: int = 422


UNFIT = Refusal({"refusal": "Say what to do with it."})
UNSEEN = Refusal({"refusal": "Say which version of the item you saw."})


@dataclass(frozen=True, slots=True)
class Solution:
    """What somebody does to solve an opened problem; `undo_at` is the page that takes it back."""

    request: HtmxRequest
    bank: Bank
    subject: Subject
    undo_at: str

    def do(self) -> Refusal | None:
        """Do what the form's button says; return why not, or None."""
        name = "rewording" if "rewording" in self.request.POST else self.request.POST.get("deed", "")
        return DEEDS[name](self) if name in DEEDS else UNFIT

    def editable(self) -> Item:
        """Return the item to change: the subject's, or the one that the form of a passage names."""
        named = self.request.POST.get("item")
        pk = parse_id(named) if isinstance(self.subject, APassage) else self.subject.item.pk
        return item_for_editor(self.request.user, self.bank.pk, pk)

    def require_editor(self) -> None:
        bank_topic_for_editor(self.request.user, self.bank.pk, self.subject.topic.pk)

    def about(self) -> FlagSubject:
        """Return what a flag about the problem is about."""
        if isinstance(self.subject, APassage):
            return FlagSubject(self.bank, self.subject.topic, passage=self.subject.passage)
        return FlagSubject(self.bank, self.subject.topic, item=self.subject.item)

    def offer_undo(self, message: str, **fields: object) -> None:
        problem = self.request.POST["problem"]
        offer_undo_on_page(self.request, message, self.undo_at, problem=problem, **fields)

    def reword(self) -> Refusal | None:
        item = self.editable()
        form = wording_form(item, posted=self.request.POST)
        if not form.is_valid():
            return Refusal({"item_form": form})
        mine, before = form.cleaned_data["text"], item.revision.text
        try:
            actions.revise_item(item, text=mine, seen=form.cleaned_data["seen"], by=self.request.user)
        except EditConflict as conflict:
            both = {
                "item_form": wording_form(conflict.item, text=mine),
                "mine": mine,
                "item": conflict.item,
            }
            return Refusal(both | {"theirs": selectors.last_change(item)}, 409)
        except BankError as refusal:
            form.add_error("text", str(refusal))
            return Refusal({"item_form": form})
        self.offer_undo(f"{_kind(item)} reworded.", deed="reword", seen=item.version, text=before)
        return None

    def retire(self) -> Refusal | None:
        return self._decided(actions.retire_item, "retired", undo="restore")

    def restore(self) -> Refusal | None:
        return self._decided(actions.restore_item, "restored", undo="retire")

    def _decided(self, change: Callable[..., Item], verb: str, *, undo: str) -> Refusal | None:
        item = self.editable()
        form = SeenForm(self.request.POST)
        if not form.is_valid():
            return UNSEEN
        try:
            change(item, seen=form.cleaned_data["seen"], by=self.request.user)
        except EditConflict as conflict:
            changed = {
                "refusal": conflict,
                "changed": selectors.last_change(conflict.item),
                "item": conflict.item,
            }
            return Refusal(changed, 409)
        except BankError as refusal:
            return Refusal({"refusal": refusal})
        self.offer_undo(f"{_kind(item)} {verb}.", deed=undo, seen=item.version)
        return None

    def merge(self) -> Refusal | None:
        """Retire the second of a pair as the first one's duplicate."""
        roles.require(self.request.user, self.bank.collection, roles.TO_EDIT_BANK)
        if not isinstance(self.subject, APair):
            return UNFIT
        keep, duplicate, form = self.subject.keep, self.subject.item, SeenForm(self.request.POST)
        if not form.is_valid():
            return UNSEEN
        try:
            actions.merge_items(keep, duplicate, seen=form.cleaned_data["seen"], by=self.request.user)
        except BankError as refusal:
            return Refusal({"refusal": refusal}, 409 if isinstance(refusal, EditConflict) else 422)
        self.offer_undo("Merged: the second is retired.", deed="restore", seen=duplicate.version)
        return None

    def add(self) -> Refusal | None:
        """Add the item that is written from a passage, or reword one."""
        self.require_editor()
        if not isinstance(self.subject, APassage):
            return UNFIT
        topic, passage = self.subject.topic, self.subject.passage
        form = draft_form(topic, passage, data=self.request.POST)
        rewords = named_item(self.bank, topic, form["item"].value())
        if not form.is_valid():
            return Refusal({"item_form": form, "rewords": rewords})
        cleaned = form.cleaned_data
        change = {"text": cleaned["text"], "origin": cleaned["spans"], "by": self.request.user}
        try:
            if not cleaned["item"]:
                kind = ItemKind(cleaned["kind"])
                item = actions.add_item(self.bank, topic, kind=kind, facet_id=cleaned["facet_id"], **change)
                self.offer_undo(f"{_kind(item)} added.", deed="retire", item=item.pk, seen=item.version)
                return None
            if rewords is None:
                raise BankError("That item has been retired. Write a new one, or choose another.")
            before = rewords.revision.text
            actions.revise_item(rewords, seen=cleaned["seen"] or 0, **change)
        except EditConflict as conflict:
            return self._reworded_meanwhile(self.subject, conflict.item, cleaned["text"])
        except BankError as refusal:
            form.add_error("text", str(refusal))
            return Refusal({"item_form": form, "rewords": rewords})
        fields = {"item": rewords.pk, "seen": rewords.version, "text": before}
        self.offer_undo(f"{_kind(rewords)} reworded.", deed="reword", **fields)
        return None

    def _reworded_meanwhile(self, subject: APassage, item: Item, text: str) -> Refusal:
        """Return the form again with both wordings: the item's present one, and the refused `text`."""
        initial = rewording(item, self.request.POST.get("spans", ""), mine=text)
        form = draft_form(subject.topic, subject.passage, initial=initial)
        both = {"theirs": selectors.last_change(item), "mine": text, "item": item}
        return Refusal(both | {"item_form": form, "rewords": item}, 409)

    def rewording(self) -> Refusal | None:
        """Take an item of the topic into the form, or go back to a new one; nothing is saved."""
        self.require_editor()
        if not isinstance(self.subject, APassage):
            return UNFIT
        typed, passage = self.request.POST, self.subject.passage
        item = named_item(self.bank, self.subject.topic, typed.get("rewording", ""))
        kept = {name: typed.get(name, "") for name in ("spans", "kind", "facet_id", "text")}
        initial = rewording(item, typed.get("spans", "")) if item else kept
        form = draft_form(self.subject.topic, passage, initial=initial)
        if item:
            form.fields["text"].widget.attrs["autofocus"] = True
        return Refusal({"item_form": form, "rewords": item}, 200)

    def set_aside(self) -> Refusal | None:
        """Keep a person's word that it is no problem, as a flag that is resolved with a reason."""
        self.require_editor()
        form = SetAsideForm(self.request.POST)
        if not form.is_valid():
            return Refusal({"reason": form})
        reason = form.cleaned_data["reason"]
        if isinstance(self.subject, APair):
            reason = reason_of_pair(str(self.subject.keep), reason)
        about, kind = self.about(), FLAG_KINDS[self.subject.kind]
        own = flags.open_flag(about, kind=kind, by=self.request.user)
        same = Flag.objects.about(self.bank, about.topic, about.item, about.passage).open().filter(kind=kind)
        for flag in same.select_related("bank__collection"):
            flags.resolve(flag, seen=flag.version, by=self.request.user, text=reason)
        self.offer_undo("Set aside.", deed="reopen", flag=own.pk)
        return None

    def reopen(self) -> Refusal | None:
        """List a problem again that was set aside."""
        self.require_editor()
        about = self.about()
        flags_about = Flag.objects.about(self.bank, about.topic, about.item, about.passage)
        flag = (
            flags_about.filter(pk=parse_id(self.request.POST.get("flag")))
            .select_related("bank__collection")
            .first()
        )
        if flag is None or flag.is_open:
            return Refusal({"refusal": "Nobody set it aside."})
        flag = flags.reopen(flag, seen=flag.version, by=self.request.user)
        flags.resolve(flag, seen=flag.version, by=self.request.user)
        return None


DEEDS: dict[str, Callable[[Solution], Refusal | None]] = {
    "reword": Solution.reword,
    "retire": Solution.retire,
    "restore": Solution.restore,
    "merge": Solution.merge,
    "add": Solution.add,
    "rewording": Solution.rewording,
    "aside": Solution.set_aside,
    "reopen": Solution.reopen,
}


def _kind(item: Item) -> str:
    return str(item.get_kind_display()).capitalize()
