"""Archives, deletions and restorations of collections that were asked for in the browser."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import models
from django.urls import reverse

from rubricweb.corpus.models import Collection
from rubricweb.imports import staging
from rubricweb.imports.models import NAME_LIMIT
from rubricweb.jobs.models import Task


class Archive(Task):
    """A worker writes it to the data folder. Of a collection the newest one is kept."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="archives")
    slug = models.CharField(max_length=80)
    """The collection's, as a name for the file."""
    state_digest = models.CharField(max_length=64, blank=True)
    """Digest of the archived state: see `actions.state_digest`."""
    row_count = models.PositiveBigIntegerField(default=0)
    size = models.PositiveBigIntegerField(default=0)
    """Bytes."""
    sha256 = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"archive {self.pk} of {self.slug}"

    def get_absolute_url(self) -> str:
        return reverse("archives:archive", args=[self.collection.slug])

    @property
    def path(self) -> Path:
        """Return the file's path; it stays when the collection is deleted, for the server's administrator."""
        return Path(settings.DATA_DIR) / "archives" / f"{self.slug}-{self.pk}.zip"

    @property
    def is_there(self) -> bool:
        return self.state == self.State.DONE and self.path.is_file()


class Deletion(Task):
    """A collection that somebody has deleted, or that a worker is to delete."""

    collection_key = models.PositiveBigIntegerField()
    """The collection's key. No foreign key: this row stays when the collection goes."""
    slug = models.CharField(max_length=80)
    name = models.CharField(max_length=200)
    goes_without_archive = models.BooleanField(default=False)
    """Delete it although no archive holds its present state."""

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"deletion of {self.slug}"

    def get_absolute_url(self) -> str:
        return reverse("archives:deletion", args=[self.pk])


class Restoration(Task):
    """An uploaded archive of which a worker makes a collection."""

    file_name = models.CharField(max_length=NAME_LIMIT)
    """The name of the file as it was uploaded."""
    size = models.PositiveBigIntegerField(default=0)
    """Bytes."""
    slug = models.CharField(max_length=80, blank=True)
    """What the collection shall be called; empty for the slug that it had. Then the one that it has."""
    collection_key = models.PositiveBigIntegerField(null=True)
    """The key of the restored collection. No foreign key: this row belongs to no collection."""
    total = models.PositiveBigIntegerField(default=0)
    """Rows of the archive."""
    done = models.PositiveBigIntegerField(default=0)
    """Part of `total`."""
    members = models.JSONField(default=list)
    """User names of the archive that are known here."""
    strangers = models.JSONField(default=list)
    """User names for which accounts were made with which nobody can sign in."""

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"restoration {self.pk} of {self.file_name}"

    def get_absolute_url(self) -> str:
        return reverse("archives:restoration", args=[self.pk])

    @property
    def made(self) -> Collection | None:
        """Return the collection that it made, if it is still there."""
        return Collection.objects.filter(pk=self.collection_key).first()

    @property
    def path(self) -> Path:
        """Return the path of the upload until its restoration ends, in a folder named by the key."""
        folder = Path(settings.DATA_DIR) / "restorations" / str(self.pk)
        return folder / staging.file_name(self.file_name)
