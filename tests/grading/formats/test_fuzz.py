"""Damaged files of every format are refused with file and line; nothing else is raised."""

import gzip
import random
from contextlib import suppress

import pytest

from grading.errors import BadFormat
from grading.formats import registry
from tests.grading.formats.samples import SAMPLES

MUTATIONS = 150
PIECES = [
    *(
        b"\x00",
        b"\xff",
        b"\n",
        b"\n\n",
        b"\r\n",
        b"\t",
        b" ",
        b'"',
        b"\\ud800",
        b"\\u0000",
        b"{",
        b"}",
        b"[",
        b"]",
    ),
    *(
        b",",
        b"null",
        b"true",
        b"-1",
        b"0",
        b"1e999",
        b"NaN",
        b"9" * 20,
        b"\xf0\x9f\x90\x9d",
        b'{"a": {}}',
        b"[[]]",
    ),
]


def mutated(content: bytes, chance: random.Random) -> bytes:
    """The content with one to four pieces cut, doubled, replaced or put in."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(content) + 1)
        end = min(len(content), start + chance.choice((0, 0, 1, 3, 12)))
        piece = chance.choice([*PIECES, content[start:end] * 2, b""])
        content = content[:start] + piece + content[end:]
    return content


@pytest.mark.parametrize(("path", "name"), SAMPLES, ids=lambda value: getattr(value, "name", value))
def test_damaged_files_are_refused_with_their_place(path, name, tmp_path):
    one, chance = registry.find(name), random.Random(f"{path.name} {name}")
    content = path.read_bytes()
    plain = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    damaged, refusals = tmp_path / "damaged", []
    for _ in range(MUTATIONS):
        damaged.write_bytes(mutated(plain, chance))
        with suppress(BadFormat):
            registry.candidates(damaged)
        try:
            list(one.read(damaged))
        except BadFormat as error:
            refusals.append(error)
    assert refusals
    assert {error.file for error in refusals} == {"damaged"}
    assert [error for error in refusals if error.line is None or not error.problem] == []
