"""The prompts of prompts.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from grading.errors import UnknownPrompt

_PLACEHOLDER = re.compile(r"\{(\w+)\}")

Messages = list[tuple[str, str]]
"""(role, text), as a TextModel takes them."""


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """What a system asks a model at one step."""

    name: str
    version: str
    template: str
    source: str
    """The paper and table that it comes from."""
    system: str = ""
    """The text of the role "system"; empty where the paper has none."""

    @property
    def prompt_id(self) -> str:
        """`NAME@version`, which names these exact words for ever."""
        return f"{self.name}@{self.version}"

    def messages(self, **words: str) -> Messages:
        """Fill the placeholders once: braces within `words` stay. Raises KeyError for a missing word."""
        text = _PLACEHOLDER.sub(lambda match: words[match[1]], self.template)
        return [("system", self.system), ("user", text)] if self.system else [("user", text)]


def get(name: str) -> SystemPrompt:
    """The prompt of a name. Raises UnknownPrompt, which lists the known ones."""
    try:
        return _by_name()[name]
    except KeyError:
        raise UnknownPrompt(
            f"no prompt of a system is named {name!r}; known are {', '.join(_by_name())}"
        ) from None


@cache
def _by_name() -> dict[str, SystemPrompt]:
    file = tomllib.loads((resources.files(__package__) / "prompts.toml").read_text(encoding="utf-8"))
    return {
        name: SystemPrompt(
            name=name,
            version=entry["version"],
            template=entry["template"].strip(),
            source=entry["source"],
            system=entry.get("system", "").strip(),
        )
        for name, entry in file.items()
    }
