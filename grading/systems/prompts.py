"""The prompts of the systems, in prompts.toml beside this file.

They are read once a process. A prompt that has made a run is never edited: changed words are a new version,
and a run's provenance names the version that was asked.
"""

from __future__ import annotations

from typing import TypeAlias

from grading.prompts.chat import ChatPrompt, chat_prompt

__all__ = ("SystemPrompt", "get")

SystemPrompt: TypeAlias = ChatPrompt
"""What a system asks a model at one step. Its replies are free text: it has no labels."""


def get(name: str) -> SystemPrompt:
    """The prompt of a name, such as "KeyFacts". Raises UnknownPrompt, which lists the known ones.

    >>> get("KeyFacts").prompt_id
    'KeyFacts@1'
    """
    return chat_prompt("grading.systems", name)
