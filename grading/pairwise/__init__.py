"""Which of two answers to a question is better: how a model is asked, once for each order of the two.

Zheng et al. 2023, "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena" (arXiv 2306.05685), ask for both
orders, since models favour a place: an answer wins only where it wins in both, and all else is a tie.
"""

from __future__ import annotations

import re
from enum import StrEnum

from grading.prompts.chat import ChatPrompt, Messages, chat_prompts, find_prompt

PROMPT_ID = "BetterAnswer@1"
"""The prompt that is used unless another one is named."""
LONGEST_REPLY = 16
"""Tokens: a verdict with a word or two around it."""
_MARKED = re.compile(r"\[\[\s*([ABC])\s*\]\]", re.IGNORECASE)
_BARE = re.compile(r"\W*(?:verdict\W+)?(?:answer\W+)?([ABC])\W*", re.IGNORECASE)


class Preference(StrEnum):
    """The verdict on two answers, by the place of each."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"

    @property
    def swapped(self) -> Preference:
        """Return the same verdict where the two answers change places."""
        return _SWAPPED[self]


_SWAPPED = {
    Preference.FIRST: Preference.SECOND,
    Preference.SECOND: Preference.FIRST,
    Preference.TIE: Preference.TIE,
}
_BY_LETTER = {"A": Preference.FIRST, "B": Preference.SECOND, "C": Preference.TIE}


def pairwise_prompt(prompt_id: str = PROMPT_ID) -> ChatPrompt:
    """Return a prompt of prompts.toml by name and version.

    Raises UnknownPrompt, which lists the known ones.
    """
    by_id = {prompt.prompt_id: prompt for prompt in chat_prompts("grading.pairwise").values()}
    return find_prompt(by_id, prompt_id, problem="no prompt about two answers is")


def question(text: str, first: str, second: str, prompt: ChatPrompt) -> Messages:
    """Return the messages that ask about two answers in this order.

    >>> [(role, asked)] = question("Why?", "The moon.", "The sun.", pairwise_prompt())
    >>> asked.index("The moon.") < asked.index("The sun.")
    True
    """
    return prompt.messages(question=text.strip(), first=first.strip(), second=second.strip())


def preference_of(reply: str) -> Preference | None:
    """Return the one verdict that a reply names; None where it names none, or several.

    A letter counts in double brackets, or alone.

    >>> replies = "[[A]]", "Both err. Verdict: [[C]]", "Answer B.", "[[A]] or [[B]]", "A is longer."
    >>> [preference_of(reply) for reply in replies]
    [<Preference.FIRST: 'first'>, <Preference.TIE: 'tie'>, <Preference.SECOND: 'second'>, None, None]
    """
    letters = {letter.upper() for letter in _MARKED.findall(reply)}
    if not letters and (bare := _BARE.fullmatch(reply.strip())):
        letters = {bare[1].upper()}
    return _BY_LETTER[letters.pop()] if len(letters) == 1 else None
