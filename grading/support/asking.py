"""Ask a model whether a passage supports a statement, and read its reply."""

from __future__ import annotations

from grading.errors import ParseFailure
from grading.parsing.labels import parse_label
from grading.prompts.chat import ChatPrompt, Messages, chat_prompt, chat_prompts
from grading.support.scores import Support

PROMPT = "SupportOfStatement"
"""The prompt that is asked now."""


def support_prompt(name: str = PROMPT) -> ChatPrompt:
    """A prompt of prompts.toml. Raises UnknownPrompt, which lists the known ones.

    >>> support_prompt().prompt_id
    'SupportOfStatement@1'
    """
    return chat_prompt("grading.support", name)


def known_prompts() -> tuple[ChatPrompt, ...]:
    """Every prompt about support, in the order of the file."""
    return tuple(chat_prompts("grading.support").values())


def question(statement: str, passage: str, *, prompt: str = PROMPT) -> Messages:
    """The messages that ask about one statement and one passage.

    >>> [(role, text)] = question("Tides follow the moon.", "The moon pulls the sea.")
    >>> "Statement: Tides follow the moon." in text, "Passage: The moon pulls the sea." in text
    (True, True)
    """
    return support_prompt(prompt).messages(statement=statement.strip(), passage=passage.strip())


def label_of(reply: str, *, prompt: str = PROMPT) -> Support | None:
    """The one label that a reply names; None where it names none, or several.

    >>> label_of("**Partial support**"), label_of("no_support"), label_of("It may well be.")
    (<Support.PARTIAL: 1>, <Support.NONE: 0>, None)
    """
    try:
        return Support(parse_label(reply, dict(support_prompt(prompt).labels)).rating)
    except ParseFailure:
        return None
