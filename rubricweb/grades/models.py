"""Models of grades, graders, the jobs that grade, and raw replies."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from grading import prompts
from grading.formats.judge_qrels import FILE_MD5
from grading.graders import ANSWERS_BY, NO_SETTINGS, PROMPT
from grading.graders.backend_options import ATTEMPT, Value
from grading.graders.exemplars import EXEMPLAR_EVENTS
from grading.graders.hf_model import SMOLLM2
from grading.graders.registry import IMPORTED
from grading.types import Outcome, Purpose
from rubricweb.banks.models import ItemRevision
from rubricweb.core.models import new_stamp
from rubricweb.core.redaction import MessageField
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.grades.human_models import IS_RATING
from rubricweb.jobs.models import Chunk, Job

MODEL_NAMES = {"lexical": "word overlap", SMOLLM2: "SmolLM2 135M", "google/flan-t5-large": "FLAN-T5 large"}


class ReplyBlock(models.Model):
    """Compressed replies of one grader to cells of one topic. A grade names its block (`Grade.reply_block`).

    A block stays when its replies are dropped, as a record of when that was.
    """

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="reply_blocks")
    config = models.ForeignKey(
        "grades.GraderConfig", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="reply_blocks", db_index=False)
    content = models.BinaryField()
    """Cells and their replies, as `replies.content_of` packs them."""
    number = models.PositiveIntegerField()
    """Number of replies in it."""
    at = models.DateTimeField(default=timezone.now)
    """When the youngest of its grades was made."""
    dropped = models.PositiveIntegerField(default=0)
    """Number of replies that the policy has dropped."""
    dropped_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=("topic", "config"), name="reply_blocks_by_topic"),
            models.Index(
                fields=("collection", "at"), condition=Q(dropped_at=None), name="reply_blocks_to_drop"
            ),
        )

    def __str__(self) -> str:
        return f"block {self.pk} of {self.number} replies"


class ReplyPolicy(models.Model):
    """How long a collection keeps replies; without a policy, for ever."""

    collection = models.OneToOneField(Collection, on_delete=models.CASCADE, related_name="reply_policy")
    days = models.PositiveIntegerField(null=True)
    """Days; None for ever."""
    packed_to = models.BigIntegerField(default=0)
    """Key up to which grades have their long replies in blocks: see `replies.pack_some`."""

    def __str__(self) -> str:
        return f"{self.days} days" if self.days is not None else "for ever"


Pair = tuple[int, int]
"""Primary keys of a wording and a passage: what a grade is of, within one topic."""


class GraderConfig(models.Model):
    """A frozen grader: the same row means the same grades for ever. Shared by all collections."""

    class Goal(models.TextChoices):
        RATE = Purpose.RATE.value, "rates"
        EXTRACT = Purpose.EXTRACT.value, "extracts answers"
        VERIFY = Purpose.VERIFY.value, "verifies answers"
        DIRECT = Purpose.DIRECT.value, "labels passages"

    backend = models.CharField(max_length=40)
    """A name of `grading.graders.registry`, or `imported` for grades from a file."""
    llm = models.CharField(max_length=200)
    prompt_class = models.CharField(max_length=200)
    purpose = models.CharField(max_length=20, choices=Goal)
    options = models.JSONField(default=dict)
    fingerprint = models.CharField(max_length=64, unique=True)
    """`grading.graders.GraderSpec.fingerprint`: a digest of everything above and of the prompt's version."""
    extraction: "GraderConfig | None" = None
    """For a verifying draft (see `configs.config_draft`): the draft that extracts the answers."""

    class Meta:
        ordering = ("llm", "prompt_class", "pk")

    def __str__(self) -> str:
        return f"{self.llm} · {self.prompt_name}{self.of_answers}{self.settings_words}"

    @property
    def label(self) -> str:
        """Return its name with the prompt first, for tables of prompts."""
        return f"{self.prompt_name} ({self.llm}{self.of_answers}{self.settings_words})"

    @property
    def prompt_name(self) -> str:
        """Return the class, or the id of a collection's own prompt, since others may share its class."""
        own = self.options.get(PROMPT)
        return prompts.from_options(self.prompt_class, own).prompt_id if own else self.prompt_class

    @property
    def of_answers(self) -> str:
        """Return " of <extractor>" for a verifier of another's answers, else ""."""
        return f" of the answers of {self.answers_by}" if self.answers_by else ""

    @property
    def answers_by(self) -> str:
        """Return whose answers it verifies, unless these are its own back-end's and model's."""
        try:
            backend, llm = _asker(self.options[ANSWERS_BY])
        except (KeyError, GraderConfig.DoesNotExist):
            return ""
        if (backend, llm) == (self.backend, self.llm):
            return ""
        return f"{llm} from a file" if backend == IMPORTED else llm

    @property
    def settings(self) -> dict[str, Value]:
        """Return its options other than the prompt, the source of answers, and a panel's members."""
        return {name: value for name, value in self.options.items() if name not in NO_SETTINGS}

    @property
    def settings_words(self) -> str:
        """Return the name's end for such options: ", attempt 2, max_new_tokens 100"; no digest of a file."""
        named = (setting for setting in self.settings.items() if setting[0] != FILE_MD5)
        ordered = sorted(named, key=lambda setting: (setting[0] != ATTEMPT, setting[0]))
        return "".join(f", {name} {_word(value)}" for name, value in ordered)

    @property
    def model_name(self) -> str:
        """Return its model for people, without the folder or the owner: "flan-t5-large"."""
        return MODEL_NAMES.get(self.llm) or self.llm.rstrip("/").rpartition("/")[2]

    @property
    def team(self) -> tuple[str, str, str]:
        """Return a key shared by configs of a model that grade together, such as questions and nuggets."""
        return self.backend, self.llm, self.settings_words + str(self.options.get(EXEMPLAR_EVENTS, ""))


