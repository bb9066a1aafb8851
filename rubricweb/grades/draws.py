"""Random draws of cells for people to rate: what estimates of people's scores stand on."""

from __future__ import annotations

from django.db import models

from rubricweb.corpus.models import Collection


class Draw(models.Model):
    """A random draw of cells for people to rate. Estimates stand on the cells of draws, and on no others.

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
    """The graders whose ratings split the cells at the threshold; none where it serves all graders."""
    cutoff = models.PositiveSmallIntegerField(null=True)
    """None for all cells alike."""
    min_grade = models.PositiveSmallIntegerField(null=True)
    """None where it serves all thresholds."""
    revisions = models.JSONField(default=list)
    """Primary keys of the wordings whose cells could be drawn."""
    passages = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    """Primary keys of the passages whose cells could be drawn; empty for those of the pool."""
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "grades"
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"draw {self.pk}: {self.get_design_display()}"
