"""Pools that are kept packed."""

from django.db import models


class PoolSnapshot(models.Model):
    """A topic's pool, rankings and judgments as `snapshots.pools` packs them: never the truth."""

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