def _word(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@lru_cache(maxsize=1_000)
def _asker(fingerprint: str) -> tuple[str, str]:
    """Return back-end and model as a fingerprint has them for ever."""
    return GraderConfig.objects.values_list("backend", "llm").get(fingerprint=fingerprint)


class GradingJob(Job):
    """The cells that one config grades after one press: exactly those that were missing then.

    A press starts a job for each config that has something to do. Chunks are opened of the job's parts.
    """

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="jobs")
    config = models.ForeignKey(GraderConfig, on_delete=models.PROTECT, related_name="jobs")
    scope = models.CharField(max_length=200)
    """Description for people: "5 items of 2 topics"."""
    press = models.UUIDField(null=True, editable=False)
    """Id shared by the jobs that one press started, which people see as one; None in old jobs."""
    after = models.ForeignKey("self", null=True, on_delete=models.RESTRICT, related_name="followers")
    """Job that extracts the answers which this one verifies, and for whose end it waits."""
    options = models.JSONField(default=dict, blank=True)
    """Options of speed and place that differ from the collection's: see `configs.running_spec`."""
    is_retry = models.BooleanField(default=False)
    """Whether its cells have failed grades, which new ones replace."""
    is_again = models.BooleanField(default=False)
    """Whether it retries one cell whose grade somebody doubts, and replaces it even if not failed."""
    is_closed = models.BooleanField(default=False, db_default=False)
    """Whether it was cancelled, or cannot be run: no more chunks are opened."""
    failures = models.JSONField(default=dict, blank=True)
    """Counts of the circuit breaker since the job began or was resumed: see `engine.progress`."""

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(
                condition=~Q(state="waiting") | Q(after__isnull=False), name="waiting_job_has_one_to_wait_for"
            ),
        )

    def __str__(self) -> str:
        return f"job {self.pk}: {self.scope}"

    def get_absolute_url(self) -> str:
        return f"{reverse('grades:jobs', args=[self.collection.slug])}?job={self.pk}"


