"""What is computed from the corpus and stored: packed pools, and near-duplicates."""

from django.db import models

from grading.near_duplicates import THRESHOLD
from rubricweb.jobs.models import Task


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
