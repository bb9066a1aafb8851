"""The dialects as file formats of the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from grading.formats.base import Content, Format, Sample
from grading.formats.responses.dialects import Dialect, dialect_of
from grading.formats.responses.reading import read_responses
from grading.formats.responses.writing import write_responses

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
