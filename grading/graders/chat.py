"""Messages for chat models, by the tokenizer's template."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

Message = tuple[str, str]


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
        shown = messages if takes_system else without_system(messages)
        return _write(tokenizer, shown, arguments)

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
    """Some templates raise, others leave the text out."""
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
