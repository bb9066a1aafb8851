"""Flags with their history and subjects, and views of the grid that people save."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, OuterRef, Q, Subquery
from django.urls import reverse

from rubricweb.banks.models import Bank, Item, ItemRevision
from rubricweb.banks.secrecy import ReadableManager
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection, Passage, Topic

if TYPE_CHECKING:
    from rubricweb.accounts.models import User


class FlagQuerySet(models.QuerySet[Any]):
    def of(self, collection: Collection) -> FlagQuerySet:
        return self.filter(bank__collection=collection)

    def open(self) -> FlagQuerySet:
        return self.filter(resolved_at__isnull=True)

    def about(self, bank: Bank, topic: Topic, item: Item | None, passage: Passage | None) -> FlagQuerySet:
        """Keep the flags on exactly this subject: a cell's flags are not its item's."""
        return self.filter(bank=bank, topic=topic, item=item, passage=passage)

    def set_aside(self) -> FlagQuerySet:
        """Keep what was last resolved with a reason, by the event `decided`: problems that are none."""
        events = FlagEvent.objects.filter(flag=OuterRef("pk"), verb="resolved").order_by("-pk")
        decided, reason = (Subquery(events.values(name)[:1]) for name in ("pk", "text"))
        resolved = self.filter(resolved_at__isnull=False).annotate(decided=decided, reason=reason)
        flags: FlagQuerySet = resolved.exclude(reason="")
        return flags

    def standing(self, by: User) -> FlagQuerySet:
        """Keep the open flags of `by` on the present wording, at most one of each kind, without comments."""
        present = Q(item__isnull=True) | Q(revision=F("item__revision"))
        return self.open().filter(present, by=by).exclude(kind="comment")

    def ready(self) -> FlagQuerySet:
        """Fetch everything that a thread shows along, except the passage's text."""
        related = ("bank__collection", "topic", "item__revision", "revision", "passage", "by", "assignee")
        flags = self.select_related(*related).defer("passage__text")
        return flags.prefetch_related("events__by", "events__assignee")


FlagManager = ReadableManager.from_queryset(FlagQuerySet)


class Flag(models.Model):
    """A person wants an item, a passage or a cell (both) looked at."""

    class Kind(models.TextChoices):
        SPURIOUS = "spurious", "misleading"
        UNCOVERED = "uncovered", "not covered"
        WRONG_ANSWER = "wrong-answer", "wrong answer"
        UNCLEAR = "unclear", "unclear"
        DUPLICATE = "duplicate", "duplicate"
        COMMENT = "comment", "comment"

    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="flags")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="flags")
    item = models.ForeignKey(Item, null=True, blank=True, on_delete=models.CASCADE, related_name="flags")
    passage = models.ForeignKey(
        Passage, null=True, blank=True, on_delete=models.CASCADE, related_name="flags"
    )
    revision = models.ForeignKey(
        ItemRevision, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    """The item's wording when it was flagged."""
    kind = models.CharField(max_length=20, choices=Kind)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="flags"
    )
    at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField()
    """When the last event was added."""
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="assigned_flags",
    )
    resolved_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    """The number of the last event; who decides names the one they saw."""

    objects = FlagManager()

    class Meta:
        ordering = ("-moved_at", "-pk")
        constraints = (
            models.CheckConstraint(
                condition=Q(item__isnull=False) | Q(passage__isnull=False), name="flag_is_about_something"
            ),
            models.CheckConstraint(
                condition=Q(item__isnull=True, revision__isnull=True)
                | Q(item__isnull=False, revision__isnull=False),
                name="flag_knows_the_words_of_its_item",
            ),
        )
        indexes = (models.Index(fields=("bank", "topic", "resolved_at"), name="flags_by_place"),)

    def __str__(self) -> str:
        return f"{self.get_kind_display()} ({self.pk})"

    def get_absolute_url(self) -> str:
        return reverse("review:flag", args=[self.bank.collection.slug, self.pk])

    @property
    def is_open(self) -> bool:
        return self.resolved_at is None

    @property
    def is_reworded(self) -> bool:
        """Return whether the item has been reworded since."""
        return self.item is not None and self.item.revision_id != self.revision_id

    @staticmethod
    def set_aside_of_items(bank_pk: int, topic_pk: int) -> frozenset[tuple[str, int]]:
        """Return the kind and the wording of each problem of the topic's items that was set aside.

        Those of secret items too: callers ask about items that their reader sees.
        """
        return frozenset(_set_aside_of_items(bank_pk, topic_pk))


