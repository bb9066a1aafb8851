"""Chat messages, and chat completions in JSON of whatever shape a server sends, as `Reply`.

The shapes are those of OpenAI's API and of what servers make of it: content in parts (Mistral), thinking
beside the text (vLLM, SGLang, DeepSeek, OpenRouter), errors within a reply of status 200 (routers), finish
reasons of other vendors (Gemini, Anthropic, Cohere, Text Generation Inference).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from types import MappingProxyType
from typing import Any, NamedTuple

from grading.graders.connection import CallProblem, line, refusal
from grading.graders.replies import (
    UNKNOWN,
    ExpectedReply,
    NoReply,
    Reply,
    Step,
    TokensUsed,
    answered,
    split_thinking,
)
from grading.types import ErrorClass

ENDED = frozenset({"stop", "eos", "eos_token", "end", "end_turn", "stop_sequence", "complete", "completed"})
"""Finish reasons of servers where the model ended its reply, in lower case with underscores."""
CUT = frozenset({"length", "max_tokens", "max_new_tokens", "max_output_tokens", "model_length"})
"""Reasons that name the limit of tokens."""
_BROKEN_OFF = frozenset(
    {"error", "abort", "aborted", "cancelled", "canceled", "timeout", "load", "unload"}
    | {"insufficient_system_resource"}
)
_FILTERED = re.compile(r"filter|safety|prohibited|blocklist|recitation|refusal|guardrail|spii|censor|moderat")
_CALLS = frozenset({"tool_calls", "tool_call", "tool_use", "function_call"})
_KINDS = (
    ("refusal", re.compile("refus")),
    ("call", re.compile("tool|function")),
    ("thought", re.compile("think|thought|reason")),
)
"""Kinds of parts of a message, by what is in the name of their type."""
_TEXT_KEYS = ("text", "content", "value", "output_text")
_THOUGHT_KEYS = ("reasoning_content", "reasoning", "thinking", "reasoning_details", "summary")
_STATUSES = (
    (re.compile(r"rate.?limit|too many|overload|capacity", re.IGNORECASE), 429),
    (re.compile(r"unauthori[sz]ed|api.?key|authenticat", re.IGNORECASE), 401),
    (re.compile(r"timed? ?out", re.IGNORECASE), 504),
    (re.compile(r"invalid_request|bad.?request", re.IGNORECASE), 400),
)
_MOST_TOKENS = 100_000_000
"""A reply with more in its usage miscounts."""


Message = tuple[str, str]


class _Message(NamedTuple):
    """What stands in the message of a reply."""

    text: str | None
    """None where it has none, which is not the same as an empty one."""
    thought: str = ""
    """Thinking that the server keeps apart from the text."""
    refusal: str = ""
    has_call: bool = False
    """Whether the model called a tool."""

    @property
    def raw(self) -> str:
        """Return the reply as the model would have written it; read again, it gives the same answer."""
        text = self.text or ""
        return f"<think>\n{self.thought}\n</think>\n\n{text}" if self.thought else text


def read(body: object, expected: ExpectedReply = UNKNOWN) -> Reply:
    """Return the answer in a chat completion. Raises NoReply.

    >>> read({"choices": [{"message": {"content": "<think>2?</think>4"}, "finish_reason": "stop"}]}).text
    '4'
    """
    whole = _object(body)
    if problem := error_in(whole):
        raise NoReply(problem)
    choices = whole.get("choices")
    choice = _object(choices[0]) if isinstance(choices, list) and choices else {}
    fields = _object(choice.get("message"))
    message = _message(fields)
    if problem := error_in(choice) or error_in(fields):
        raise NoReply(problem, raw=message.raw)
    if not fields:
        raise NoReply(CallProblem(ErrorClass.SERVER, f"the server's reply holds no message: {_quoted(body)}"))
    stated = choice.get("finish_reason")
    finish = _finish(stated)
    if problem := _no_answer(finish, stated, message):
        raise NoReply(problem, raw=message.raw)
    split = split_thinking(message.text or "", has_ended=finish not in CUT)
    if message.thought:
        split = replace(split, thought=f"{message.thought}\n{split.thought}")
    reply = answered(split, expected, raw=message.raw, is_cut=finish in CUT)
    return replace(
        reply,
        finish_reason=finish,
        steps=_steps(choice.get("logprobs"), reply.text, has_thought=bool(split.thought)),
        used=used(body),
    )


def parse(content: bytes) -> object:
    """Return the JSON of a server's response. Raises NoReply, whose class is UNAVAILABLE for a web page."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        text = content[:2_000].decode("utf-8", "replace").strip()
    if re.match(r"<(?:!doctype|html|head|body|\?xml)\b", text, re.IGNORECASE):
        raise NoReply(CallProblem(ErrorClass.UNAVAILABLE, "the server answered with a web page"))
    raise NoReply(CallProblem(ErrorClass.SERVER, f"the server's reply is no JSON: {line(text)!r}"))


