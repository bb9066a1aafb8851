"""The corpus of an evaluation: topics, pooled passages, runs and human judgments."""

import secrets

from django.conf import settings
from django.db import models
from django.urls import reverse

import rubricweb.corpus.derived_models  # noqa: F401  (models of this app)
from grading import prompts
from rubricweb.core.models import new_stamp
from rubricweb.corpus.querysets import CollectionManager, CollectionQuerySet, RunQuerySet, TopicQuerySet

OFFICIAL = "official"
"""The name of an official leaderboard without one."""


def new_salt() -> str:
    """Return the secret from which a collection's pseudonyms are derived."""
    return secrets.token_urlsafe(24)


class Collection(models.Model):
    """A test collection: one track, one year, one task."""

    class BlindSums(models.TextChoices):
        LEFT_OUT = "left_out", "show them without those pairs"
        REFUSED = "refused", "show none until the pairs are rated"

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    min_relevant = models.PositiveSmallIntegerField(default=1)
    """The lowest judgment that counts as relevant (DL and LLMJudge: 2)."""
    grader_backend = models.CharField(max_length=40, default="lexical")
    grader_llm = models.CharField(max_length=200, default="lexical")
    """The model of the grader that re-grades; `grades.configs.active_configs` has a config per prompt."""
    grader_prompts = models.JSONField(default=list, blank=True)
    """Classes of published prompts and ids of own ones; empty for the back-end's defaults."""
    grader_options = models.JSONField(default=dict, blank=True)
    """Values of `registry.Backend.options` by name, without defaults."""
    answers_by = models.CharField(max_length=64, blank=True, default="")
    """The fingerprint of the grader whose extracted answers are verified; empty for the grader itself."""
    default_grader = models.CharField(max_length=64, blank=True, default="")
    """The fingerprint of the grader that pages show; empty until grades come in or somebody chooses."""
    pool_rule = models.JSONField(default=dict, blank=True)
    """How deep runs are pooled, as `pooling.PoolRule` writes it; empty where files say what is pooled."""
    stamp = models.PositiveBigIntegerField(default=new_stamp)
    """Changed by every import of pools, runs or judgments; caches of those are keyed by it."""
    name_salt = models.CharField(max_length=40, default=new_salt, editable=False)
    blind_sums = models.CharField(max_length=20, choices=BlindSums, default=BlindSums.LEFT_OUT)
    """What boards and files show to people who have cells to rate blind."""
    public_counts_blind = models.BooleanField(default=False)
    """Public boards also count cells that assessors have to rate blind, and assessors can read them."""
    shows_run_tags = models.BooleanField(default=False)
    """Assessors and viewers see the names of runs instead of pseudonyms."""
    requires_calibration = models.BooleanField(default=False)
    """Boards are published only with a current calibration card of their grader."""
    assessors_edit = models.BooleanField(default=True)
    assessors_grade = models.BooleanField(default=True)
    """Assessors may start grading, up to `assessors_grade_up_to` dollars a click."""
    assessors_grade_up_to = models.DecimalField(max_digits=8, decimal_places=2, default=1)
    is_being_deleted = models.BooleanField(default=False)
    """A worker deletes it, or will: `archives.Deletion`."""
    is_gone = models.BooleanField(default=False)
    """Deleted for everybody; a worker still removes its rows, some at a time."""
    cold_at = models.DateTimeField(null=True, blank=True, editable=False)
    """Since when its grades are in cold storage (`grades.cold`); None while they are rows."""
    created_at = models.DateTimeField(auto_now_add=True)

    objects = CollectionManager()
    including_gone = CollectionQuerySet.as_manager()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("leaderboards:board" if self.cold_at else "home:collection", args=[self.slug])

    @property
    def channel(self) -> str:
        """Return the Redis channel of this collection's live events."""
        return f"rubricweb:collection:{self.pk}"


class OwnPrompt(models.Model):
    """A collection's own prompt. It never changes: another text is another row."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="prompts")
    prompt_class = models.CharField(max_length=64)
    version = models.CharField(max_length=20)
    """A digest of its definition."""
    definition = models.JSONField()
    """The prompt as `grading.prompts.as_options` writes it; grader configs keep a copy."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    put_away_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("prompt_class", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("collection", "prompt_class", "version"), name="own_prompt_once_a_collection"
            ),
        )

    def __str__(self) -> str:
        return self.prompt_id

    @property
    def prompt_id(self) -> str:
        return f"{self.prompt_class}@{self.version}"

    @property
    def prompt(self) -> prompts.Prompt:
        return prompts.from_options(self.prompt_class, self.definition)

    @property
    def is_put_away(self) -> bool:
        return self.put_away_at is not None


