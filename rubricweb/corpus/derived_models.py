"""What is computed from the corpus and stored: packed pools, near-duplicates, and scores of topics."""

from django.db import models

from grading.near_duplicates import THRESHOLD
from rubricweb.jobs.models import AskingChunk, LimitedJob, Task


class PoolSnapshot(models.Model):
    """A topic's pool, rankings and judgments as `topic_pools` packs them: never the truth."""

    topic = models.OneToOneField("corpus.Topic", on_delete=models.CASCADE, related_name="pool_snapshot")
    number = models.PositiveBigIntegerField()
    """The collection's stamp when it was made; with another it is out of date."""
    content = models.BinaryField()
    passages = models.PositiveIntegerField(null=True)
    """How many passages count; None in one that an earlier version made."""
    chars = models.PositiveBigIntegerField(null=True)
    """The characters of these."""

    def __str__(self) -> str:
        return f"pool of topic {self.topic_id} at stamp {self.number}"


class AttributeJob(LimitedJob):
    """A model that scores the attributes of topics, one call a topic; the scores are kept with the topics."""

    collection = models.ForeignKey(
        "corpus.Collection", on_delete=models.CASCADE, related_name="attribute_jobs"
    )
    backend = models.CharField(max_length=40)
    llm = models.CharField(max_length=200)
    prompt_id = models.CharField(max_length=100)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"attributes of topics by {self.llm}"


class AttributeChunk(AskingChunk):
    """One topic of a job."""

    job = models.ForeignKey(AttributeJob, on_delete=models.CASCADE, related_name="chunks")
    topic = models.ForeignKey("corpus.Topic", on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(fields=("job", "number"), name="attribute_chunk_number_once_a_job"),
        )
        indexes = (models.Index(fields=("state", "lease_until"), name="attribute_chunks_by_state"),)

    def __str__(self) -> str:
        return f"topic {self.topic.query_id} of {self.job}"

    @property
    def reply(self) -> str:
        """Return what the model wrote last; empty if it gave no answer."""
        kept = [reply for replies in self.replies.values() for reply in replies]
        return kept[-1] if kept else ""


class DuplicateSearch(Task):
    """One search among all passages of a collection."""

    collection = models.ForeignKey(
        "corpus.Collection", on_delete=models.CASCADE, related_name="duplicate_searches"
    )
    threshold = models.FloatField(default=THRESHOLD)
    """The Jaccard similarity of shingles from which on two passages are near-duplicates."""
    passages = models.PositiveIntegerField(default=0)
    """How many passages there were."""
    groups = models.PositiveIntegerField(default=0)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)
        verbose_name_plural = "duplicate searches"

    def __str__(self) -> str:
        return f"near-duplicates from {self.threshold:g} on"


class NearDuplicate(models.Model):
    """A passage that has near-duplicates: those with the same group number."""

    search = models.ForeignKey(DuplicateSearch, on_delete=models.CASCADE, related_name="members")
    passage = models.ForeignKey("corpus.Passage", on_delete=models.CASCADE, related_name="near_duplicates")
    group = models.PositiveIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("search", "passage"), name="passage_in_one_group_a_search"),
        )
        indexes = (models.Index(fields=("search", "group"), name="near_duplicates_by_group"),)

    def __str__(self) -> str:
        return f"passage {self.passage_id} in group {self.group}"