def used(body: object) -> TokensUsed:
    """Return the tokens that the server counted, also of a reply that is no answer: they are paid for."""
    usage = _object(_object(body).get("usage"))
    counts = (usage.get(name) for name in ("prompt_tokens", "completion_tokens"))
    return TokensUsed(*(n if type(n) is int and 0 <= n < _MOST_TOKENS else 0 for n in counts))


def error_in(fields: Mapping[str, Any], status: int = 0) -> CallProblem | None:
    """Return the error that JSON reports, classed by the HTTP `status`, or by its own code without one."""
    error = fields.get("error") or (fields if status or fields.get("object") == "error" else None)
    if not error:
        return None
    details = _object(error)
    message = _text_in(details.get("message")) or (error if isinstance(error, str) else _quoted(error))
    code = next((details[name] for name in ("code", "status", "status_code") if details.get(name)), None)
    whole = f"{message} {code or ''} {details.get('type') or ''} {details.get('param') or ''}"
    problem = refusal(status or _status(code, whole), message, whole)
    if status:
        return problem
    stated = "" if code is None else f" (code {line(str(code))})"
    return replace(problem, reason=f"the server replied with an error: {line(message)}{stated}")


def _object(value: object) -> Mapping[str, Any]:  # Any: JSON of a server
    return value if isinstance(value, dict) else {}