class Topic(models.Model):
    """A query or information need."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="topics")
    query_id = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    """The query, or the title where a track has one."""
    description = models.TextField(blank=True, default="")
    narrative = models.TextField(blank=True, default="")
    """What a relevant passage says; the problem statement of AutoJudge."""
    background = models.TextField(blank=True, default="")
    """Who asks, and what for."""
    limit_words = models.PositiveIntegerField(null=True, blank=True)
    limit_characters = models.PositiveIntegerField(null=True, blank=True)
    attributes = models.JSONField(default=dict, blank=True)
    """Categories and scores of the topic by their names, from files and people."""
    attribute_sources = models.JSONField(default=dict, blank=True)
    """By attribute what a model says of it, and whether a person decided: see `topic_attributes`."""
    foreign = models.JSONField(null=True, blank=True)
    """The topic's JSON object as its file has it; None for topics of TSV."""
    position = models.PositiveIntegerField()

    objects = TopicQuerySet.as_manager()

    class Meta:
        ordering = ("position",)
        constraints = (
            models.UniqueConstraint(fields=("collection", "query_id"), name="query_id_once_a_collection"),
        )

    def __str__(self) -> str:
        return f"{self.query_id}: {self.text}" if self.text else self.query_id

    @property
    def has_details(self) -> bool:
        """Return whether the track says more of the topic than its query."""
        return bool(self.description or self.narrative or self.background or self.attributes)

    @property
    def attribute_words(self) -> list[tuple[str, str]]:
        """Return pairs of name and value; categories stand side by side."""
        return [
            (name, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
            for name, value in self.attributes.items()
        ]


class Subtopic(models.Model):
    """A facet of a topic (TREC CAR); items may belong to one."""

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="subtopics")
    facet_id = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ("position",)
        constraints = (models.UniqueConstraint(fields=("topic", "facet_id"), name="facet_id_once_a_topic"),)

    def __str__(self) -> str:
        return self.text or self.facet_id


class Passage(models.Model):
    """A retrieved or generated text; generated ones have md5(text) as id (RAG'24, Table 7)."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="passages")
    doc_id = models.CharField(max_length=300)
    text = models.TextField()
    title = models.TextField(blank=True, default="")
    url = models.TextField(blank=True, default="")
    headings = models.TextField(blank=True, default="")
    """One a line, from the document's to the passage's own."""
    start_char = models.PositiveIntegerField(null=True, blank=True)
    """The first character of a segment in its document, from 0; `end_char` is the one after its last."""
    end_char = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("collection", "doc_id"), name="doc_id_once_a_collection"),
        )
        indexes = [models.Index(fields=["collection"], condition=models.Q(text=""), name="passages_textless")]

    def __str__(self) -> str:
        return self.doc_id


class Pooled(models.Model):
    """A passage in the pool of a topic, in the collection's order."""

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="pool")
    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="pooled_in")
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ("position",)
        verbose_name_plural = "pooled"
        constraints = (
            models.UniqueConstraint(fields=("topic", "passage"), name="passage_pooled_once_a_topic"),
        )

    def __str__(self) -> str:
        return f"passage {self.passage_id} of topic {self.topic_id}"


class Run(models.Model):
    """A system's submission. Only accepted runs are on boards, in pools, figures and files."""

    class State(models.TextChoices):
        SUBMITTED = "submitted", "submitted"
        ACCEPTED = "accepted", "accepted"
        REJECTED = "rejected", "rejected"
        WITHDRAWN = "withdrawn", "withdrawn"

    class Type(models.TextChoices):
        UNKNOWN = "", "unknown"
        AUTOMATIC = "automatic", "automatic"
        MANUAL = "manual", "manual"

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="runs")
    run_tag = models.CharField(max_length=200)
    is_from_file = models.BooleanField(default=False)
    """Whether it comes from a run file, which takes precedence over `rankings` of a graded file."""
    state = models.CharField(max_length=20, choices=State, default=State.ACCEPTED)
    rejection = models.TextField(blank=True, default="", db_default="")
    """Why organizers rejected it, as its team reads it."""
    team = models.CharField(max_length=100, blank=True)
    task = models.CharField(max_length=100, blank=True)
    type = models.CharField(max_length=20, choices=Type, blank=True, default=Type.UNKNOWN)
    priority = models.PositiveSmallIntegerField(null=True, blank=True)
    """The team's order of its runs: 1 is judged first."""
    description = models.TextField(blank=True)
    tags = models.JSONField(default=list, blank=True)
    """Words by which organizers group runs."""
    llm = models.CharField(max_length=200, blank=True)
    """The language model that wrote its answers or ordered its passages; empty for none, or if unknown."""
    is_closed_book = models.BooleanField(default=False)
    """Its answers come from what a model knows: it retrieves nothing, and stands on boards with a star."""
    is_made_here = models.BooleanField(default=False)
    """Whether the workbench made it; `systems` has how."""
    submitted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    submitted_at = models.DateTimeField(null=True, blank=True)
    """None for runs that an organizer imported."""
    version = models.PositiveIntegerField(default=1)
    """Counts the edits of its description, so that a writer does not overwrite what they have not seen."""

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ("run_tag",)
        constraints = (
            models.UniqueConstraint(fields=("collection", "run_tag"), name="run_tag_once_a_collection"),
            models.CheckConstraint(
                condition=~models.Q(state="rejected") | ~models.Q(rejection=""),
                name="rejected_runs_have_a_reason",
            ),
        )

    def __str__(self) -> str:
        return self.run_tag

    @property
    def is_accepted(self) -> bool:
        return self.state == self.State.ACCEPTED

    @property
    def is_unfinished(self) -> bool:
        """Return whether it is our own and not complete; it counts by itself once it is."""
        return self.is_made_here and self.state == self.State.SUBMITTED


