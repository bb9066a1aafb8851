"""Uploads as a browser sends them, and a worker that takes what waits."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from rubricweb.corpus.models import Collection
from rubricweb.imports import kind, staging
from rubricweb.imports.models import Import
from rubricweb.jobs.worker import work_on

PAGE = "/collections/autumn/imports/"
QUERIES = '{"t1": "why leaves turn red"}\n'
QRELS = "t1 0 d1 3\nt1 0 d2 1\n"
RUN = "t1 Q0 d1 1 2.5 bm25\nt1 Q0 d2 2 1.5 bm25\n"
OPTIONS = {"bank_name": "main", "judgments": "", "min_relevant": "", "official_measure": ""}


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


@pytest.fixture
def client(client_of, owner) -> Client:
    return client_of(owner)


def sent(name: str, content: str | bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)


def zipped(files: dict[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


@pytest.fixture
def upload(client, collection: Collection) -> Callable[..., Import]:
    """`upload(**{"queries.json": "..."})` uploads files, and a worker checks them."""

    def uploaded(files: dict[str, str | bytes], *, pasted: str = "") -> Import:
        answer = client.post(PAGE, {"uploads": [sent(*file) for file in files.items()], "pasted": pasted})
        assert answer.status_code == 302, answer.context["form"].errors
        return worked(Import.objects.latest("pk"))

    return uploaded


def worked(batch: Import) -> Import:
    """As a worker leaves it."""
    work_on(kind.ImportKind.name, batch.pk)
    return Import.objects.get(pk=batch.pk)


def staged(batch: Import) -> list[str]:
    folder = staging.folder_of(batch)
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def started(client, django_capture_on_commit_callbacks):
    """Confirm an import with its options, and have a worker make it."""

    def start(batch: Import, **options: object) -> Import:
        assert client.post(f"{PAGE}{batch.pk}/start/", OPTIONS | options).status_code == 302
        with django_capture_on_commit_callbacks(execute=True):
            return worked(batch)

    return start
