"""What a language model was asked to draft for a bank, and each text that it wrote until somebody decided."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from grading.types import Importance, ItemKind
from rubricweb.banks.secrecy import ReadableManager
from rubricweb.core.redaction import MessageField
from rubricweb.corpus.models import Collection, Topic
from rubricweb.jobs.models import AskingChunk, LimitedJob, Task

KINDS = [(kind.value, kind.value) for kind in (ItemKind.QUESTION, ItemKind.NUGGET)]


class DraftManager(ReadableManager):
    wordings = ("item__revision",)


class SuggestionManager(ReadableManager):
    wordings = ("item__revision", "draft__item__revision")


class DraftRequest(Task):
    """A request to a model. Its reply is stored verbatim, so that a failure can be examined."""

    class Asks(models.TextChoices):
        ITEMS = "items", "for questions or nuggets"
        IMPORTANCE = "importance", "the importance of each nugget"

    asks = models.CharField(max_length=20, choices=Asks, default=Asks.ITEMS)
    bank = models.ForeignKey("banks.Bank", on_delete=models.CASCADE, related_name="draft_requests")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="draft_requests")
    facet_id = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=20, choices=KINDS)
    backend = models.CharField(max_length=40)
    llm = models.CharField(max_length=200)
    prompt_id = models.CharField(max_length=100)
    """`CLASS@version`: the exact words that were asked."""
    reply = MessageField(blank=True)
    is_dismissed = models.BooleanField(default=False)
    """It failed, and somebody has seen it."""
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)
        indexes = (models.Index(fields=("bank", "topic", "state"), name="draft_requests_by_place"),)

    def __str__(self) -> str:
        what = "importance of " if self.asks == self.Asks.IMPORTANCE else ""
        return f"{what}{self.kind}s by {self.llm}"


class DraftJob(LimitedJob):
    """A model that drafts for every topic or subtopic of a rubric that lacks items."""

    bank = models.ForeignKey("banks.Bank", on_delete=models.CASCADE, related_name="draft_jobs")
    kind = models.CharField(max_length=20, choices=KINDS)
    backend = models.CharField(max_length=40)
    llm = models.CharField(max_length=200)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"{self.kind}s by {self.llm}"

    @property
    def collection(self) -> Collection:
        return self.bank.collection


class DraftChunk(AskingChunk):
    """One topic or subtopic of a job; what comes of it is a DraftRequest that has ended."""

    job = models.ForeignKey(DraftJob, on_delete=models.CASCADE, related_name="chunks")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="+")
    facet_id = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(fields=("job", "number"), name="draft_chunk_number_once_a_job"),
        )
        indexes = (models.Index(fields=("state", "lease_until"), name="draft_chunks_by_state"),)

    def __str__(self) -> str:
        return f"topic {self.topic.query_id} of {self.job}"


class Draft(models.Model):
    """A text that a model wrote, as it wrote it; once accepted it is linked to its item for good."""

    class State(models.TextChoices):
        WAITING = "waiting"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    request = models.ForeignKey(DraftRequest, on_delete=models.CASCADE, related_name="drafts")
    text = models.TextField()
    state = models.CharField(max_length=20, choices=State, default=State.WAITING)
    item = models.OneToOneField(
        "banks.Item", null=True, blank=True, on_delete=models.SET_NULL, related_name="draft"
    )
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)

    objects = DraftManager()

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.CheckConstraint(
                condition=Q(state="waiting", decided_at__isnull=True)
                | (~Q(state="waiting") & Q(decided_at__isnull=False)),
                name="draft_waits_until_decided",
            ),
        )

    def __str__(self) -> str:
        return self.text


class ImportanceSuggestion(models.Model):
    """The importance that a model suggests for a nugget or a draft of one, until somebody decides."""

    class State(models.TextChoices):
        WAITING = "waiting"
        ACCEPTED = "accepted"
        LEFT = "left"
        """The nugget stays as it is, or a later suggestion came."""
        AGREED = "agreed"
        """It was what the nugget had already."""

    LABELS = [(level.value, level.value) for level in (Importance.VITAL, Importance.OKAY)]

    request = models.ForeignKey(DraftRequest, on_delete=models.CASCADE, related_name="suggestions")
    item = models.ForeignKey(
        "banks.Item", null=True, on_delete=models.CASCADE, related_name="importance_suggestions"
    )
    draft = models.ForeignKey(
        Draft, null=True, on_delete=models.CASCADE, related_name="importance_suggestions"
    )
    text = models.TextField()
    """The words that the model read."""
    importance = models.CharField(max_length=10, choices=LABELS)
    state = models.CharField(max_length=20, choices=State, default=State.WAITING)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)

    objects = SuggestionManager()

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.CheckConstraint(
                condition=Q(item__isnull=False, draft__isnull=True)
                | Q(item__isnull=True, draft__isnull=False),
                name="suggestion_is_of_an_item_or_a_draft",
            ),
        )

    def __str__(self) -> str:
        return f"{self.text}: {self.importance}"
