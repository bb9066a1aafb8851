"""A dry run: a prompt that may not be saved yet, asked about a few passages. It makes no grades."""

from django.db import models

from grading import prompts
from rubricweb.banks.models import ItemRevision
from rubricweb.banks.secrecy import ReadableManager
from rubricweb.corpus.models import Collection, Topic
from rubricweb.jobs.models import Task


class DryRun(Task):
    """One dry run by a worker; what came of it is kept for a day."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="dry_runs")
    prompt_class = models.CharField(max_length=64)
    definition = models.JSONField()
    """As `grading.prompts.as_options` writes it; empty for a published prompt."""
    backend = models.CharField(max_length=40)
    llm = models.CharField(max_length=200)
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="+")
    revision = models.ForeignKey(ItemRevision, null=True, on_delete=models.CASCADE, related_name="+")
    """What is asked; None where a direct prompt asks about the query."""
    doc_ids = models.JSONField()
    seconds = models.FloatField(null=True)
    """That the grader took for all passages, its model loaded; None until it is done."""
    results = models.JSONField(default=list)
    """One object a passage: `dry_runs.DryRunReply`."""
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
