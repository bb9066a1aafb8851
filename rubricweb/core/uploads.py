"""Limit what one request may upload, and write it: a file over the limit is left out and named."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest


class LimitedUploads(FileUploadHandler):
    """Comes before the handlers that keep files; `too_large` has the names of those that were left out."""

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self.left = settings.UPLOAD_BYTES

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        self.left -= len(raw_data)
        if self.left < 0:
            self.left += start + len(raw_data)
            too_large(self.request).append(self.file_name or "file")
            raise SkipFile
        return raw_data

    def file_complete(self, file_size: int) -> UploadedFile[bytes] | None:
        """The next handler has the file."""
        return None


def write_chunks(path: Path, chunks: Iterable[bytes]) -> tuple[int, str]:
    """Write a file, and return its bytes and its SHA-256 in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("wb") as target:
        for chunk in chunks:
            digest.update(chunk)
            target.write(chunk)
    return path.stat().st_size, digest.hexdigest()


def too_large(request: HttpRequest | None) -> list[str]:
    """Return the names of the request's files that exceeded `settings.UPLOAD_BYTES`, all files together."""
    names: list[str] = request.__dict__.setdefault("_too_large_uploads", [])
    return names
