"""Imports through the browser: uploaded files, what a worker read in them, and what became of them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from rubricweb.core.redaction import MessageField
from rubricweb.corpus.models import Collection
from rubricweb.jobs.models import Task

NAME_LIMIT = 300


class ImportQuerySet(models.QuerySet[Any]):
    def imported(self) -> ImportQuerySet:
        """Return imports that were made, also those that a worker undoes now."""
        return self.filter(_MADE)

    def open(self) -> ImportQuerySet:
        """Return imports that were not made, or not yet."""
        return self.exclude(_MADE)


class Import(Task):
    """Files for a collection: a worker checks them, a person confirms, a worker imports them."""

    class Step(models.TextChoices):
        CHECK = "check", "check"
        WRITE = "write", "import"
        UNDO = "undo", "undo"

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="imports")
    step = models.CharField(max_length=20, choices=Step, default=Step.CHECK)
    """What the worker does, or did last."""
    options = models.JSONField(default=dict)
    """`contents.ImportOptions` as an object."""
    doing = models.CharField(max_length=NAME_LIMIT + 40, blank=True)
    """What the worker is at, for people."""
    done = models.PositiveBigIntegerField(default=0)
    """Bytes of the files that the worker has read, of `total`."""
    total = models.PositiveBigIntegerField(default=0)
    counts = models.JSONField(default=dict)
    """Kind -> new, changed and unchanged rows: what the import did, or after a check would do."""
    before = models.JSONField(default=dict)
    """Kind -> rows that the collection had."""
    notes = models.JSONField(default=list)
    problem = MessageField(blank=True)
    """Why the files cannot be imported together, although each can be read."""
    problem_file = models.CharField(max_length=NAME_LIMIT, blank=True)
    problem_line = models.PositiveBigIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    added = models.JSONField(default=dict)
    """`undo.Ranges`: the rows that the import added."""
    undone_at = models.DateTimeField(null=True)
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    objects = ImportQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"import {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("imports:import", args=[self.collection.slug, self.pk])

    @property
    def is_imported(self) -> bool:
        is_written = self.step == self.Step.WRITE and self.state == self.State.DONE
        return is_written or self.step == self.Step.UNDO


_MADE = Q(step=Import.Step.WRITE, state=Import.State.DONE) | Q(step=Import.Step.UNDO)


class ImportFile(models.Model):
    """An uploaded file, or one that was unpacked from an uploaded zip."""

    batch = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=NAME_LIMIT)
    """The uploaded name, with the path in the zip."""
    size = models.PositiveBigIntegerField()
    """Bytes, as staged."""
    digest = models.CharField(max_length=64)
    """SHA-256 of the bytes, in hexadecimal; empty for an upload that was not kept."""
    chosen_format = models.CharField(max_length=60, blank=True)
    """The format that a person named; empty to recognise it."""
    fitting_formats = models.JSONField(default=list)
    """The names of the formats that fit the content, where they are several and a person chooses."""
    format = models.CharField(max_length=60, blank=True)
    """The name of the format that it has (`grading.formats.registry`)."""
    author = models.CharField(max_length=200, blank=True)
    """Who made the labels or assignments in it, which such files do not say; empty where nobody is named."""
    read = models.CharField(max_length=80, blank=True)
    """What is in it, counted: "25 topics"."""
    preview = models.JSONField(default=list)
    """[line number, text] of its first lines, and of the one with the problem."""
    problem = MessageField(blank=True)
    problem_line = models.PositiveBigIntegerField(null=True)
    is_left_out = models.BooleanField(default=False)

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.name

    @property
    def is_kept(self) -> bool:
        return bool(self.digest)

    @property
    def question(self) -> tuple[str, ...]:
        """Return the formats among which a person chooses, and what was expected; empty without a choice."""
        expected = self.problem.rpartition("expected")[2]
        return (*self.fitting_formats, expected) if self.fitting_formats else ()
