"""Models of blocks of raw replies, and of how long a collection keeps them."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from rubricweb.corpus.models import Collection, Topic


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
