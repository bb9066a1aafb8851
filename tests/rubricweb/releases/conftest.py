"""A collection small enough to score by hand, and its release as a zip in memory."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rubricweb.corpus.models import Collection
from rubricweb.releases.bundle import write_release
from rubricweb.releases.parts import ReleaseOptions, contents_of
from tests.worked import Worked, judge, worked

Files = dict[str, bytes]
"""By name in the zip."""


@pytest.fixture
def made(collection) -> Worked:
    made = worked(collection)
    judge(made)
    return made


@pytest.fixture
def released(tmp_path) -> Callable[..., Files]:
    """`released(collection, has_runs=True)`: the files of a release."""

    def files(collection: Collection, **options: object) -> Files:
        write_release(contents_of(collection, ReleaseOptions(**options)), tmp_path / "release.zip")
        return unzipped(tmp_path / "release.zip")

    return files


def unzipped(path: Path) -> Files:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
