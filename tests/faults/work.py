"""What an installation is at while things break: a grading job, an import, a generation, a release.

Each is looked at from outside, by its rows and files. What ends as failed because its worker was killed
MAX_ATTEMPTS times is started again, as a person would, and counted in `again`.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import close_old_connections
from django.db.models import Count, Sum

from grading.systems.pipeline import Answering, SystemSpec
from rubricweb.corpus.models import Collection, Run
from rubricweb.grades import actions as grading
from rubricweb.grades.configs import config_for
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.imports import actions as importing, staging
from rubricweb.imports.models import Import
from rubricweb.jobs import steering
from rubricweb.jobs.limits import Limits
from rubricweb.jobs.models import Job
from rubricweb.releases.actions import start_release
from rubricweb.releases.models import Release
from rubricweb.systems import actions as generating
from tests import factories
from tests.rubricweb.grades.counting import BACKEND
from tests.rubricweb.import_files import passage, rated
from tests.worked import worked

TOPICS, PASSAGES, ITEMS = 3, 20, 4
IMPORTED = 300
"""Passages, of one rating each."""


class Grading:
    """Cells lost, doubled, or of another count than the job says."""

    again = 0

    def __init__(self, slug: str) -> None:
        collection = factories.CollectionFactory(slug=slug)
        factories.gradable(collection, topics=TOPICS, passages=PASSAGES, items=ITEMS)
        config = config_for(BACKEND.name, "counted", "LexicalBaseline")
        (self.job,) = grading.start_grading(collection, by=None, configs=[config])

    def has_ended(self) -> bool:
        self.job = GradingJob.objects.get(pk=self.job.pk)
        if self.job.state == Job.State.FAILED:
            steering.retry(self.job)
            self.again += 1
        return self.job.state == Job.State.DONE

    def faults(self) -> list[str]:
        rows = Grade.objects.filter(topic__collection=self.job.collection_id)
        cells = rows.values("revision", "passage").annotate(n=Count("pk"))
        lost = TOPICS * PASSAGES * ITEMS - cells.count()
        counted = self.job.chunks.aggregate(done=Sum("done"), failed=Sum("failed"))
        found = [f"{lost} cells lost"] if lost else []
        found += [f"doubled: {list(cells.filter(n__gt=1))}"] if cells.filter(n__gt=1).exists() else []
        if counted != {"done": self.job.total, "failed": 0} or self.job.total != rows.count():
            found.append(f"the job counts {counted} of {self.job.total}, {rows.count()} rows")
        return found


class Importing:
    """An import that was seen half done, or that ends with another number of rows than its files have."""

    again = 0

    def __init__(self, slug: str) -> None:
        self.collection = factories.CollectionFactory(slug=slug)
        person = factories.MembershipFactory(collection=self.collection, role="organizer").user
        self.batch = importing.begin_import(self.collection, by=person)
        uid = f"{slug}/00000000000000000000000000000000"
        passages = [passage(f"{slug}-{n}", rated({uid: n % 6}), text="A passage.") for n in range(IMPORTED)]
        files = {"queries.json": json.dumps({slug: "why"}), "graded.jsonl": json.dumps([slug, passages])}
        uploads = [SimpleUploadedFile(name, text.encode()) for name, text in files.items()]
        importing.add_files(self.batch, uploads)
        importing.start_check(self.batch)
        self.seen: set[tuple[int, int]] = set()

    def has_ended(self) -> bool:
        self.batch = Import.objects.get(pk=self.batch.pk)
        self.seen.add(self._rows())
        if self.batch.state == Import.State.FAILED:
            self.again += 1
        elif self.batch.state != Import.State.DONE or self.batch.is_imported:
            return self.batch.is_imported
        importing.start_import(self.batch) if self.batch.counts else importing.start_check(self.batch)
        return False

    def _rows(self) -> tuple[int, int]:
        """Passages and grades, read in one statement."""
        grades = Count("topics__grades", distinct=True)
        one = Collection.objects.annotate(p=Count("passages", distinct=True), g=grades)
        row = one.values_list("p", "g").get(pk=self.collection.pk)
        return int(row[0]), int(row[1])

    def faults(self) -> list[str]:
        whole = {(0, 0), (IMPORTED, IMPORTED)}
        found = [] if self.seen <= whole else [f"an import was half done: {self.seen - whole}"]
        if self._rows() != (IMPORTED, IMPORTED):
            found.append(f"the import has {self._rows()} rows of {IMPORTED}")
        if staging.folder_of(self.batch).exists():
            found.append("the files of an import that was made are still there")
        return found


class Generating:
    """A run that lacks an answer, or that does not count."""

    again = 0

    def __init__(self, slug: str) -> None:
        collection = factories.CollectionFactory(slug=slug)
        topics = factories.TopicFactory.create_batch(6, collection=collection)
        for topic in topics:
            factories.PassageFactory(collection=collection, text=f"{topic.text} Here is the answer to it.")
        spec = SystemSpec(answering=Answering.SENTENCES)
        self.job: Any = generating.start(
            collection, spec, run_tag="own", topics=topics, limits=Limits(99), by=None
        )

    def has_ended(self) -> bool:
        self.job = type(self.job).objects.select_related("run").get(pk=self.job.pk)
        if self.job.state == Job.State.FAILED:
            generating.make_rest(self.job, by=None)
            self.again += 1
        return bool(self.job.state == Job.State.DONE)

    def faults(self) -> list[str]:
        answers = self.job.run.responses.count()
        found = [] if answers == self.job.total else [f"{answers} answers of {self.job.total}"]
        counts = self.job.run.state == Run.State.ACCEPTED
        return found if counts else [*found, f"the run is {self.job.run.state}"]


class Releasing:
    """A release whose zip is not what its row says."""

    again = 0

    def __init__(self, slug: str) -> None:
        made = worked(factories.CollectionFactory(slug=slug))
        self.person = factories.MembershipFactory(collection=made.collection, role="organizer").user
        self.release = self._started(made.collection)

    def _started(self, collection: Collection) -> Release:
        return start_release(Release(collection=collection, title="One", has_runs=True), by=self.person)

    def has_ended(self) -> bool:
        self.release = Release.objects.get(pk=self.release.pk)
        if self.release.state == Release.State.FAILED:
            self.release = self._started(self.release.collection)
            self.again += 1
        return self.release.state == Release.State.DONE

    def faults(self) -> list[str]:
        digest = hashlib.sha256(self.release.path.read_bytes()).hexdigest()
        with zipfile.ZipFile(self.release.path) as archive:
            is_whole = archive.testzip() is None and len(archive.namelist()) > len(self.release.files) > 0
        is_same = digest == self.release.sha256
        return [] if is_whole and is_same else [f"the zip is whole: {is_whole}, as its row says: {is_same}"]


KINDS = (Grading, Importing, Generating, Releasing)
Work = Grading | Importing | Generating | Releasing


def unfinished(started: list[Work]) -> list[Work]:
    close_old_connections()
    return [work for work in started if not work.has_ended()]
