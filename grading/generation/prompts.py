"""The prompts of prompts.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from grading.errors import UnknownPrompt
from grading.prompts.control_tokens import fill
from grading.types import ItemKind

_PLACEHOLDER = re.compile(r"\{(query_text|query_title|query_subtopic|nuggets|count)\}")


@dataclass(frozen=True, slots=True)
class DraftPrompt:
    """A template about a topic, without a passage."""

    prompt_class: str
    version: str
    kind: ItemKind
    template: str
    source: str
    """The paper and table that it comes from."""

    @property
    def prompt_id(self) -> str:
        """`CLASS@version`, which names these exact words for ever."""
        return f"{self.prompt_class}@{self.version}"

    @property
    def drafts(self) -> bool:
        """Whether it asks for items, rather than about existing ones."""
        return "{nuggets}" not in self.template

    @property
    def needs_subtopic(self) -> bool:
        return "{query_subtopic}" in self.template

    def render(self, texts: Mapping[str, str]) -> str:
        """Fill the template's own placeholders (`control_tokens.fill`)."""
        return fill(self.template, _PLACEHOLDER, texts)


def get(prompt_class: str) -> DraftPrompt:
    """The prompt of a class. Raises UnknownPrompt, which lists the known ones."""
    try:
        return _by_class()[prompt_class]
    except KeyError:
        raise UnknownPrompt(
            f"no drafting prompt {prompt_class!r}; known are {', '.join(sorted(_by_class()))}"
        ) from None


def known() -> tuple[DraftPrompt, ...]:
    """Every prompt, in the order of the file."""
    return tuple(_by_class().values())


@cache
def _by_class() -> dict[str, DraftPrompt]:
    file = tomllib.loads((resources.files(__package__) / "prompts.toml").read_text(encoding="utf-8"))
    return {
        entry["prompt_class"]: DraftPrompt(
            prompt_class=entry["prompt_class"],
            version=entry["version"],
            kind=ItemKind(entry["kind"]),
            template=entry["template"].replace("{instruction}", file["instruction"][entry["kind"]]),
            source=entry["source"],
        )
        for entry in file["prompt"]
    }
