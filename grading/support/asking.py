"""Ask a model whether a passage supports a statement, and read its reply."""

from __future__ import annotations

from grading.errors import ParseFailure, UnknownPrompt
from grading.parsing.labels import parse_label
from grading.prompts.chat import WELL_KNOWN, ChatPrompt, Messages, chat_prompts
from grading.support.scores import Support

PROMPT_ID = "SupportOfStatement@1"
"""Of the prompt that is asked unless another one is named."""
AGAIN_ID = "SupportAgain@1"
"""Of what is said after a reply that names no label."""
LONGEST_REPLY = 32
"""Tokens: a label with a word or two around it."""


def support_prompt(prompt_id: str = PROMPT_ID) -> ChatPrompt:
    """A prompt of prompts.toml by name and version. Raises UnknownPrompt, which lists the known ones."""
    known = {prompt.prompt_id: prompt for prompt in known_prompts()}
    try:
        return known[prompt_id]
    except KeyError:
        raise UnknownPrompt(
            f"no prompt about support is {prompt_id!r}; known are {', '.join(known)}"
        ) from None


def known_prompts() -> tuple[ChatPrompt, ...]:
    """Every prompt about support, in the order of the file."""
    return tuple(chat_prompts("grading.support").values())


def question(statement: str, passage: str, prompt: ChatPrompt) -> Messages:
    """The messages that ask about one statement and one passage.

    >>> [(role, text)] = question("Tides follow the moon.", "The moon pulls the sea.", support_prompt())
    >>> "Statement: Tides follow the moon." in text, "Passage: The moon pulls the sea." in text
    (True, True)
    """
    return prompt.messages(statement=statement.strip(), passage=passage.strip())


def question_again(statement: str, passage: str, prompt: ChatPrompt, reply: str) -> Messages:
    """The same question, the reply that named no label, and that it named none.

    >>> asked = question_again("Bread rises.", "Yeast makes gas.", support_prompt(), "It may well be.")
    >>> [role for role, _ in asked], asked[1][1]
    (['user', 'assistant', 'user'], 'It may well be.')
    """
    again = support_prompt(AGAIN_ID).messages()
    return [*question(statement, passage, prompt), ("assistant", WELL_KNOWN.broken(reply.strip())), *again]


def label_of(reply: str, prompt: ChatPrompt) -> Support | None:
    """The one label that a reply names; None where it names none, or several.

    >>> replies = "**Partial support**", "no_support", "It may well be."
    >>> [label_of(reply, support_prompt()) for reply in replies]
    [<Support.PARTIAL: 1>, <Support.NONE: 0>, None]
    """
    try:
        return Support(parse_label(reply, dict(prompt.labels)).rating)
    except ParseFailure:
        return None
