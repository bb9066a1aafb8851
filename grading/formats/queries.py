"""Queries: the Workbench's JSON dictionary, or TSV `id<TAB>text`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from grading.errors import BadFormat
from grading.formats.dictionary import Document, read_document
from grading.formats.reading import write_lines

_SHAPE = 'one JSON dictionary {"query id": "query text"}, or lines of query id<TAB>query text'


def read_queries(path: Path) -> dict[str, str]:
    """Query id -> text, in the file's order; JSON or TSV is told by the content.

    Raises `BadFormat` for an id that occurs twice, an empty id or text, and lines that are not two columns.
    """
    document = read_document(path, shape=_SHAPE)
    rows = _from_json(document) if document.is_json else _from_tsv(document)
    queries: dict[str, str] = {}
    for query_id, text, line in rows:
        if query_id in queries:
            raise document.error(f"query {query_id} occurs twice, expected each query id once", line)
        if not query_id or not text:
            raise document.error(f"an empty {'text' if query_id else 'query id'}, expected {_SHAPE}", line)
        queries[query_id] = text
    return queries


def write_queries(path: Path, queries: Mapping[str, str]) -> None:
    """Write the JSON dictionary, or TSV where the name ends in `.tsv` or `.tsv.gz`."""
    if ".tsv" not in path.suffixes:
        write_lines(path, msgspec.json.format(msgspec.json.encode(dict(queries)), indent=1).splitlines())
        return
    for query_id, text in queries.items():
        if any(mark in query_id + text for mark in "\t\r\n"):
            raise BadFormat(
                f"query {query_id} holds a tab or a line break, expected one line of TSV", file=path.name
            )
    write_lines(path, (f"{query_id}\t{text}".encode() for query_id, text in queries.items()))


def _from_json(document: Document) -> list[tuple[str, str, int]]:
    rows = []
    for query_id, text, line in document.pairs():
        if not isinstance(text, str):
            raise document.error(f"the text of query {query_id} is not a string, expected {_SHAPE}", line)
        rows.append((query_id.strip(), text.strip(), line))
    return rows


def _from_tsv(document: Document) -> list[tuple[str, str, int]]:
    rows = []
    for line, columns in document.columns():
        if len(columns) != 2:
            raise document.error(f"{len(columns)} columns between tabs, expected {_SHAPE}", line)
        rows.append((columns[0].strip(), columns[1].strip(), line))
    return rows
