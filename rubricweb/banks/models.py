"""The rubric: banks of questions and nuggets, with every wording they ever had."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse

import rubricweb.banks.draft_models  # noqa: F401  (Django looks for models here)
from grading.types import Importance, ItemKind
from rubricweb.banks.secrecy import CompleteManager, ReadableManager
from rubricweb.corpus.models import Collection, Passage, Topic

LEAST_WEIGHT, MOST_WEIGHT = -10, 10
MAIN = "main"
"""The bank of a collection that has only one."""
DIRECT_UID = "direct"
"""The id of the synthetic item that direct graders grade; its text is the query."""


class ItemQuerySet(models.QuerySet[Any]):
    def for_topic(self, topic: Topic) -> ItemQuerySet:
        return self.filter(topic=topic)

    def active(self) -> ItemQuerySet:
        return self.filter(retired_at__isnull=True)

    def retired(self) -> ItemQuerySet:
        return self.filter(retired_at__isnull=False)

    def fellows_of(self, item: Item) -> ItemQuerySet:
        """Return the active items listed together with `item`: same topic, kind and subtopic."""
        return self.active().filter(topic=item.topic_id, kind=item.kind, facet_id=item.facet_id)

    def with_answer_key(self) -> ItemQuerySet:
        """Return the items whose present wording has an accepted answer."""
        return self.filter(revision__answer_keys__isnull=False).distinct()

    def of_kinds(self, kinds: Iterable[ItemKind]) -> ItemQuerySet:
        return self.filter(kind__in=[str(kind) for kind in kinds])


ItemManager = ReadableManager.from_queryset(ItemQuerySet)


class WordingManager(ReadableManager):
    wordings = ("",)


class Bank(models.Model):
    """A named set of items over the topics of a collection."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="banks")
    name = models.CharField(max_length=80)

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("collection", "name"), name="bank_name_once_a_collection"),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("home:collection", args=[self.collection.slug])

    @property
    def all_items(self) -> ItemQuerySet:
        """Return all items, also secret ones, for scores and changes. Screens list `items`."""
        return Item.including_secret.filter(bank=self)


class ItemRevision(models.Model):
    """An immutable wording, known by the id that the field uses; grades belong to it.

    It belongs to the topic and not to one item: the same wording in another bank finds the same grades. Its
    text is empty while only a graded file knows the id.
    """

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="revisions")
    uid = models.CharField(max_length=400)
    """`<query_id>[/<facet_id>]/<md5 of the stripped text>`, or `direct`."""
    text = models.TextField(blank=True)
    is_secret = models.BooleanField(default=False)
    """Readers below topic developer see nothing that has this wording (`rubricweb.banks.secrecy`)."""

    objects = WordingManager()
    including_secret = CompleteManager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("topic", "uid"), name="one_revision_per_wording"),)
        indexes = (
            models.Index(fields=("topic",), condition=Q(is_secret=True), name="secret_wordings_by_topic"),
        )

    def __str__(self) -> str:
        return self.text or self.uid


class AnswerKey(models.Model):
    """An accepted answer to a question; it belongs to the wording."""

    revision = models.ForeignKey(ItemRevision, on_delete=models.CASCADE, related_name="answer_keys")
    text = models.CharField(max_length=300)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    objects = ReadableManager()
    including_secret = CompleteManager()

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(fields=("revision", "text"), name="answer_key_once_a_wording"),
        )

    def __str__(self) -> str:
        return self.text


