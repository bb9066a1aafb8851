"""Identity of items and of generated text: the md5 of the stripped text (EXAM++ and Workbench files)."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_MD5 = re.compile(r"[0-9a-f]{32}")
_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")


def is_one_word(text: str) -> bool:
    r"""Return whether an id has neither white space nor control characters.

    They would break lines of TREC files.

    >>> [is_one_word(text) for text in ("msmarco_v2.1_doc_0#1", "d 1", "d1\x07", "")]
    [True, False, False, False]
    """
    return bool(text) and _UNFIT.search(text) is None


def look(text: str) -> str:
    r"""Return an id as it looks: composed (NFKC), without invisible characters.

    >>> look("Mu\u0308ller\u200b-7") == "M\u00fcller-7"
    True
    """
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFKC", text)
    return "".join(c for c in composed if unicodedata.category(c) != "Cf" and not "\ufe00" <= c <= "\ufe0f")


def text_md5(text: str) -> str:
    """Return the hexadecimal md5 of the stripped text in UTF-8.

    >>> text_md5(" Who coined the term? ") == text_md5("Who coined the term?")
    True
    """
    return hashlib.md5(text.strip().encode(), usedforsecurity=False).hexdigest()


def item_id(query_id: str, text: str, facet_id: str = "") -> str:
    """Return the id of an item, `<query_id>[/<facet_id>]/<md5 of the stripped text>`.

    >>> item_id("q18", "What is a puppy?", "teeth")
    'q18/teeth/1088048442b7175d8b1dd2dcf8699ae3'
    """
    return "/".join(part for part in (query_id, facet_id, text_md5(text)) if part)


def is_md5(text: str) -> bool:
    """Return whether a column is an md5, in lower case."""
    return _MD5.fullmatch(text) is not None


def md5_of_id(identity: str) -> str | None:
    """Return the md5 that an item id ends with, or None where the id is of another make."""
    last = identity.rsplit("/", 1)[-1].lower()
    return last if _MD5.fullmatch(last) else None


def facet_of(query_id: str, uid: str) -> str:
    """Return the subtopic in an item id `<query_id>/<facet_id>/<md5>`; empty without one."""
    if not uid.startswith(f"{query_id}/") or md5_of_id(uid) is None:
        return ""
    return uid.removeprefix(f"{query_id}/").rpartition("/")[0]