class JobPart(models.Model):
    """The cells of one topic that a job grades: wordings, passages, and a bit for each pair of them.

    The first `opened` rows, each a passage, are in chunks. Where the job grades the whole topic, its passages
    are written when the first chunk is opened.
    """

    job = models.ForeignKey(GradingJob, on_delete=models.CASCADE, related_name="parts")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="+")
    number = models.PositiveIntegerField()
    """Position in the job."""
    revisions = models.JSONField()
    """Primary keys of the wordings."""
    passages = models.TextField()
    """Primary keys of the passages: see `engine.gaps.pack_keys`; empty while it `is_whole`."""
    mask = models.TextField(blank=True)
    """Mask of the cells to grade: see `engine.gaps.pack_mask`."""
    rows = models.PositiveIntegerField()
    opened = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(fields=("job", "number"), name="part_number_once_a_job"),
            models.CheckConstraint(condition=Q(opened__lte=models.F("rows")), name="part_opened_within_rows"),
        )
        indexes = (
            models.Index(fields=("job",), condition=Q(opened__lt=models.F("rows")), name="unopened_parts"),
        )

    def __str__(self) -> str:
        return f"part {self.number} of job {self.job_id}"

    @property
    def is_whole(self) -> bool:
        """Return whether it has every wording and the first `rows` passages of the pool, still unlisted."""
        return not self.passages


class JobChunk(Chunk):
    """The cells that a worker grades at a time: some rows of a part."""

    job = models.ForeignKey(GradingJob, on_delete=models.CASCADE, related_name="chunks")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="+")
    part = models.ForeignKey(JobPart, null=True, on_delete=models.CASCADE, related_name="chunks")
    """Its part; None in jobs of earlier versions, whose chunks list their cells."""
    first = models.PositiveIntegerField(default=0, db_default=0)
    last = models.PositiveIntegerField(default=0, db_default=0)
    """Row after its last one."""
    cells = models.JSONField(null=True, default=None)
    """Pairs [revision pk, passage pk], where it has no part."""
    batch = models.CharField(max_length=200, blank=True, default="", db_default="")
    """Id of the batch that asks its cells; empty where none does now."""
    not_before = models.DateTimeField(null=True, blank=True)
    """When to check whether its batch was answered."""

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(fields=("job", "number"), name="chunk_number_once_a_job"),
            models.CheckConstraint(condition=Q(done__lte=models.F("size")), name="chunk_done_within_size"),
        )
        indexes = (
            models.Index(fields=("state", "lease_until"), name="chunks_by_state"),
            models.Index(
                fields=("job", "state"), condition=Q(state__in=Chunk.LIVE), name="live_chunks_by_job"
            ),
            models.Index(fields=("state",), condition=~Q(batch=""), name="chunks_in_batches"),
        )

    def __str__(self) -> str:
        return f"chunk {self.number} of job {self.job_id}"


class GradeQuerySet(models.QuerySet[Any]):
    def by(self, config: GraderConfig) -> "GradeQuerySet":
        return self.filter(config=config)

    def for_topic(self, topic: Topic) -> "GradeQuerySet":
        return self.filter(topic=topic)

    def for_topics(self, topics: Iterable[int]) -> "GradeQuerySet":
        return self.filter(topic__in=list(topics))


