"""Write responses in any dialect, and list what the dialect cannot say."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from grading.formats.json_values import encode_json
from grading.formats.reading import write_lines
from grading.formats.responses.biogen import write_document
from grading.formats.responses.conversion import converted
from grading.formats.responses.dialects import Dialect
from grading.types import Response


def write_responses(path: Path, responses: Iterable[Response], dialect: Dialect) -> None:
    """Write one JSON object a line, or BioGen's document; gzip where the name ends in `.gz`.

    A response that was read from a file of this dialect is written as it was read, unknown keys included, but
    for fields that have changed since. `losses` says what another dialect cannot say. Raises `BadFormat` for
    ids that the reader refuses, and for responses of several runs as BioGen's document.
    """
    contents = (converted(response, dialect)[0] for response in responses)
    if dialect is Dialect.BIOGEN24:
        write_document(path, contents)
    else:
        write_lines(path, (encode_json(content) for content in contents))


def losses(response: Response, dialect: Dialect) -> list[str]:
    """List what `write_responses` drops or makes up, item by item; empty in the response's own dialect.

    >>> from grading.types import Citation, Sentence
    >>> sentence = Sentence("Tides follow the moon.", (Citation("d1"),))
    >>> losses(Response("r1", "t1", (sentence,)), Dialect.RAGTIME)
    ['sentence 1: the score 1 of d1 is made up from its rank']
    """
    return converted(response, dialect)[1]
