"""Files of responses: how to know, read and write each dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.base import Content, Format, Sample
from grading.formats.dictionary import read_document
from grading.formats.json_lines import JsonDict, encode_json, json_object
from grading.formats.reading import lines, write_lines
from grading.formats.responses.biogen import inspect_document, write_document
from grading.formats.responses.conversion import converted
from grading.formats.responses.dialects import Dialect, dialect_of
from grading.formats.responses.inspection import SHAPE, InspectedLine, Problem, inspect
from grading.types import Response


def read_responses(path: Path) -> Iterator[Response]:
    """Yield the responses of a run in the file's order: one JSON object a line, or BioGen's document.

    Raises `BadFormat` for a response without run, topic or sentences, for sentences that cite in different
    shapes, for positions outside the references, and as `json_value` and `lines` do.
    """
    for inspected in inspect_responses(path):
        if inspected.problems or inspected.response is None:
            raise BadFormat(inspected.problems[0].text, file=path.name, line=inspected.line)
        yield inspected.response


def inspect_responses(path: Path) -> Iterator[InspectedLine]:
    """Yield what each line holds, with everything that is wrong in it.

    Raises `BadFormat` where the file itself cannot be read on, as `lines` does.
    """
    if _is_document(path):
        whole = _object_of("\n".join(text for _, text in read_document(path, shape=SHAPE).lines))
        if whole is not None and dialect_of(whole) not in (None, Dialect.BIOGEN24):
            problem = "a response that is written on several lines, expected one response a line"
            yield InspectedLine(1, None, (Problem("malformed", problem),))
            return
        yield from inspect_document(path)
        return
    for number, text in lines(path):
        try:
            content = json_object(text, shape=SHAPE)
        except BadFormat as error:
            yield InspectedLine(number, None, (Problem("malformed", error.problem),))
        else:
            yield inspect(content, number)


def _is_document(path: Path) -> bool:
    """Whether the file is one JSON document: its first line is BioGen's whole, or the beginning of one."""
    first, *others = islice((text for _, text in lines(path) if text.strip()), 2)
    content = _object_of(first)
    if content is not None:
        return dialect_of(content) is Dialect.BIOGEN24
    is_beginning = first.lstrip().startswith("{") and first.rstrip().endswith(("{", "[", ",", ":"))
    return is_beginning and not any(dialect_of(_object_of(text) or {}) for text in others)


def _object_of(text: str) -> JsonDict | None:
    try:
        return json_object(text, shape=SHAPE)
    except BadFormat:
        return None


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


_SOURCES = {
    Dialect.RAG24: "TREC RAG 2024, ragnarok",
    Dialect.RAG25: "TREC RAG 2025 and 2026, autojudge-base 1.0.0",
    Dialect.RAGTIME: "TREC RAGTIME 2025 and 2026, task 1",
    Dialect.DRAGUN: "TREC DRAGUN 2025, task 2",
    Dialect.AUTOJUDGE: "TREC AutoJudge, autojudge-base 1.0.0",
    Dialect.BIOGEN24: "TREC BioGen 2024",
}


def dialect_of_lines(contents: Iterable[Mapping[str, object]]) -> Dialect | None:
    """Return the dialect of the objects of one file; None where none of them is a response.

    A response that cites nothing does not tell RAGTIME from AutoJudge; another one of the file does.
    """
    known = list(filter(None, map(dialect_of, contents)))
    telling = [one for one in (Dialect.RAGTIME, Dialect.DRAGUN) if one in known]
    return next(iter([*telling, *known]), None)


def _recognises(dialect: Dialect) -> Callable[[Sample], bool]:
    return lambda sample: dialect_of_lines(sample.objects) is dialect


FORMATS = tuple(
    Format(
        f"{dialect}-responses",
        dialect.label,
        Content.RESPONSES,
        _recognises(dialect),
        read_responses,
        partial(write_responses, dialect=dialect),
        is_lossless=True,
        source=_SOURCES[dialect],
    )
    for dialect in Dialect
)
