"""Models of human ratings of cells, verdicts on answers, and random draws of cells."""

from __future__ import annotations

import uuid
from hashlib import blake2b
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q

from grading.types import CONTRADICTS, MAX_RATING, MIN_RATING
from rubricweb.banks.models import ItemRevision
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection, Passage, Topic

IS_RATING = Q(rating=CONTRADICTS) | Q(rating__gte=MIN_RATING, rating__lte=MAX_RATING)
"""That a column `rating` holds a rating."""


class Draw(models.Model):
    """A random draw of cells for people to rate. Estimates use the cells of draws only.

    The chance of each cell is kept with it (`CampaignCell.draw_probability`).
    """

    class Design(models.TextChoices):
        CELLS = "cells", "all cells alike"
        COVER = "cover", "a sample that estimates Rubric-Cover"
        ANSWERS = "answers", "single cells, a sample that estimates scores of whole answers"
        PASSAGES = "passages", "whole passages, a sample that estimates P@k"
        DECIDING = "deciding", "cells that decide a run's Rubric-Cover"  # of earlier versions

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="draws")
    design = models.CharField(max_length=20, choices=Design)
    configs = models.ManyToManyField("grades.GraderConfig", related_name="+")
    """Graders whose ratings split the cells at the threshold; none where it serves all graders."""
    cutoff = models.PositiveSmallIntegerField(null=True)
    """Cutoff of the draw; None for all cells alike."""
    min_grade = models.PositiveSmallIntegerField(null=True)
    """Threshold of the draw; None where it serves all thresholds."""
    revisions = models.JSONField(default=list)
    """Primary keys of the wordings whose cells could be drawn."""
    passages = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    """Primary keys of the passages whose cells could be drawn; empty for those of the pool."""
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"draw {self.pk}: {self.get_design_display()}"


class HumanGradeQuerySet(models.QuerySet[Any]):
    def standing(self) -> HumanGradeQuerySet:
        """Return each person's latest of these events for a cell, unless it withdraws the rating."""
        cell = {name: OuterRef(name) for name in ("by", "revision", "passage")}
        later = self.filter(**cell, number__gt=OuterRef("number"))
        return self.filter(~Exists(later), is_withdrawn=False)


class HumanGrade(models.Model):
    """A person's rating of one wording and one passage. Append-only: the highest number counts.

    `number` counts the person's events for the cell, so that of two writers who saw the same number one is
    refused. A change of mind, an undo (`is_withdrawn`) and an adjudication are events of their own.
    """

    class How(models.TextChoices):
        """The kind of work in which a rating was made, and so what the person had seen."""

        GRID = "grid", "own rating in the grid"
        BLIND = "blind", "rated before seeing the grader's rating"
        ASSISTED = "assisted", "rated beside the grader's rating"
        VERIFIED = "verified", "checked the grader's rating"
        ADJUDICATED = "adjudicated", "decided between assessors"
        IMPORTED = "imported", "rated in another tool"

    class Verdict(models.TextChoices):
        """A person's verdict on the displayed rating of a grader."""

        RIGHT = "right", "right"
        WRONG = "wrong", "wrong"

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="human_grades")
    revision = models.ForeignKey(ItemRevision, on_delete=models.CASCADE, related_name="human_grades")
    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="human_grades")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="human_grades")
    number = models.PositiveIntegerField()
    rating = models.SmallIntegerField(null=True)
    """Rating; None where the grader was only found wrong, or the person withdrew the rating."""
    verdict = models.CharField(max_length=10, choices=Verdict, blank=True)
    how = models.CharField(max_length=20, choices=How)
    is_withdrawn = models.BooleanField(default=False)
    draw = models.ForeignKey(Draw, null=True, on_delete=models.RESTRICT, related_name="ratings")
    """Random draw that selected the cell; None where a person chose it."""
    config = models.ForeignKey("grades.GraderConfig", null=True, on_delete=models.PROTECT, related_name="+")
    """Grader whose rating the person had seen, or gave a verdict of."""
    seen_rating = models.SmallIntegerField(null=True)
    """The grader's rating, as it was then."""
    uid = models.UUIDField(unique=True, default=uuid.uuid4)
    """Id made by the client, so that what is submitted twice is saved once."""
    at = models.DateTimeField(auto_now_add=True)

    objects = HumanGradeQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("revision", "passage", "by", "number"), name="human_grades_in_turn"
            ),
            models.CheckConstraint(
                condition=Q(rating__isnull=True) | IS_RATING, name="human_rating_within_scale"
            ),
            models.CheckConstraint(
                condition=Q(is_withdrawn=True, rating__isnull=True, verdict="")
                | Q(is_withdrawn=False) & (Q(rating__isnull=False) | ~Q(verdict="")),
                name="human_grade_says_something",
            ),
        )
        indexes = (models.Index(fields=("topic", "revision", "passage"), name="human_grades_by_cell"),)

    def __str__(self) -> str:
        return f"{self.by} said {self.verdict or self.rating}"


class HumanStamp(models.Model):
    """A stamp that moves with every human grade and verdict of a topic, as the key of human matrices."""

    topic = models.OneToOneField(Topic, on_delete=models.CASCADE, related_name="human_stamp")
    number = models.PositiveBigIntegerField(default=new_stamp)

    def __str__(self) -> str:
        return f"human stamp {self.number} of topic {self.topic_id}"


def answer_digest(answer: str) -> str:
    """Return a short digest by which a page and its server recognize the same answer."""
    return blake2b(answer.encode(), digest_size=8).hexdigest()


class AnswerVerdict(models.Model):
    """A person's verdict on an answer that a grader verified. Append-only: the highest number counts.

    Separate from `HumanGrade`, which rates the passage: an answer may be wrong where the passage has a right
    one. `number` counts the person's events for this grader's verdict on this cell.
    """

    config = models.ForeignKey("grades.GraderConfig", on_delete=models.PROTECT, related_name="+")
    """Grader that verified the answer."""
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="answer_verdicts")
    revision = models.ForeignKey(ItemRevision, on_delete=models.CASCADE, related_name="answer_verdicts")
    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="answer_verdicts")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="answer_verdicts")
    number = models.PositiveIntegerField()
    is_right = models.BooleanField(null=True)
    """Whether the answer is right; None where the person withdrew the verdict."""
    answer = models.TextField()
    """The answer that the person read: the verdict holds for no other."""
    seen_rating = models.SmallIntegerField()
    """The grader's verdict as it was then: 1 right, 0 wrong."""
    uid = models.UUIDField(unique=True, default=uuid.uuid4)
    """Id made by the client, so that what is submitted twice is saved once."""
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
        """Return "right" or "wrong" for the grader's verdict; empty where it was withdrawn."""
        if self.is_right is None:
            return ""
        agrees = self.is_right == bool(self.seen_rating)
        return "right" if agrees else "wrong"
