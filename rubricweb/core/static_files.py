"""How `collectstatic` stores files: those that pages ask for, compressed as much as is worth the time.

Compressing takes nearly all of the time. Without these rules it takes ten times as much: for copies that
nobody is sent since pages name files by their hashes, for source maps, and for the last percents of size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import brotli
from django.contrib.staticfiles.finders import AppDirectoriesFinder
from django.core.files.storage import Storage
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage

UNUSED = ("redoc", "rest_framework")
"""Folders of libraries of which no page has a file."""
NOT_COMPRESSED = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")
LIBRARIES = ("admin/", "drf_spectacular_sidecar/")
"""What few people ever load; htmx is in the bundles."""
WELL, QUICKLY = 10, 9
"""Qualities of brotli: the best, 11, takes twice the time of 10 for 2 % less, and five times that of 9."""


class LibraryFinder(AppDirectoriesFinder):
    """Finder of the files of libraries, without those that no page has."""

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:
        yield from super().list([*(ignore_patterns or ()), *UNUSED])


class BrotliCompressor(Compressor):  # type: ignore[misc]  # of a library without types
    def __init__(self, *, quality: int, **options: Any) -> None:  # Any: as whitenoise takes them
        super().__init__(**{**options, "extensions": NOT_COMPRESSED})
        self.quality = quality

    def compress_brotli(self, data: bytes) -> bytes:
        compressed: bytes = brotli.compress(data, quality=self.quality)
        return compressed


class HashedStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # likewise
    """Storage of files by their hashes, of which the hashed ones are compressed."""

    quality = WELL

    def create_compressor(self, **options: Any) -> Compressor:
        return BrotliCompressor(quality=self.quality, **options)

    def compress_files(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        hashed = {self.clean_name(name) for name in self.hashed_files.values()}.intersection(paths)
        of_libraries = {name for name in hashed if name.startswith(LIBRARIES)}
        for self.quality, names in ((WELL, hashed - of_libraries), (QUICKLY, of_libraries)):
            yield from super().compress_files(names)
