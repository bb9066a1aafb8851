"""Passages of an answer with what the answer says before them, and prompts that rate only the passage itself.

Farzi and Dietz (TREMA-UNH at TREC 2024, section 7) name it a weakness that grading proceeds on one passage at
a time: "Exercise to relieve stress." answers a question about coping with vicarious trauma only beside the
sentence before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from grading.errors import BadPrompt
from grading.prompts import Prompt, covering_from, from_template
from grading.segmentation import longest_of, longest_start, sentence_breaks
from grading.types import Purpose, text_md5

WORDS = 100
"""The usual limit of words before a passage."""
BEFORE, RATED = "[Earlier in the answer]", "[To rate]"
INSTRUCTION = (
    f"The text below is cut from a longer answer. Rate only the part after {RATED}. The part after {BEFORE} "
    "is there to show what its pronouns and other references stand for; what only that part says does not "
    "count."
)
_SUFFIX, _LONGEST_NAME = "InContext", 64
_PARTS = re.compile(rf"{re.escape(BEFORE)} (.+)\n{re.escape(RATED)} (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class InContext:
    """A passage of an answer with what comes before it; the first of an answer has nothing before it."""

    before: str
    text: str

    @property
    def whole(self) -> str:
        """Return the text that is graded: the passage alone where nothing comes before it."""
        return f"{BEFORE} {self.before}\n{RATED} {self.text}" if self.before else self.text

    @property
    def doc_id(self) -> str:
        """Return the md5 of the whole text, so that equal ones are one passage."""
        return text_md5(self.whole)

    @property
    def isolated_id(self) -> str:
        """Return the doc id of the passage alone."""
        return text_md5(self.text)


def in_context(passages: Sequence[str], max_words: int = WORDS) -> Iterator[InContext]:
    """Yield each passage of an answer with the nearest whole passages before it, of so many words together.

    0 words are no limit. Of a passage directly before that is longer, the last words are taken.

    >>> [each.before for each in in_context(["It rains often.", "Take one.", "Open it."], max_words=5)]
    ['', 'It rains often.', 'It rains often. Take one.']
    >>> [each.before for each in in_context(["It rains often.", "Take one.", "Open it."], max_words=2)]
    ['', 'rains often.', 'Take one.']
    """
    for place, text in enumerate(passages):
        yield InContext(_before(passages[:place], max_words), text)


def _before(passages: Sequence[str], max_words: int) -> str:
    if not max_words:
        return " ".join(passages)
    taken: list[str] = []
    left = max_words
    for text in reversed(passages):
        n_words = len(text.split())
        if n_words > left:
            break
        taken, left = [text, *taken], left - n_words
    if not taken and passages:
        return " ".join(passages[-1].split()[-max_words:])
    return " ".join(taken)


def parts_of(text: str) -> InContext | None:
    """Return the parts of a passage that `InContext.whole` wrote; None for any other text."""
    match = _PARTS.fullmatch(text)
    return InContext(match[1], match[2]) if match else None


def without_start(parts: InContext, chars: int) -> str:
    r"""Return the text of both parts without so many characters of what comes before.

    >>> without_start(InContext("It rains often.", "Take one."), 9)
    '[Earlier in the answer] often.\n[To rate] Take one.'
    >>> without_start(InContext("It rains often.", "Take one."), 15)
    '[To rate] Take one.'
    """
    left = parts.before[chars:]
    return InContext(left, parts.text).whole if left else f"{RATED} {parts.text}"


def seen_of(text: str, chars: int) -> str:
    """Return what a model saw of a passage that was cut to so many characters: its start.

    In context it is all that is to be rated, and the end of what comes before.
    """
    parts = parts_of(text)
    return without_start(parts, len(text) - chars) if parts else text[:chars]


def prompt_in_context(prompt: Prompt) -> Prompt:
    """Return the prompt with INSTRUCTION above its words: an own prompt, with an id of its own.

    Nothing else differs, so that grades by both differ by the context alone. Raises BadPrompt for a prompt
    that does not rate one item of a passage at a time.
    """
    if prompt.purpose is not Purpose.RATE or prompt.items_a_call > 1 or "context" not in prompt.placeholders:
        raise BadPrompt(f"{prompt.prompt_class} does not rate one item of a passage at a time")
    own = from_template(
        f"{prompt.prompt_class[: _LONGEST_NAME - len(_SUFFIX)]}{_SUFFIX}",
        f"{INSTRUCTION}\n\n{prompt.template.strip()}",
        prompt.kinds,
        prompt.scale,
        system=prompt.system,
        rule=prompt.rule,
        labels=dict(prompt.labels),
        is_strict=prompt.is_strict,
    )
    same = prompt.min_grade in (None, own.min_grade)
    return own if same else covering_from(own, prompt.min_grade or 0)


def longest_seen(text: str, fits: Callable[[str], bool]) -> str:
    """Return as much of a passage as fits: its longest start.

    In context it is all that is to be rated, with as much as fits of what comes directly before; "" if even
    the part to rate does not fit.
    """
    parts = parts_of(text)
    if parts is None or fits(text):
        return longest_start(text, fits)
    sentences = [end for _, end in sentence_breaks(parts.before)]
    spaces = [match.end() for match in re.finditer(r"\s+", parts.before)]
    for cuts in (sentences, spaces, [len(parts.before)]):
        if kept := longest_of(cuts[::-1], partial(without_start, parts), fits):
            return kept
    return ""
