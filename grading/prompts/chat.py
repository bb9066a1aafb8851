"""Prompts that are a chat, and what others wrote in a prompt: texts, and exemplars that people rated.

The words around exemplars are part of what a grade means, like those of a prompt: they must not change. Texts
of others cannot write the control tokens of a model. A passage that spells `<|im_end|>` would end the user's
turn and could begin the model's; one that quotes `</s>` would end the prompt. A blank after the first
character breaks such a mark: its letters stay to be read, and no tokenizer takes them for the token. A text
without marks stays as it is, to the byte.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from grading.errors import UnknownPrompt
from grading.types import Exemplar

P = TypeVar("P")
# ChatML, Llama 3, Phi, gpt-oss, Command R; DeepSeek; Gemma; Llama 2 and Mistral; T5; most vocabularies.
_WELL_KNOWN = (
    r"<\|[^<>|\s]{1,40}\|>|<\uff5c[^<>\uff5c\s]{1,40}\uff5c>"
    r"|<(?:start|end)_of_turn>|<\|turn>|<turn\|>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|<</?SYS>>"
    r"|<extra_id_[0-9]{1,3}>"
    r"|</?s>|<(?:bos|eos|pad|unk|sep|cls|mask)>"
)
_SHORTEST = 3
"""Characters of a mark. Some models pad with "!" or a line break, which texts may have."""


@dataclass(frozen=True, slots=True)
class PromptMarks:
    """The spellings of control tokens."""

    pattern: re.Pattern[str]
    initials: frozenset[str]
    """The characters that marks begin with."""
    normalize: Callable[[str], str] | None = None
    """What the tokenizer does to a text before it looks for them, where it does."""

    def are_in(self, text: str) -> bool:
        """Return whether the text spells a control token."""
        return any(map(text.__contains__, self.initials)) and self.pattern.search(text) is not None

    def broken(self, text: str) -> str:
        """Return the text, with a blank in each mark."""
        if self.normalize and self.are_in(self.normalize(text)):
            text = unicodedata.normalize("NFKC", text)
        if not self.are_in(text):
            return text
        return self.pattern.sub(lambda mark: f"{mark[0][0]} {mark[0][1:]}", text)


WELL_KNOWN = PromptMarks(re.compile(_WELL_KNOWN), frozenset("<["))
"""For models behind servers, whose tokenizers nobody here sees."""


def marks_of(
    tokenizer: Any,
) -> PromptMarks:  # Any: transformers' tokenizers are only typed as their common base
    """Return the marks of a tokenizer, and the well-known ones.

    They are its special tokens, and what else of its added tokens the chat template writes.
    """
    template = str(getattr(tokenizer, "chat_template", None) or "")
    control = [
        token
        for token in tokenizer.added_tokens_decoder.values()
        if (token.special or token.content in template) and _is_mark(token.content)
    ]
    spellings = {token.content for token in control} | set(filter(_is_mark, tokenizer.all_special_tokens))
    normalizer = getattr(getattr(tokenizer, "backend_tokenizer", None), "normalizer", None)
    is_normalized = any(token.normalized for token in control)
    longest_first = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
    return PromptMarks(
        re.compile("|".join([*map(re.escape, longest_first), _WELL_KNOWN]), re.IGNORECASE * is_normalized),
        WELL_KNOWN.initials | {spelling[0] for spelling in spellings},
        normalizer.normalize_str if normalizer is not None and is_normalized else None,
    )


def fill(
    template: str, placeholder: re.Pattern[str], texts: Mapping[str, str], marks: PromptMarks = WELL_KNOWN
) -> str:
    """Fill the placeholders once, by their first group: braces within texts stay, marks are broken.

    Marks of the template itself stay, too. Raises KeyError for a text that is missing.
    """
    filled = placeholder.sub(lambda match: marks.broken(texts[match[1]]), template)
    # Two texts side by side may spell a mark together.
    return filled if marks.are_in(template) else marks.broken(filled)


def _is_mark(spelling: str) -> bool:
    return len(spelling) >= _SHORTEST and not spelling.isspace() and not spelling.isalnum()


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
        """Return `NAME@version`, which names these exact words for ever."""
        return f"{self.name}@{self.version}"

    def messages(self, **texts: str) -> Messages:
        """Fill the placeholders (`control_tokens.fill`). Raises KeyError for a text that is missing."""
        text = fill(self.template, _PLACEHOLDER, texts)
        return [("system", self.system), ("user", text)] if self.system else [("user", text)]


def chat_prompt(package: str, name: str) -> ChatPrompt:
    """Return a prompt of the prompts.toml of `package`, by its name.

    Raises UnknownPrompt, which lists all.
    """
    return find_prompt(chat_prompts(package), name, problem=f"no prompt of {package} is named")


def find_prompt(prompts: Mapping[str, P], name: str, *, problem: str) -> P:
    """Return the prompt of a name. Raises UnknownPrompt: `problem`, the name, and the known ones."""
    try:
        return prompts[name]
    except KeyError:
        raise UnknownPrompt(f"{problem} {name!r}; known are {', '.join(sorted(prompts))}") from None


@cache
def chat_prompts(package: str) -> Mapping[str, ChatPrompt]:
    """Return the prompts of a package by name, in the order of its file."""
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


BEFORE_EXEMPLARS = (
    "People graded these passages, which are for other topics, on the scale that is explained below.\n\n"
)
_EXEMPLAR = "{kind}: {item}\nPassage: {passage}\nGrade: {grade}\n\n"
_AFTER = "Grade what follows in the same way.\n\n"
_EXEMPLAR_PLACEHOLDER = re.compile(r"\{(kind|item|passage|grade)\}")


def exemplar_block(
    exemplars: Sequence[Exemplar], label_of: Callable[[int], str], marks: PromptMarks = WELL_KNOWN
) -> str:
    """Return what stands before a prompt's own text; empty without exemplars.

    `label_of` is the prompt's name of a rating. Control tokens in the texts are broken, as `fill` does.
    """
    if not exemplars:
        return ""
    texts = (
        {
            "kind": each.kind.value.capitalize(),
            "item": " ".join(each.item.split()),
            "passage": " ".join(each.passage.split()),
            "grade": label_of(each.rating),
        }
        for each in exemplars
    )
    return (
        BEFORE_EXEMPLARS
        + "".join(fill(_EXEMPLAR, _EXEMPLAR_PLACEHOLDER, each, marks) for each in texts)
        + _AFTER
    )
