"""Rubrics that are written as YAML: the values that JSON has, and nothing that refers or repeats."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import yaml

from grading.errors import BadFormat

MAX_CHARACTERS = 2_000_000
"""The longest YAML that is read: its parser is slow."""
_CRITERION = re.compile(r"""\s*(?:- +)?["']?requirement["']?\s*:""")
_EXPECTED = "expected YAML with the values that JSON has"


def is_yaml(texts: Sequence[str]) -> bool:
    """Return whether lines that are no JSON look like criteria in YAML."""
    first = next((text for text in texts if text.strip()), "")
    return not first.lstrip().startswith(("{", "[")) and any(map(_CRITERION.match, texts))


class _Loader(yaml.SafeLoader):
    """Reads no dates, no references, and no key twice."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":merge"))]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.get_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "a reference to another value", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [(key.value if isinstance(key, yaml.ScalarNode) else "", key) for key, _ in node.value]
        seen: set[str] = set()
        for text, key in keys:
            if text in seen:
                problem = f"the key {text[:80]!r} occurs twice in one object"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(text)
        return super().construct_mapping(node, deep=deep)


def as_json(text: str) -> str:
    """Return a YAML document as JSON. Raises BadFormat with the line, counted from 1."""
    if len(text) > MAX_CHARACTERS:
        raise BadFormat(f"{len(text):,} characters of YAML, expected at most {MAX_CHARACTERS:,}", line=1)
    try:
        return json.dumps(yaml.load(text, _Loader), allow_nan=False)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = f"malformed YAML ({error.problem or error.context}), {_EXPECTED}"
        raise BadFormat(problem, line=mark.line + 1 if mark else 1) from error
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError) as error:
        raise BadFormat(
            f"malformed YAML ({str(error).partition(chr(10))[0]}), {_EXPECTED}", line=1
        ) from error