class Item(models.Model):
    """A question or nugget: the identity that stays while its wording changes."""

    class Kind(models.TextChoices):
        QUESTION = ItemKind.QUESTION.value, "question"
        NUGGET = ItemKind.NUGGET.value, "nugget"

    class Weight(models.TextChoices):
        """Its importance in words."""

        VITAL = Importance.VITAL.value, "vital"
        OKAY = Importance.OKAY.value, "okay"
        AVOID = Importance.AVOID.value, "to avoid"

    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="items")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="items")
    kind = models.CharField(max_length=20, choices=Kind)
    facet_id = models.CharField(max_length=200, blank=True)
    revision = models.ForeignKey(ItemRevision, on_delete=models.PROTECT, related_name="items")
    version = models.PositiveIntegerField(default=1)
    """Incremented by every change; a writer states which one they saw."""
    position = models.PositiveIntegerField()
    importance = models.CharField(max_length=10, choices=Weight, default=Weight.VITAL)
    weight = models.FloatField(default=Importance.VITAL.weight)
    """What covering the item adds in weighted measures; by default that of its importance."""
    retired_at = models.DateTimeField(null=True, blank=True)
    foreign = models.JSONField(null=True, blank=True)
    """The fields of a bank file that we do not model, by dialect (`grading.formats.banks`)."""
    merged_into = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="duplicates"
    )
    """The item that was kept when this one was retired as its duplicate."""

    objects = ItemManager()
    including_secret = ItemQuerySet.as_manager()

    class Meta:
        ordering = ("position", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("bank", "revision", "kind"),
                condition=Q(retired_at__isnull=True),
                name="one_active_item_per_wording",
            ),
            models.CheckConstraint(condition=Q(version__gte=1), name="item_version_starts_at_one"),
            models.CheckConstraint(
                condition=Q(weight__gte=LEAST_WEIGHT, weight__lte=MOST_WEIGHT),
                name="item_weight_within_range",
            ),
        )
        indexes = (models.Index(fields=("bank", "topic"), name="items_by_bank_and_topic"),)

    def __str__(self) -> str:
        return str(self.revision)

    @property
    def is_retired(self) -> bool:
        return self.retired_at is not None

    @property
    def has_own_weight(self) -> bool:
        """Return whether its weight is not that of its importance."""
        return self.weight != Importance(self.importance).weight

    @property
    def is_secret(self) -> bool:
        """Return whether its wording is secret, and so the same words in every bank."""
        return self.revision.is_secret


class BankTopic(models.Model):
    """Fields of bank files about a topic as a whole that we do not model."""

    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="bank_topics")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="bank_topics")
    foreign = models.JSONField(default=dict)
    """The lines that the file had for the topic, by dialect, without their items."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=("bank", "topic"), name="topic_once_a_bank"),)

    def __str__(self) -> str:
        return f"{self.topic} in {self.bank}"


class ItemChange(models.Model):
    """The history of an item, append-only: what happened, to which wording, by whom and when."""

    class Verb(models.TextChoices):
        IMPORTED = "imported"
        ADDED = "added"
        REWORDED = "reworded"
        RETIRED = "retired"
        RESTORED = "restored"
        KEYED = "keyed", "answer key changed"
        WEIGHED = "weighed"
        HIDDEN = "made secret", "made secret"
        SHOWN = "made public", "made public"

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="changes")
    number = models.PositiveIntegerField()
    """The item's version after this change."""
    verb = models.CharField(max_length=20, choices=Verb)
    revision = models.ForeignKey(ItemRevision, on_delete=models.PROTECT, related_name="+")
    detail = models.CharField(max_length=200, blank=True)
    """What the wording does not show: "okay, weight 0.5"."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    objects = ReadableManager()
    including_secret = CompleteManager()

    class Meta:
        ordering = (F("number").desc(),)
        constraints = (models.UniqueConstraint(fields=("item", "number"), name="one_change_per_version"),)

    def __str__(self) -> str:
        return f"{self.verb} as version {self.number}"


class ItemSource(models.Model):
    """The passage, and the spans in it, that a wording was taken from."""

    change = models.OneToOneField(ItemChange, on_delete=models.CASCADE, related_name="source")
    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="+")
    spans = models.JSONField()

    def __str__(self) -> str:
        return f"from {self.passage.doc_id}"


class BankVersion(models.Model):
    """A named, dated set of wordings: boards and qrels can be made from it, and two can be compared.

    It never changes; `rubricweb.banks.versions` names and restores versions.
    """

    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=120)
    note = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-number",)
        constraints = (
            models.UniqueConstraint(fields=("bank", "number"), name="version_number_once_a_bank"),
            models.UniqueConstraint(fields=("bank", "name"), name="version_name_once_a_bank"),
        )

    def __str__(self) -> str:
        return f"{self.bank.name}, version {self.number}: {self.name}"

    @property
    def all_entries(self) -> models.QuerySet[VersionItem]:
        """Return all entries, also those secret from the reader: for scores, and to restore the version."""
        return VersionItem.including_secret.filter(version=self)


class VersionItem(models.Model):
    """An active item at the time when the version was named."""

    version = models.ForeignKey(BankVersion, on_delete=models.CASCADE, related_name="entries")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")
    revision = models.ForeignKey(ItemRevision, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveIntegerField()
    importance = models.CharField(max_length=10, choices=Item.Weight)
    weight = models.FloatField()

    objects = ReadableManager()
    including_secret = CompleteManager()

    class Meta:
        ordering = ("position", "pk")
        constraints = (models.UniqueConstraint(fields=("version", "item"), name="item_once_a_version"),)

    def __str__(self) -> str:
        return str(self.revision)