@compiled_once
def _set_aside_of_items(bank_pk: int, topic_pk: int) -> models.QuerySet[Flag, tuple[str, int]]:
    of_topic = FlagQuerySet(Flag).set_aside().filter(bank=bank_pk, topic=topic_pk)
    of_items = of_topic.filter(passage=None, revision__isnull=False)
    return of_items.values_list("kind", "revision").order_by()


class FlagEvent(models.Model):
    """The thread, append-only: who wrote or did what, and when."""

    class Verb(models.TextChoices):
        OPENED = "opened"
        REPLIED = "replied"
        ASSIGNED = "assigned"
        RESOLVED = "resolved"
        REOPENED = "reopened"

    flag = models.ForeignKey(Flag, on_delete=models.CASCADE, related_name="events")
    number = models.PositiveIntegerField()
    verb = models.CharField(max_length=20, choices=Verb)
    text = models.TextField(blank=True)
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    """The new assignee; None if it was given back."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    uid = models.UUIDField(default=uuid4, unique=True)
    """Made in the page; an event sent twice is saved once."""

    class Meta:
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=("flag", "number"), name="one_event_per_flag_version"),)

    def __str__(self) -> str:
        return f"{self.verb} as event {self.number}"

    @property
    def anchor(self) -> str:
        return f"flag-{self.flag_id}-event-{self.number}"


Kind = Flag.Kind
OF_PASSAGES = frozenset({Kind.UNCOVERED})
OF_ITEMS = frozenset({Kind.SPURIOUS, Kind.WRONG_ANSWER})


@dataclass(frozen=True, slots=True)
class Subject:
    """An item of a bank, a passage of a topic's pool, or both: a cell."""

    bank: Bank
    topic: Topic
    item: Item | None = None
    passage: Passage | None = None

    @property
    def what(self) -> str:
        if self.item and self.passage:
            return "pair"
        return self.item.get_kind_display() if self.item else "passage"

    @property
    def kinds(self) -> list[Kind]:
        """Return the kinds of flag that fit the subject."""
        unfit = (frozenset() if self.passage else OF_PASSAGES) | (frozenset() if self.item else OF_ITEMS)
        return [kind for kind in Kind if kind not in unfit]

    @property
    def key(self) -> str:
        """Return a name of the subject for ids in the page."""
        return "-".join(name + str(row.pk) for name, row in (("i", self.item), ("p", self.passage)) if row)

    @property
    def address(self) -> str:
        """Return the URL of its threads."""
        pks = {"item": self.item and self.item.pk, "passage": self.passage and self.passage.pk}
        named = urlencode({name: pk for name, pk in pks.items() if pk})
        return f"{reverse('review:subject-flags', args=[self.bank.pk, self.topic.pk])}?{named}"

    @property
    def place(self) -> str:
        """Return the URL where it is worked on: cell, item in the editor, or passage in the grid."""
        bank, topic = self.bank.pk, self.topic.pk
        if self.item and self.passage:
            return reverse("review:cell", args=[bank, topic, self.passage.pk, self.item.pk])
        if self.item:
            return f"{reverse('review:topic', args=[bank, topic])}#item-{self.item.pk}"
        grid = reverse("review:topic", args=[bank, topic], query={"view": "grid"})
        return f"{grid}#p{self.passage.pk if self.passage else ''}"


def subject_of(flag: Flag) -> Subject:
    return Subject(flag.bank, flag.topic, flag.item, flag.passage)


class SavedView(models.Model):
    """A person's filters, order and source of a grid, named, for any topic of the collection."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=80)
    address = models.TextField(blank=True)
    """The query part of a grid's address."""

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(
                fields=("user", "collection", "name"), name="view_name_once_a_person_and_collection"
            ),
        )

    def __str__(self) -> str:
        return self.name
