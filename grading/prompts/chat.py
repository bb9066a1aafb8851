"""Prompts that are a chat with placeholders, from a file prompts.toml beside the code that asks them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from grading.errors import UnknownPrompt
from grading.prompts.control_tokens import fill

_PLACEHOLDER = re.compile(r"\{(\w+)\}")

Messages = list[tuple[str, str]]
"""(role, text), as a TextModel takes them."""


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """What a model is asked at one step."""

    name: str
    version: str
    template: str
    source: str
    """The paper and table that it comes from."""
    system: str = ""
    """The text of the role "system"; empty where the source has none."""
    labels: tuple[tuple[str, int], ...] = ()
    """What replies may say, and the rating that each stands for; empty where replies are free text."""

    @property
    def prompt_id(self) -> str:
        """`NAME@version`, which names these exact words for ever."""
        return f"{self.name}@{self.version}"

    def messages(self, **texts: str) -> Messages:
        """Fill the placeholders (`control_tokens.fill`). Raises KeyError for a text that is missing."""
        text = fill(self.template, _PLACEHOLDER, texts)
        return [("system", self.system), ("user", text)] if self.system else [("user", text)]


def chat_prompt(package: str, name: str) -> ChatPrompt:
    """A prompt of the prompts.toml of `package`, by its name. Raises UnknownPrompt, which lists all."""
    known = chat_prompts(package)
    try:
        return known[name]
    except KeyError:
        raise UnknownPrompt(
            f"no prompt of {package} is named {name!r}; known are {', '.join(known)}"
        ) from None


@cache
def chat_prompts(package: str) -> Mapping[str, ChatPrompt]:
    """The prompts of a package by name, in the order of its file."""
    file = tomllib.loads((resources.files(package) / "prompts.toml").read_text(encoding="utf-8"))
    return {
        name: ChatPrompt(
            name=name,
            version=entry["version"],
            template=entry["template"].strip(),
            source=entry["source"],
            system=entry.get("system", "").strip(),
            labels=tuple(entry.get("labels", {}).items()),
        )
        for name, entry in file.items()
    }
