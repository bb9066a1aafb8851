"""A server that answers as llama.cpp's `llama-server` does: its slots, its grammars, its thinking apart.

It writes a choice of the grammar, and else what it is made to. A prompt longer than a slot, by words, is
refused in the server's own words. It takes fields that it does not know.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.grading.servers.http import Body, Reply

_CHOICE = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class LlamaServer:
    """Call it with a request and its number, as `serving` does."""

    says: str = "4"
    thinking: str = ""
    slot_tokens: int = 4096
    """The context of one slot: what `-c` gives, shared among the slots of `-np`."""
    loading: int = 0
    """First requests that meet a model which is still being loaded."""
    has_grammar: bool = True

    def __call__(self, body: Body, number: int) -> Reply:
        if number < self.loading:
            return _error(503, "Loading model", "unavailable_error")
        prompt = " ".join(message["content"] for message in body["messages"]).split()
        if len(prompt) >= self.slot_tokens:
            message = (
                f"request ({len(prompt)} tokens) exceeds the available context size"
                f" ({self.slot_tokens} tokens), try increasing it"
            )
            sizes = {"n_prompt_tokens": len(prompt), "n_ctx": self.slot_tokens}
            return _error(400, message, "exceed_context_size_error", **sizes)
        text = self.says
        if grammar := body.get("grammar"):
            choices = _CHOICE.findall(grammar) if grammar.startswith("root ::=") and self.has_grammar else []
            if not choices:
                return _error(400, "Failed to parse grammar", "invalid_request_error")
            longest = sorted(choices, key=len, reverse=True)
            text = next((choice for choice in longest if choice in self.says), choices[0])
        return self._reply(text)

    def _reply(self, text: str) -> Reply:
        message = {"role": "assistant", "content": text}
        if self.thinking:
            message["reasoning_content"] = self.thinking
        choice = {"finish_reason": "stop", "index": 0, "message": message}
        return Reply(
            200,
            {
                "choices": [choice],
                "created": 1,
                "model": "m",
                "system_fingerprint": "b1-abc",
                "object": "chat.completion",
                "usage": {"completion_tokens": 2, "prompt_tokens": 7, "total_tokens": 9},
                "id": "chatcmpl-1",
                "timings": {"cache_n": 0, "prompt_n": 7, "predicted_n": 2},
            },
        )


def _error(status: int, message: str, kind: str, **more: int) -> Reply:
    return Reply(status, {"error": {"code": status, "message": message, "type": kind, **more}})
