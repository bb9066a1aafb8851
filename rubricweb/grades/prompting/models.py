"""A dry run: a prompt that may not be saved yet, asked about a few passages. It makes no grades."""

from django.conf import settings
from django.db import models

from grading import prompts
from rubricweb.banks.models import ItemRevision
from rubricweb.corpus.models import Collection, Topic


class PromptTrial(models.Model):
    """One dry run by a worker; what came of it is kept for a day."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    UNFINISHED = (State.QUEUED, State.RUNNING)

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="trials")
    prompt_class = models.CharField(max_length=64)
    definition = models.JSONField()
    """As `grading.prompts.as_options` writes it."""
    backend = models.CharField(max_length=40)
    llm = models.CharField(max_length=200)
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="+")
    revision = models.ForeignKey(ItemRevision, null=True, on_delete=models.CASCADE, related_name="+")
    """What is asked; None where a direct prompt asks about the query."""
    doc_ids = models.JSONField()
    state = models.CharField(max_length=20, choices=State, default=State.QUEUED)
    attempt = models.PositiveIntegerField(default=0)
    """Moves when a worker takes the dry run; only the worker of the last attempt may end it."""
    worker = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    results = models.JSONField(default=list)
    """One object a passage: `trials.Said`."""
    error = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"dry run {self.pk} of {self.prompt_class}"

    @property
    def prompt(self) -> prompts.Prompt:
        return prompts.from_options(self.prompt_class, self.definition)

    @property
    def is_unfinished(self) -> bool:
        return self.state in self.UNFINISHED
