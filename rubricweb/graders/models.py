"""Models of dry runs and calibration cards."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from grading import prompts
from rubricweb.banks.models import Bank, ItemRevision
from rubricweb.banks.secrecy import ReadableManager
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.models import GraderConfig
from rubricweb.jobs.models import Task


class DryRun(Task):
    """A trial of a prompt, saved or not, on a few passages by a worker. It makes no grades.

    Its results are kept for a day.
    """

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="dry_runs")
    prompt_class = models.CharField(max_length=64)
    definition = models.JSONField()
    """The prompt as `grading.prompts.as_options` writes it; empty for a published prompt."""
    backend = models.CharField(max_length=40)
    llm = models.CharField(max_length=200)
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="+")
    revision = models.ForeignKey(ItemRevision, null=True, on_delete=models.CASCADE, related_name="+")
    """Wording that is asked; None where a direct prompt asks about the query."""
    doc_ids = models.JSONField()
    seconds = models.FloatField(null=True)
    """Time that the grader took for all passages once loaded; None until it is done."""
    results = models.JSONField(default=list)
    """One `dry_runs.DryRunReply` per passage, as objects."""
    at = models.DateTimeField(auto_now_add=True)

    objects = ReadableManager()

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"dry run {self.pk} of {self.prompt_class}"

    @property
    def prompt(self) -> prompts.Prompt:
        if not self.definition:
            return prompts.get(self.prompt_class)
        return prompts.from_options(self.prompt_class, self.definition)


class CalibrationCard(models.Model):
    """The measured agreement of a grader with people on a bank's items. It never changes."""

    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="calibration_cards")
    config = models.ForeignKey(GraderConfig, on_delete=models.PROTECT, related_name="+")
    items = models.JSONField()
    """[query id, id of the wording] of each item in the card."""
    result = models.JSONField()
    """The result of `calibration_cards.document_of`."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"calibration card {self.pk} of {self.config}"
