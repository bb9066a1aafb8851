"""Which nuggets are vital or okay to a good answer, by the query alone (AutoNuggetizer, arXiv 2411.09607)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grading.generation import prompts
from grading.generation.drafting import TRIES, TextModel
from grading.graders.replies import NoReply
from grading.types import Importance, Topic

WINDOW = 10
"""Nuggets per request."""


_LABEL = re.compile(r"(?<![^\W_])(vital|okay)(?![^\W_])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Importances:
    """One label per nugget, in their order."""

    labels: tuple[Importance, ...]
    unsaid: tuple[int, ...]
    """Places labelled OKAY only because no reply labelled each nugget of their window."""
    prompt_id: str

    @property
    def defaulted(self) -> int:
        return len(self.unsaid)


def weigh(llm: TextModel, topic: Topic, nuggets: Sequence[str]) -> Importances:
    """Label window by window, TRIES times at most; without an answer OKAY, as in the published tool.

    Raises NoReply where the model cannot be asked, or answers for no window.
    """
    labels: list[Importance] = []
    unsaid: list[int] = []
    no_reply: NoReply | None = None
    for start in range(0, len(nuggets), WINDOW):
        window, window_labels = nuggets[start : start + WINDOW], []
        try:
            window_labels = _weigh_window(llm, topic, window)
        except NoReply as error:
            if not error.is_of_prompt:
                raise
            no_reply = error
        unsaid += [] if window_labels else range(start, start + len(window))
        labels += window_labels or [Importance.OKAY] * len(window)
    if no_reply and len(unsaid) == len(nuggets):
        raise no_reply
    return Importances(tuple(labels), tuple(unsaid), prompts.get("NuggetImportance").prompt_id)


def parse_importances(reply: str, count: int) -> list[Importance]:
    """The labels in a reply; empty unless there are exactly `count`."""
    last_list = reply[reply.rfind("[") + 1 :] if "[" in reply else reply
    labels = [Importance(label.lower()) for label in _LABEL.findall(last_list)]
    return labels if len(labels) == count else []


def _weigh_window(llm: TextModel, topic: Topic, window: Sequence[str]) -> list[Importance]:
    words = {
        "query_text": topic.text,
        "nuggets": "\n".join(f"[{number}] {nugget}" for number, nugget in enumerate(window, 1)),
        "count": str(len(window)),
    }
    messages = [("user", prompts.get("NuggetImportance").render(words))]
    for _ in range(TRIES):
        if labels := parse_importances(llm.complete(messages), len(window)):
            return labels
    return []
