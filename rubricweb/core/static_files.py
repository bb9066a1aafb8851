"""Bundles, one style sheet and one script per family of pages, and how `collectstatic` stores files.

A first visit makes few requests by bundles, which are made from `static/`. Django's own machinery does the
rest: `collectstatic` and whitenoise find a bundle like any other static file.

Files that pages ask for are compressed as much as is worth the time. Without these rules compressing takes
ten times as long: for copies that nobody is sent since pages name files by their hashes, for source maps,
and for the last percents of size.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import brotli
from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.finders import AppDirectoriesFinder
from django.core.checks import CheckMessage
from django.core.files.storage import FileSystemStorage, Storage
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage

FOLDER = "bundles/"
HTMX = ("django_htmx/htmx-2.min.js", "django_htmx/ext/hx-sse-2.min.js")
SCRIPTS: dict[str, tuple[str, ...]] = {
    "app.js": ("js/app.js",),
    "arena.js": ("js/app.js", "js/arena.js"),
    "bank.js": ("js/app.js", "js/mirror.js", "js/items.js"),
    "cards.js": ("js/app.js", "js/cards.js"),
    "grid.js": ("js/app.js", "js/grid.js"),
    "outbox.js": ("js/app.js", "js/outbox.js"),
    "queue.js": ("js/app.js", "js/queue.js", "js/break.js"),
}
"""Modules that follow htmx, which all pages have; each comes with its imports, once."""
_EVERY_PAGE = (
    "css/tokens.css",
    "css/base.css",
    "css/layout.css",
    "css/components.css",
    "css/toolbar.css",
    "css/screens.css",
)
STYLES: dict[str, tuple[str, ...]] = {
    "base.css": _EVERY_PAGE,
    "analysis.css": (*_EVERY_PAGE, "css/list.css", "css/meta.css"),
    "bank.css": (
        *_EVERY_PAGE,
        "css/topic.css",
        "css/narrative.css",
        "css/panel.css",
        "css/bank.css",
        "css/banks.css",
    ),
    "board.css": (*_EVERY_PAGE, "css/leaderboards.css", "css/board.css", "css/plots.css"),
    "public.css": (*_EVERY_PAGE, "css/leaderboards.css", "css/board.css", "css/public.css"),
    "grid.css": (
        *_EVERY_PAGE,
        "css/review.css",
        "css/topic.css",
        "css/narrative.css",
        "css/grid.css",
        "css/flags.css",
        "css/panel.css",
    ),
    "verify.css": (*_EVERY_PAGE, "css/review.css", "css/list.css", "css/verify.css"),
}

_IMPORT = re.compile(r'^import (?:\{([^}]+)\} from )?"\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


class UnbundledSyntax(ValueError):
    """Raised for a module whose imports or exports a bundle cannot have; it names the file."""


class BundleFinder(finders.BaseFinder):
    """A finder of `bundles/NAME`, rebuilt whenever one of its files has changed."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        self.folder = Path(settings.DATA_DIR) / "bundles"
        self.storage = FileSystemStorage(location=str(self.folder))
        self.storage.prefix = FOLDER.rstrip("/")  # type: ignore[attr-defined]

    def check(self, **kwargs: object) -> list[CheckMessage]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:  # Any: as Django overloads it
        name = path.removeprefix(FOLDER)
        if name == path or name not in SCRIPTS | STYLES:
            return []
        made = str(_written(self.folder / name))
        return [made] if find_all else made

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:
        for name in SCRIPTS | STYLES:
            _written(self.folder / name)
            yield name, self.storage


def bundle(name: str) -> str:
    """Return the text of the bundle."""
    if name in STYLES:
        return "".join(f"/* {path} */\n{_text(path)}" for path in STYLES[name])
    modules = dict.fromkeys(path for entry in SCRIPTS[name] for path in imported(entry))
    libraries = "".join(f"{_text(path)};\n" for path in HTMX)
    return f"{libraries}globalThis.htmx = htmx;\n" + "".join(map(_module, modules))


def imported(path: str) -> list[str]:
    """Return the module after those that it imports, each before those that need it."""
    modules = []
    for _, name in _IMPORT.findall(_text(path)):
        modules += imported(str(Path(path).with_name(name)))
    return [*dict.fromkeys(modules), path]


def _module(path: str) -> str:
    """Return the module as a function called at once, whose result holds its exports."""
    text = _IMPORT.sub(_from_bundle, _text(path))
    exported = ", ".join(_EXPORT.findall(text))
    text = _EXPORT.sub("", text)
    if re.search(r"^(?:import|export)\b(?!\()", text, re.MULTILINE):
        raise UnbundledSyntax(
            f'{path}: import "./x.js", import {{ a }} from "./x.js" or export a declaration.'
        )
    return f"// {path}\nconst {_variable(path)} = (() => {{\n{text}return {{ {exported} }};\n}})();\n"


def _from_bundle(match: re.Match[str]) -> str:
    names, module = match.groups()
    return f"const {{{names.replace(' as ', ': ')}}} = {_variable(module)};\n" if names else ""


def _variable(path: str) -> str:
    return "module_" + re.sub(r"\W", "_", Path(path).stem)


def _text(path: str) -> str:
    file = finders.find(path)
    if not isinstance(file, str):
        raise FileNotFoundError(f"No static file {path}.")
    return Path(file).read_text(encoding="utf-8")


def _written(path: Path) -> Path:
    """Write the bundle, unless the file has it already; concurrent processes do no harm."""
    text = bundle(path.name).encode()
    if not path.exists() or path.read_bytes() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(text)
        Path(file.name).chmod(0o644)
        Path(file.name).replace(path)
    return path


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
