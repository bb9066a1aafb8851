"""Labels of support: those made here, once for equal sentences of a topic, and those of files, by place."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from grading.support import CLAIM_PROMPT_ID, LONGEST_REPLY, JudgedCitations, Support
from rubricweb.core.redaction import MessageField
from rubricweb.corpus.models import Collection, Response, Topic
from rubricweb.grades.models import GraderConfig
from rubricweb.jobs.models import Chunk, LimitedJob

LABELS = [(label.value, label.name.lower()) for label in reversed(Support)]
CITATIONS = [
    (JudgedCitations.FIRST.value, "the first of each sentence"),
    (JudgedCitations.ALL.value, "up to three of each sentence"),
]


CLAIM_PROMPTS = f"{CLAIM_PROMPT_ID.partition('@')[0]}@"
"""What the ids of prompts about claims of rationales begin with."""
IMPORTED = "imported"
"""The back-end of a judge whose labels came with a file."""


class SupportJudge(models.Model):
    """A model that is asked in the words of one prompt, or a named author of imported labels."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="support_judges")
    backend = models.CharField(max_length=40)
    llm = models.CharField(max_length=200)
    prompt_id = models.CharField(max_length=100)
    """`NAME@version`, as `grading.support` knows it; empty for imported labels."""

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("collection", "backend", "llm", "prompt_id"), name="support_judge_once_a_collection"
            ),
        )

    def __str__(self) -> str:
        return f"{self.llm}, {self.prompt_id}" if self.prompt_id else self.llm


class SupportSettings(models.Model):
    """What a collection's organizers chose for the people who label."""

    collection = models.OneToOneField(Collection, on_delete=models.CASCADE, related_name="support_settings")
    citations = models.CharField(max_length=10, choices=CITATIONS, default=JudgedCitations.FIRST.value)
    """Which citations people are asked about."""
    sample = models.PositiveIntegerField(null=True)
    """How many of these, drawn at random; null for all."""
    shown_judge = models.ForeignKey(SupportJudge, null=True, on_delete=models.SET_NULL, related_name="+")
    """Whose label people see before they decide; null, the default, for nobody's."""
    contradicts = models.BooleanField(default=False)
    """Whether people may also say that the passage contradicts the sentence, which tracks call no support."""

    def __str__(self) -> str:
        return f"support in {self.collection}"


class LabelledAnswer(models.Model):
    """The labels that a file has of one answer, each in its place; they count for this answer alone.

    Equal sentences that cite one document have different labels in the answers of different runs, so that
    these cannot be kept as `SupportLabel` keeps those made here.
    """

    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="labelled_answers")
    judge = models.ForeignKey(
        SupportJudge, null=True, on_delete=models.CASCADE, related_name="labelled_answers"
    )
    """Null for people, whose names no file has."""
    after_prediction_of = models.CharField(max_length=200, blank=True)
    """The model whose labels people corrected; empty where they labelled from scratch."""
    labels = models.JSONField()
    """By sentence and citation, as far as the file goes: a `Support`, -1 for none, -2 where it failed."""
    foreign = models.JSONField(default=dict)
    """The object of the file as it was read."""

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("judge", "response"), name="an_answer_is_labelled_once_by_a_judge"
            ),
            models.UniqueConstraint(
                fields=("response",),
                condition=models.Q(judge=None),
                name="an_answer_is_labelled_once_by_people",
            ),
        )

    def __str__(self) -> str:
        return f"labels by {self.judge or 'people'} of {self.response}"


class CitedSentence(models.Model):
    """What a label is about: a sentence of any response to a topic, and a passage that it cites.

    A claim of a rationale is such a sentence, too: it cites the passage that was graded.
    """

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="+")
    sentence_md5 = models.CharField(max_length=32)
    """MD5 of the stripped text, so that equal sentences are labelled once for all runs."""
    doc_id = models.CharField(max_length=300)

    class Meta:
        abstract = True


class SupportLabel(CitedSentence):
    """What a model said. It changes only where it has no label and the model is asked again."""

    judge = models.ForeignKey(SupportJudge, on_delete=models.CASCADE, related_name="labels")
    job = models.ForeignKey("SupportJob", null=True, on_delete=models.SET_NULL, related_name="labels")
    """That asked for it last."""
    label = models.SmallIntegerField(choices=LABELS, null=True)
    """Null where the reply names none."""
    reply = MessageField(blank=True)
    problem = MessageField(blank=True, default="", db_default="")
    """Why the model gave no answer; empty where it gave one."""
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("judge", "topic", "sentence_md5", "doc_id"), name="one_label_per_judge_and_citation"
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_label_display() or 'no label'} by {self.judge}"


class SupportEvent(CitedSentence):
    """What a person said. The latest event of a person counts; nothing is changed or deleted."""

    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    uid = models.CharField(max_length=32, blank=True)
    """Id of the request, which a lost connection may repeat; empty without scripts."""
    label = models.SmallIntegerField(choices=LABELS, null=True)
    """Null where the person takes the label before back."""
    seen_label = models.SmallIntegerField(choices=LABELS, null=True)
    """The model's label that the person saw first; null if they labelled from scratch."""
    seen_judge = models.ForeignKey(SupportJudge, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("by", "uid"), condition=~models.Q(uid=""), name="support_event_once_a_request"
            ),
        )
        indexes = (models.Index(fields=("topic", "by"), name="support_events_by_person"),)

    def __str__(self) -> str:
        return f"{self.get_label_display() or 'taken back'} by {self.by}"


class SupportJob(LimitedJob):
    """A judge that labels what it has not labelled yet."""

    judge = models.ForeignKey(SupportJudge, on_delete=models.CASCADE, related_name="jobs")
    citations = models.CharField(max_length=10, choices=CITATIONS)
    grader = models.ForeignKey(GraderConfig, null=True, on_delete=models.PROTECT, related_name="+")
    """The grader whose rationales are checked; null where citations are labelled."""
    sample = models.PositiveIntegerField(default=0, db_default=0)
    """How many of its rationales, drawn at random; 0 where citations are labelled."""
    is_retry = models.BooleanField(default=False)
    """It asks again for labels that failed."""
    longest_reply = models.PositiveIntegerField(default=LONGEST_REPLY)
    """Tokens that the model may write about one citation."""

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        work = f"rationales of {self.grader} checked" if self.grader else "support"
        return f"{work} by {self.judge}{', failed labels again' if self.is_retry else ''}"

    def get_absolute_url(self) -> str:
        """Return the address of its details: opened on Support, or of the check of rationales."""
        if self.grader_id:
            return reverse("graders:rationale-job", args=[self.collection.slug, self.pk])
        return f"{self.page}?job={self.pk}#job"

    @property
    def page(self) -> str:
        """Return the address of the page with its results."""
        if self.grader_id:
            return f"{reverse('graders:graders', args=[self.collection.slug])}#rationales"
        return reverse("support:board", args=[self.collection.slug])

    @property
    def collection(self) -> Collection:
        return self.judge.collection

    @property
    def rule(self) -> JudgedCitations:
        return JudgedCitations(self.citations)


class SupportChunk(Chunk):
    """One topic of a job; its units of work are citations, or claims of rationales."""

    job = models.ForeignKey(SupportJob, on_delete=models.CASCADE, related_name="chunks")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(fields=("job", "number"), name="support_chunk_number_once_a_job"),
        )
        indexes = (models.Index(fields=("state", "lease_until"), name="support_chunks_by_state"),)

    def __str__(self) -> str:
        return f"topic {self.topic.query_id} of {self.job}"
