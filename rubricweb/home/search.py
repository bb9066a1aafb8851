"""Search for a screen, collection, topic, run or item by its words, within what the reader may open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django import forms
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, Item
from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.corpus.models import Collection, Run, Topic
from rubricweb.corpus.pseudonyms import shown_names
from rubricweb.grades.raters import AddressForm
from rubricweb.home.collections import collections_of
from rubricweb.home.tabs import MORE, OF_STAFF, SITE, screens_for

MOST = 30
MOST_OF_A_KIND = 12
READ = 60
"""Rows of a kind that are read and ranked."""


@dataclass(frozen=True, slots=True)
class Hit:
    kind: str
    title: str
    detail: str
    address: str
    keywords: str = ""
    """Further words by which it is found."""


def hits_for(user: User, text: str, collection: Collection | None) -> list[Hit]:
    """Return at most `MOST` hits, kind by kind, the best of each kind first.

    Every word of `text` must occur. With a `collection` its own screens, topics, runs and items are searched,
    else those of all that the user may read.
    """
    terms = text.casefold().split()
    everywhere = collections_of(user)
    here = [collection] if collection else everywhere
    kinds = [_screens(user, here if collection else ()), _collections(everywhere, user)]
    if terms:
        kinds += [_topics(here, terms), _runs(here), _items(here, terms)]
    hits = (hit for kind in kinds for hit in _best(kind, terms))
    return list(islice(hits, MOST))


def _best(hits: Iterable[Hit], terms: Sequence[str]) -> list[Hit]:
    ranked = [(rank, hit) for hit in hits if (rank := _rank(hit, terms)) is not None]
    return [hit for _, hit in sorted(ranked, key=lambda pair: pair[0])][:MOST_OF_A_KIND]


def _rank(hit: Hit, terms: Sequence[str]) -> int | None:
    """Return the rank of a hit, best first; None if a term does not occur in it.

    0: the title begins with the first term; 1: each term begins a word; 2: all terms occur somewhere.
    """
    title = hit.title.casefold()
    text = f"{title} {hit.detail} {hit.keywords}".casefold()
    if not all(word in text for word in terms):
        return None
    if terms and title.startswith(terms[0]):
        return 0
    begins = text.split()
    return 1 if all(any(begin.startswith(word) for begin in begins) for word in terms) else 2


def _screens(user: User, here: Iterable[Collection]) -> Iterator[Hit]:
    for collection in here:
        role = roles.role_of(user, collection)
        if role is None:
            continue
        is_cold = bool(collection.cold_at)
        tabs = screens_for(role, is_cold=is_cold)
        for screen in (*(entry for _, entries in tabs for entry in entries), *(() if is_cold else MORE)):
            if role.includes(screen.needed):
                address = reverse(screen.route, args=[collection.slug])
                yield Hit("Screens", screen.name, collection.name, address, screen.keywords)
    for screen in SITE:
        if screen.route not in OF_STAFF or roles.may_create(user):
            yield Hit("Screens", screen.name, "", reverse(screen.route), screen.keywords)


def _collections(everywhere: Iterable[Collection], user: User) -> Iterator[Hit]:
    for collection in everywhere:
        yield Hit("Collections", collection.name, collection.slug, collection.get_absolute_url())
    teams = user.memberships.filter(role=roles.Role.PARTICIPANT).select_related("collection")
    for membership in teams:
        for _, entries in screens_for(roles.Role.PARTICIPANT):
            for screen in entries:
                address = reverse(screen.route, args=[membership.collection.slug])
                yield Hit("Screens", screen.name, membership.collection.name, address, screen.keywords)


def _containing(terms: Iterable[str], *fields: str) -> Q:
    condition = Q()
    for word in terms:
        anywhere = Q()
        for field in fields:
            anywhere |= Q(**{f"{field}__icontains": word})
        condition &= anywhere
    return condition


def _topics(here: Sequence[Collection], terms: Sequence[str]) -> Iterator[Hit]:
    """Yield topics, which lead to their grid in the bank that has items of them, and to these items."""
    banks = Item.objects.active().filter(topic=OuterRef("pk")).order_by("bank").values("bank")
    topics: QuerySet[Any] = Topic.objects.filter(_containing(terms, "query_id", "text"), collection__in=here)
    for topic in topics.annotate(of_bank=Subquery(banks[:1])).select_related("collection")[:READ]:
        title = f"{topic.query_id} {topic.text}"
        if topic.of_bank is None:
            address = f"{topic.collection.get_absolute_url()}?q={topic.query_id}"
            yield Hit("Topics", title, topic.collection.name, address)
            continue
        place = [topic.of_bank, topic.pk]
        yield Hit("Topics", title, "grid", reverse("review:topic", args=place, query={"view": "grid"}))
        yield Hit("Topics", title, "items", reverse("review:topic", args=place))


def _runs(here: Sequence[Collection]) -> Iterator[Hit]:
    """Yield runs by the names under which the reader knows them."""
    by_pk = {collection.pk: collection for collection in here}
    rows = Run.objects.accepted().filter(collection__in=here).order_by("run_tag")
    for pk, collection_id, tag in rows.values_list("pk", "collection", "run_tag"):
        (name,) = shown_names(collection_id, (tag,))
        address = f"{reverse('leaderboards:compare', args=[by_pk[collection_id].slug])}?a={pk}"
        yield Hit("Runs", name, by_pk[collection_id].name, address)


def _items(here: Sequence[Collection], terms: Sequence[str]) -> Iterator[Hit]:
    """Yield items, without secret ones for readers who may not see them."""
    banks = Bank.objects.filter(collection__in=here)
    items = Item.objects.active().filter(_containing(terms, "revision__text"), bank__in=banks)
    fields = ("pk", "bank", "topic", "revision__text", "topic__query_id", "kind")
    for pk, bank, topic, text, query_id, kind in items.values_list(*fields)[:READ]:
        address = f"{reverse('review:topic', args=[bank, topic])}#item-{pk}"
        yield Hit("Items", text, f"{kind} of topic {query_id}", address)


class SearchForm(AddressForm):
    q = forms.CharField(
        label="Topic, run, item, screen or action",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search", "autofocus": True}),
    )
    of = forms.SlugField(required=False, widget=forms.HiddenInput)


@require_safe
def search(request: HtmxRequest) -> HttpResponse:
    """Find a screen, collection, topic, run or item; `of` names the collection that the user is in."""
    form = SearchForm(request.GET)
    of = Collection.objects.visible_to(request.user).filter(slug=form.value("of", "")).first()
    text = form.value("q", "")
    context = {"form": form, "text": text, "of": of, "hits": hits_for(request.user, text, of)}
    return page_or_part(request, "home/search.html", context, part="results")
