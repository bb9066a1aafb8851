"""The table of replies that judges of TREC AutoJudge share, `$CACHE_DIR/minima_llm.db`.

The organizers run a judge again with its model switched off: what the first run asked has to be in the table.
A row's key is of the model, the messages and the parameters, not of the server's address.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grading.graders.completions import read
from grading.graders.replies import NoReply

if TYPE_CHECKING:
    from minima_llm import PromptCache

FILE = "minima_llm.db"
_NAMED = ("model", "messages", "temperature", "max_tokens")
Json = Mapping[str, Any]


class SharedReplies:
    """A `ReplyStore` on minima-llm's own table; each thread has its connection."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held = threading.local()

    def get(self, request: Json) -> Json | None:
        """Return the reply that this judge or another one kept; None without one."""
        row = self._table.get(key_of(canonical(request)))
        if row is None:
            return None
        text, raw = row
        if text and not (raw and raw.get("choices")):
            return _completion(text)
        return raw or None

    def put(self, request: Json, reply: Json) -> None:
        try:
            text = read(reply).raw
        except NoReply as error:
            text = error.raw
        words = canonical(request)
        self._table.put(key_of(words), text, dict(reply), model=request["model"], canonical=words)

    @property
    def _table(self) -> PromptCache:
        if not hasattr(self._held, "table"):
            from minima_llm import PromptCache

            self._folder.mkdir(parents=True, exist_ok=True)
            self._held.table = PromptCache(str(self._folder / FILE))
        table: PromptCache = self._held.table
        return table


def canonical(request: Json) -> str:
    """Return what is hashed: JSON with sorted names, ASCII, without blanks; rarer parameters under `extra`.

    >>> canonical({"model": "m", "messages": [], "temperature": 0, "max_tokens": 8})
    '{"max_tokens":8,"messages":[],"model":"m","temperature":0}'
    """
    stated = {name: request[name] for name in _NAMED if request.get(name) is not None}
    extra = {name: value for name, value in request.items() if name not in _NAMED}
    whole = {**stated, **({"extra": extra} if extra else {})}
    return json.dumps(whole, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def key_of(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()


def _completion(text: str) -> Json:
    """Return a reply of which only the words are known."""
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
