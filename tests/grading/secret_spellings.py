"""A secret in every spelling in which a server, a library or a log may quote it."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

HOSTILE = "sk-\"q\\u0's%41<&>+/=~ x"
"""Printable ASCII, as a header takes it, that every spelling writes in another way."""
SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "with blanks": lambda value: f" {value}\n",
    "repr": repr,
    "repr of bytes": lambda value: repr(value.encode()),
    "repr within repr": lambda value: repr([repr(f"Bearer {value}")]),
    "ascii": ascii,
    "JSON": json.dumps,
    "JSON as it is": lambda value: json.dumps(value, ensure_ascii=False),
    "JSON within JSON": lambda value: json.dumps(json.dumps({"key": value})),
    "percent": lambda value: quote(value, safe=""),
    "percent of a path": quote,
    "percent of a form": quote_plus,
    "percent of a few, in lower case": lambda value: value.replace("%", "%25").replace("<", "%3c"),
    "percent twice": lambda value: quote(quote(value, safe=""), safe=""),
    "HTML": html.escape,
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 for URLs": lambda value: base64.urlsafe_b64encode(value.encode()).decode().rstrip("="),
    "base64 after a letter": lambda value: base64.b64encode(f"a{value}@x".encode()).decode(),
    "base64 after two": lambda value: base64.b64encode(f"u:{value}@x".encode()).decode(),
    "base64 after three": lambda value: base64.b64encode(f"me:{value}@x".encode()).decode(),
    "HTML within HTML": lambda value: html.escape(html.escape(value)),
    "HTML of JSON": lambda value: html.escape(json.dumps(value)),
}  # fmt: skip


def shows(text: str, value: str) -> bool:
    """Whether somebody who reads the text can tell the secret, or most of it."""
    written = {spell(value) for spell in SPELLINGS.values()} | {value}
    whole = base64.b64encode(value.encode()).decode()
    return any(each in text for each in written) or any(
        whole[start : start + 12] in text for start in range(len(whole) - 12)
    )