class Grade(models.Model):
    """The result of one grader config for one wording and one passage.

    Millions of rows: the database checks only the keys that nothing else guarantees. The wording guarantees
    the topic and the passage, which are deleted with the collection; the stamp of the same transaction
    guarantees the config, and the leased chunk the job.
    """

    class How(models.TextChoices):
        NUMERIC = Outcome.NUMERIC.value, "the model's rating"
        UNANSWERABLE = Outcome.UNANSWERABLE.value, "said unanswerable: 0"
        DEFAULTED = Outcome.DEFAULTED.value, "unparsable: default"
        EXTRACTED = Outcome.EXTRACTED.value, "extracted answer"
        FAILED = Outcome.FAILED.value, "failed"

    config = models.ForeignKey(
        GraderConfig, on_delete=models.PROTECT, related_name="grades", db_index=False, db_constraint=False
    )
    topic = models.ForeignKey(
        Topic, on_delete=models.CASCADE, related_name="grades", db_index=False, db_constraint=False
    )
    """The revision's topic, kept here because matrices are read by it."""
    revision = models.ForeignKey(ItemRevision, models.CASCADE, related_name="grades", db_index=False)
    passage = models.ForeignKey(
        Passage, on_delete=models.CASCADE, related_name="grades", db_index=False, db_constraint=False
    )
    rating = models.SmallIntegerField(null=True)
    outcome = models.CharField(max_length=20, choices=How)
    answer = models.TextField(blank=True)
    """Extracted answer, or for a failed grade the raw reply."""
    reply = MessageField(blank=True)
    """Raw reply unless it is in a block, or for a failed grade the reason."""
    reply_block = models.ForeignKey(
        ReplyBlock, models.DO_NOTHING, null=True, related_name="+", db_index=False, db_constraint=False
    )
    error_class = models.CharField(max_length=20, blank=True)
    """`grading.types.ErrorClass` of a failed grade, where known."""
    attempts = models.PositiveSmallIntegerField(default=1)
    """Number of times the cell was graded until this grade: a failed one can be retried."""
    confidence = models.FloatField(null=True)
    expectation = models.FloatField(null=True)
    """Mean of the grader's distribution over the ratings, where the back-end has one."""
    context_chars = models.PositiveIntegerField(null=True)
    """Characters of the passage that the model saw, where it had to be cut."""
    call_items = models.PositiveSmallIntegerField(null=True)
    call_place = models.PositiveSmallIntegerField(null=True)
    """Number of items of its call; place, from 1, among all asked of its passage; None where it asked one."""
    job = models.ForeignKey(
        GradingJob, models.SET_NULL, null=True, related_name="grades", db_index=False, db_constraint=False
    )
    at = models.DateTimeField(auto_now_add=True)

    objects = GradeQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("revision", "config", "passage"), name="grade_unique_per_config"),
            models.CheckConstraint(condition=Q(rating__isnull=True) | IS_RATING, name="rating_within_scale"),
            models.CheckConstraint(
                condition=~Q(outcome=Outcome.FAILED.value) | Q(rating__isnull=True),
                name="failed_grade_has_no_rating",
            ),
        )
        indexes = (
            models.Index(fields=("config", "topic"), name="grades_by_config_and_topic"),
            models.Index(
                fields=("job", "error_class"),
                condition=Q(outcome=Outcome.FAILED.value),
                name="failed_grades_by_job",
            ),
        )

    def __str__(self) -> str:
        return f"{self.outcome} {self.rating}"


class MatrixStamp(models.Model):
    """A stamp that moves with every write to the grades of (config, topic), as the key of matrices."""

    config = models.ForeignKey(GraderConfig, on_delete=models.CASCADE, related_name="stamps")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="stamps")
    number = models.PositiveBigIntegerField(default=new_stamp)
    grades = models.PositiveIntegerField(default=0)
    """Number of grades: counters are maintained, not counted."""

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("config", "topic"), name="one_stamp_per_config_and_topic"),
        )

    def __str__(self) -> str:
        return f"stamp {self.number} of config {self.config_id}, topic {self.topic_id}"


class MatrixSnapshot(models.Model):
    """The ratings of (config, topic) as `matrices` packs them: derived, and never the truth."""

    config = models.ForeignKey(GraderConfig, on_delete=models.CASCADE, related_name="snapshots")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="snapshots")
    number = models.PositiveBigIntegerField()
    """Number of the `MatrixStamp` when it was made, plus `matrices.LAYOUT`; with another it is outdated."""
    content = models.BinaryField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("config", "topic"), name="one_snapshot_per_config_and_topic"),
        )

    def __str__(self) -> str:
        return f"ratings of config {self.config_id}, topic {self.topic_id} at stamp {self.number}"