class Ranking(models.Model):
    """One run's passages for one topic, best first, including those outside the pool."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="rankings")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="rankings")
    doc_ids = models.JSONField()
    scores = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=("run", "topic"), name="one_ranking_per_run_and_topic")]

    def __str__(self) -> str:
        return f"ranking of run {self.run_id} for topic {self.topic_id}"


class Response(models.Model):
    """One run's generated answer to one topic."""

    class PassagesOf(models.TextChoices):
        SENTENCE = "sentence", "each sentence"
        PARAGRAPH = "paragraph", "each paragraph"
        RESPONSE = "response", "the whole response"
        WHOLE = "whole", "the whole response, however long"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="responses")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="responses")
    sentences = models.JSONField()
    """In order: {"text": …, "citations": [[doc id, score or null], …] or null where the file says none}."""
    references = models.JSONField(null=True, blank=True)
    """Doc ids; null where the file has no list."""
    documents = models.JSONField(default=dict, blank=True)
    """Texts by doc id, where the response brings them along."""
    foreign = models.JSONField(null=True, blank=True)
    """The object of the file as it was read."""
    passages_of = models.CharField(max_length=20, choices=PassagesOf)
    """What became a passage: the run's ranking for the topic has them in order."""

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("run", "topic"), name="one_response_per_run_and_topic"),
        )

    def __str__(self) -> str:
        return f"response of run {self.run_id} to topic {self.topic_id}"

    @property
    def is_one_text(self) -> bool:
        """Return whether it came as one text, of whose sentences and citations nothing is known."""
        is_whole = self.passages_of == self.PassagesOf.WHOLE
        return is_whole and [sentence["citations"] for sentence in self.sentences] == [None]


class Judgment(models.Model):
    """A human relevance label from the collection."""

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="judgments")
    facet_id = models.CharField(max_length=200, blank=True)
    doc_id = models.CharField(max_length=300)
    relevance = models.SmallIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("topic", "facet_id", "doc_id"), name="one_judgment_per_topic_facet_doc"
            ),
        )

    def __str__(self) -> str:
        return f"{self.doc_id}: {self.relevance}"


class OfficialScore(models.Model):
    """A run's place on an official leaderboard: a rank (lower is better) or a score (higher is better)."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="official_scores")
    board = models.CharField(max_length=80, default=OFFICIAL)
    """The name of the leaderboard; a track may have several, one a measure or year."""
    run_tag = models.CharField(max_length=200)
    topic = models.ForeignKey(Topic, null=True, on_delete=models.CASCADE, related_name="official_scores")
    """None for the run's place on the board; else its score on this topic."""
    value = models.FloatField()
    is_rank = models.BooleanField()
    measure = models.TextField(blank=True)
    """The measure's name in a file that had several; like the source, only in a run's row without a topic."""
    source = models.TextField(blank=True)
    """The name of the file, or the publication of a board that comes with the product."""

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("collection", "board", "run_tag"),
                condition=models.Q(topic__isnull=True),
                name="one_score_per_official_board_and_run",
            ),
            models.UniqueConstraint(
                fields=("board", "run_tag", "topic"), name="one_score_per_official_board_run_and_topic"
            ),
        )

    def __str__(self) -> str:
        return f"{self.run_tag}: {self.value}"
