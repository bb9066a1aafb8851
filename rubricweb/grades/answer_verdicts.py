"""People's verdicts on answers that a grader verified."""

import uuid
from hashlib import blake2b

from django.conf import settings
from django.db import models

from rubricweb.banks.models import ItemRevision
from rubricweb.corpus.models import Passage, Topic


def answer_digest(answer: str) -> str:
    """Return a short digest, by which a page and its server know whether they mean the same answer."""
    return blake2b(answer.encode(), digest_size=8).hexdigest()


class AnswerVerdict(models.Model):
    """What a person said of an answer that a grader verified. Append-only: the highest number counts.

    Apart from `HumanGrade`, whose ratings are of the passage: an answer may be wrong where the passage has a
    right one. `number` counts what this person said of this grader's verdict on this cell.
    """

    config = models.ForeignKey("grades.GraderConfig", on_delete=models.PROTECT, related_name="+")
    """The grader that verified the answer."""
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="answer_verdicts")
    revision = models.ForeignKey(ItemRevision, on_delete=models.CASCADE, related_name="answer_verdicts")
    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="answer_verdicts")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="answer_verdicts")
    number = models.PositiveIntegerField()
    is_right = models.BooleanField(null=True)
    """Whether the answer is right; None where the person took back what they said."""
    answer = models.TextField()
    """The answer that the person read: the verdict holds for no other."""
    seen_rating = models.SmallIntegerField()
    """The grader's verdict as it was then: 1 right, 0 wrong."""
    uid = models.UUIDField(unique=True, default=uuid.uuid4)
    """Made where the person decided: what is sent twice is saved once."""
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("config", "revision", "passage", "by", "number"), name="answer_verdicts_in_turn"
            ),
        )
        indexes = (models.Index(fields=("config", "topic"), name="answer_verdicts_by_topic"),)

    def __str__(self) -> str:
        return f"{self.by} said {self.is_right}"

    @property
    def is_withdrawn(self) -> bool:
        return self.is_right is None

    @property
    def verdict(self) -> str:
        """Of the grader's verdict: "right" or "wrong"; empty where it was taken back."""
        if self.is_right is None:
            return ""
        agrees = self.is_right == bool(self.seen_rating)
        return "right" if agrees else "wrong"