def _json(value: object) -> str:
    """Write JSON again; what is nested too deeply is named by its type."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (RecursionError, ValueError):
        return type(value).__name__


def _quoted(value: object) -> str:
    return line(_json(value))


def _finish(stated: object) -> str:
    """Return the finish reason in lower case with underscores; of an object (SGLang), its type."""
    stated = stated.get("type", stated) if isinstance(stated, dict) else stated
    if not isinstance(stated, str):
        return "" if stated is None else _quoted(stated)
    return re.sub(r"[\s-]+", "_", stated.strip().lower()).removeprefix("finish_reason_")


def _no_answer(finish: str, stated: object, message: _Message) -> CallProblem | None:
    """Return why the message is no answer of the model."""
    quoted = line(stated) if isinstance(stated, str) else _quoted(stated)
    if message.refusal:
        return CallProblem(ErrorClass.OTHER, f"the model refused: {line(message.refusal)}")
    if finish in _BROKEN_OFF:
        return CallProblem(
            ErrorClass.SERVER, f"the server broke the reply off (finish reason {quoted})", is_passing=True
        )
    if _FILTERED.search(finish):
        return CallProblem(ErrorClass.OTHER, f"the server filtered the reply (finish reason {quoted})")
    if message.has_call or finish in _CALLS:
        return CallProblem(ErrorClass.OTHER, "the model called a tool instead of answering")
    if finish and finish not in ENDED | CUT:
        return CallProblem(ErrorClass.OTHER, f"the reply is not whole (finish reason {quoted})")
    if message.text is None and not (message.thought and finish in CUT):
        content = "its thinking and no answer" if message.thought else "no text"
        return CallProblem(ErrorClass.OTHER, f"the server returned {content}")
    if not finish and not message.text:
        return CallProblem(ErrorClass.OTHER, "the server returned an empty reply without a finish reason")
    return None


def _status(code: object, whole: str) -> int:
    """Return the HTTP status that fits an error."""
    if str(code).isdecimal() and 400 <= int(str(code)[:9]) < 600:
        return int(str(code))
    return next((status for pattern, status in _STATUSES if pattern.search(whole)), 500)


def _message(fields: Mapping[str, Any]) -> _Message:
    content = fields.get("content")
    is_part = isinstance(content, dict) and bool({"type", *_TEXT_KEYS} & content.keys())
    parts = content if isinstance(content, list) else [content] if is_part else []
    by_kind: dict[str, list[str]] = {"text": [], "thought": [], "refusal": [], "call": []}
    for part in parts:
        if (text := _text_in(part)) is not None:
            by_kind[_kind(part)].append(text)
    if not parts:
        by_kind["text"] += _scalar(content)
    thoughts = [_text_in(fields.get(name)) or "" for name in _THOUGHT_KEYS] + by_kind["thought"]
    has_call = any(_kind(part) == "call" for part in parts)
    refusal_text = fields.get("refusal")
    refusals = [_text_in(refusal_text) or _quoted(refusal_text)] if refusal_text else by_kind["refusal"]
    return _Message(
        "".join(by_kind["text"]) if by_kind["text"] else None,
        "\n".join(filter(None, dict.fromkeys(thoughts))),
        "".join(refusals),
        bool(fields.get("tool_calls") or fields.get("function_call") or has_call),
    )


def _scalar(content: object) -> list[str]:
    """Return a text, or JSON that the server has parsed; nothing for content that says nothing."""
    if isinstance(content, str):
        return [content]
    is_number = isinstance(content, int | float) and not isinstance(content, bool)
    return [_json(content)] if is_number or (isinstance(content, dict) and content) else []


def _kind(part: object) -> str:
    kind = str(_object(part).get("type", "text"))
    return next((name for name, pattern in _KINDS if pattern.search(kind)), "text")


def _text_in(value: object, depth: int = 4) -> str | None:
    """Return the text in a part of a message, some levels deep; None without one."""
    if isinstance(value, str):
        return value
    if depth and isinstance(value, dict):
        texts = (_text_in(value.get(key), depth - 1) for key in (*_TEXT_KEYS, *_THOUGHT_KEYS, "refusal"))
        return next((text for text in texts if text is not None), None)
    if depth and isinstance(value, list):
        parts = [text for part in value if (text := _text_in(part, depth - 1)) is not None]
        return "".join(parts) if parts else None
    return None


def _steps(logprobs: object, answer: str, *, has_thought: bool) -> tuple[Step, ...]:
    """Return the tokens of the answer; none if any token of the reply, or its probability, cannot be."""
    entries = _object(logprobs).get("content")
    steps = [_step(entry) for entry in entries] if isinstance(entries, list) else []
    whole = tuple(step for step in steps if step)
    if len(whole) < len(steps):
        return ()
    if not has_thought:
        return whole
    begin = "".join(step.token for step in whole).rfind(answer.strip())
    ends = accumulate(len(step.token) for step in whole)
    return tuple(step for step, end in zip(whole, ends, strict=True) if end > begin >= 0)


def _step(entry: object) -> Step | None:
    fields = _object(entry)
    offered = fields.get("top_logprobs") or []
    every = [fields, *offered] if isinstance(offered, list) else []
    if not every or not all(_is_probable(each) for each in every):
        return None
    return Step(fields["token"], {each["token"]: math.exp(each["logprob"]) for each in offered})


def _is_probable(entry: object) -> bool:
    fields = _object(entry)
    token, logprob = fields.get("token"), fields.get("logprob")
    if not isinstance(token, str) or isinstance(logprob, bool) or not isinstance(logprob, int | float):
        return False
    return logprob <= 0  # which is not true of NaN


def chat_template(
    tokenizer: Any, arguments: Mapping[str, bool | str] = MappingProxyType({})
) -> Callable[[Sequence[Message]], str] | None:
    """Return a function that formats messages by the tokenizer's template; None without a template.

    `arguments` are further ones of the template, such as `enable_thinking`; it ignores those that it does not
    know. If the template refuses a system message, its text is put before the user's.
    """
    if not getattr(tokenizer, "chat_template", None):
        return None
    takes_system = _takes_system(tokenizer)

    def write(messages: Sequence[Message]) -> str:
        visible = messages if takes_system else without_system(messages)
        return _write(tokenizer, visible, arguments)

    return write


def without_system(messages: Sequence[Message]) -> list[Message]:
    """Move the system text into the user's message."""
    system = [text for role, text in messages if role == "system"]
    others = [message for message in messages if message[0] != "system"]
    if not system or not others:
        return list(others)
    role, text = others[0]
    return [(role, "\n\n".join([*system, text])), *others[1:]]


def _takes_system(tokenizer: Any) -> bool:
    """Return whether the template keeps a system text: some raise, others leave it out."""
    from jinja2 import TemplateError

    probe = "Read this."
    try:
        return probe in _write(tokenizer, [("system", probe), ("user", "Then answer.")])
    except TemplateError:
        return False


def _write(
    tokenizer: Any, messages: Sequence[Message], arguments: Mapping[str, bool | str] = MappingProxyType({})
) -> str:
    chat = [{"role": role, "content": text} for role, text in messages]
    written: str = tokenizer.apply_chat_template(
        chat, add_generation_prompt=True, tokenize=False, **arguments
    )
    return written
