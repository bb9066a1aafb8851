"""Releases that were made in the browser: what was chosen, and what became of it."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import models
from django.urls import reverse

from rubricweb.corpus.models import Collection
from rubricweb.jobs.models import Task
from rubricweb.leaderboards.models import PublicBoard


class Release(Task):
    """One release: a worker writes its zip, which stays as it is until somebody deletes it."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="releases")
    title = models.CharField(max_length=200)
    license = models.CharField(max_length=200, blank=True)
    citation = models.TextField(blank=True)
    contact = models.CharField(max_length=200, blank=True)
    has_runs = models.BooleanField(default=False)
    """Whether it has the rankings and responses of the runs."""
    is_anonymous = models.BooleanField(default=False)
    """Runs and teams have pseudonyms, whose mapping is in `names`."""
    freezes_boards = models.BooleanField(default=False)
    """Its boards are published, frozen."""
    created_at = models.DateTimeField(auto_now_add=True)
    doing = models.CharField(max_length=80, blank=True)
    """What the worker is at, for people."""
    done = models.PositiveSmallIntegerField(default=0)
    """Parts that are written."""
    sha256 = models.CharField(max_length=64, blank=True)
    size = models.PositiveBigIntegerField(default=0)
    """Bytes of the zip."""
    files = models.JSONField(default=list)
    """`bundle.WrittenFile` as objects, without their losses, which the README has."""
    left_out = models.JSONField(default=list)
    """What is not in it and why, a sentence each."""
    names = models.JSONField(default=dict)
    """{"runs": {tag: name}, "teams": {team: name}}, for organizers only: no file of the zip has it."""
    still_named = models.JSONField(default=list)
    """Own names that texts of an anonymous release have, with their files: for organizers only."""
    boards = models.ManyToManyField(PublicBoard, related_name="releases")
    """The frozen boards that it published."""

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("releases:release", args=[self.collection.slug, self.pk]) + f"#release-{self.pk}"

    @property
    def path(self) -> Path:
        return Path(settings.DATA_DIR) / "releases" / f"{self.pk}.zip"

    @property
    def file_name(self) -> str:
        """Return the file name of the download: `autumn-1f3a9c2e.zip`."""
        return f"{self.collection.slug}-{self.sha256[:8]}.zip"
