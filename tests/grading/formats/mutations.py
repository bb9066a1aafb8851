"""Random damage to files: to their bytes, and to the values in their JSON.

`make test-fuzz` damages every file 10,000 times; the other tests do so a few hundred times.
"""

import gzip
import json
import os
import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

PIECES = [
    *(b"\x00", b"\xff", b"\n", b"\n\n", b"\r\n", b"\t", b" ", b'"', b"\\ud800", b"\\u0000", b"{", b"}"),
    *(b"[", b"]", b",", b"null", b"true", b"-1", b"0", b"1e999", b"NaN", b"9" * 20, b"\xf0\x9f\x90\x9d"),
    *(b'{"a": {}}', b"[[]]"),
]
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    7,
    10**30,
    0.5,
    1e308,
    "",
    " ",
    "t1",
    "\t",
    "\x00",
    "\ud800",
    "x" * 999,
]
VALUES += [
    [],
    {},
    [None],
    [[]],
    {"a": 1},
    {"": None},
    ["d1", 0],
    [0, 1, 2],
    {"text": "A."},
    {"id": "d1", "text": "A."},
]


def mutations(usual: int) -> int:
    """Number of times that a test damages its file: TEST_MUTATIONS, where that is set."""
    return int(os.environ.get("TEST_MUTATIONS") or usual)


def damaged(path: Path, chance: random.Random) -> Iterator[bytes]:
    """Yield the file's content with one to four random changes, without end; gzip is unpacked first.

    JSON is changed in its bytes and in its values by turns.
    """
    content = path.read_bytes()
    plain = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    documents = _documents(plain)
    while True:
        yield mutated(plain, chance)
        if documents:
            yield with_other_values(documents, chance)


def mutated(content: bytes, chance: random.Random) -> bytes:
    """The content with one to four pieces cut, doubled, replaced or put in."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(content) + 1)
        end = min(len(content), start + chance.choice((0, 0, 1, 3, 12)))
        piece = chance.choice([*PIECES, content[start:end] * 2, b""])
        content = content[:start] + piece + content[end:]
    return content


def with_other_values(documents: list[str], chance: random.Random) -> bytes:
    """The documents, one a line, with one to four values of one of them changed."""
    position = chance.randrange(len(documents))
    whole = [json.loads(documents[position])]
    for _ in range(chance.randint(1, 4)):
        if containers := list(_containers(whole)):
            _change(chance.choice(containers), chance)
    lines = [*documents[:position], *(json.dumps(each) for each in whole), *documents[position + 1 :]]
    return "\n".join(lines).encode()


def _documents(content: bytes) -> list[str]:
    """The JSON documents of a file, one on each line or one in all; empty where it is no JSON."""
    text = content.decode()
    for documents in (text.splitlines(), [text]):
        try:
            return [json.dumps(json.loads(document)) for document in documents]
        except json.JSONDecodeError:
            continue
    return []


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, list | dict) and value:
        yield value
        for child in value.values() if isinstance(value, dict) else value:
            yield from _containers(child)


def _change(container: Any, chance: random.Random) -> None:
    """Change, take out, double or rename one value of a list or an object that is not empty."""
    keys = list(container) if isinstance(container, dict) else range(len(container))
    key, action = chance.choice(list(keys)), chance.randrange(4)
    if action == 1:
        del container[key]
    elif action == 2 and isinstance(container, list):
        container.append(container[key])
    elif action == 3 and isinstance(container, dict):
        container[chance.choice(["id", "text", "topic_id", "answer", key.upper()])] = container.pop(key)
    else:
        container[key] = deepcopy(chance.choice([*VALUES, str(container[key]), [container[key]]]))
