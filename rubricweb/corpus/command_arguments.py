"""What commands share: the collection that they are given, where links begin, and files that they write."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from django.core.management import CommandError
from django.forms import BaseForm

from rubricweb.accounts.cold_storage import InColdStorage
from rubricweb.corpus.models import Collection


def collection_named(slug: str, *, cold: bool = False) -> Collection:
    """Return the collection, one in cold storage only for `cold`.

    Raises CommandError, which lists those that there are, and InColdStorage.
    """
    collection: Collection | None = Collection.objects.filter(slug=slug).first()
    if collection is None:
        slugs = ", ".join(Collection.objects.order_by("slug").values_list("slug", flat=True))
        raise CommandError(f"There is no collection {slug}; there are: {slugs or 'none yet'}")
    if collection.cold_at and not cold:
        raise InColdStorage(collection)
    return collection


def add_server_argument(parser: ArgumentParser) -> None:
    """Add the address that the links of a command's output begin with."""
    parser.add_argument(
        "--server",
        default="http://localhost:8000",
        metavar="URL",
        help="the server's address, with which the link begins (%(default)s)",
    )


def link(server: str, path: str) -> str:
    """Return the address of a page of the server."""
    return server.rstrip("/") + path


def require_valid(form: BaseForm, options: Mapping[str, str] | None = None) -> None:
    """Raise CommandError with what is wrong, by options: those of `options`, else the names of the fields."""
    if form.is_valid():
        return
    named = [
        ((options or {}).get(name, name).replace("_", "-"), errors) for name, errors in form.errors.items()
    ]
    problems = [f"--{option}: {problem}" for option, listed in named for problem in listed]
    raise CommandError(" ".join(problems))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the system while a command writes a file into a CommandError that names the file."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from error
