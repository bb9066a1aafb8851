"""Claims of a grader's rationale: what its reply says of the passage, beside the rating.

A model may make up evidence for its rating, or give the question back as a reason (Farzi and Dietz 2024,
TREMA-UNH at TREC RAG, section 6.2). Each sentence is a claim, which a model is asked about like a statement
that cites the passage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from grading.graders.replies import split_thinking
from grading.parsing import json_objects
from grading.parsing.prose import only_rates
from grading.parsing.words import plain
from grading.segmentation import sentence_spans
from grading.support import Support
from grading.types import FAILED, text_md5
from grading.verify import normal

LONGEST_CLAIM = 1_000
"""Characters of a sentence that are asked about."""
_LEAD_IN = re.compile(
    r"^\W*(?:(?:(?:final|overall)\s+)?(?:rationale|explanation|reason(?:ing)?|justification|comment"
    r"|grade|rating|score|answer)\s*(?::|-|\bis\b)\s*)?(?:\d+(?:\s*/\s*\d+)?\s*(?:[.:)]|-|$)\s*)?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")
_PRAISE = """
passage text context document paragraph question nugget answer answers response reply grade rating score scale
rationale reason explanation information detail details example examples claim claims evidence insight
relevant irrelevant related complete incomplete partial partially accurate inaccurate correct clear clearly
comprehensive thorough specific specifically direct directly full fully high highly most mostly good great
excellent well poor poorly concise organized informative useful helpful sufficient
provide provides give gives offer offers contain contains include includes mention mentions state states
address addresses discuss discusses explain explains describe describes highlight highlights cover covers
support supports note notes say says show shows make makes making deserve deserves assign
not no any all only aspect aspects topic query subject
"""
_STOCK = frozenset(normal(_PRAISE).split())


class RationaleClaim(NamedTuple):
    """A sentence of a rationale that says more than how good the passage is."""

    text: str
    md5: str
    restates: bool
    """Whether it has no word of substance that the question does not have."""


class RationaleOutcome(StrEnum):
    """What is known of a rationale."""

    UNSUPPORTED = "a claim that the passage does not hold"
    PARTIAL = "a claim that the passage holds in part"
    SUPPORTED = "all claims in the passage"
    RESTATES = "restates the question"
    UNCLEAR = "no label in a reply"
    UNCHECKED = "not checked"


BY_LABELS = (RationaleOutcome.UNSUPPORTED, RationaleOutcome.PARTIAL, RationaleOutcome.SUPPORTED)
"""The outcomes that labels of all claims decide."""


def claims(reply: str, question: str) -> tuple[RationaleClaim, ...]:
    """Return the claims of a reply in their order, each once; none where it only rates.

    >>> reply = "5: The answer is highly relevant. The passage says that the moon pulls the sea."
    >>> [claim.text for claim in claims(reply, "Why do tides rise?")]
    ['The passage says that the moon pulls the sea.']
    >>> [claim.restates for claim in claims("The passage explains why tides rise. 4", "Why do tides rise?")]
    [True]
    """
    of_question = set(normal(question).split())
    by_text: dict[str, RationaleClaim] = {}
    for sentence in _sentences(reply):
        terms = set(normal(sentence).split()) - _STOCK
        if not terms or only_rates(_NUMBER.sub(" ", sentence)):
            continue
        by_text.setdefault(sentence, RationaleClaim(sentence, text_md5(sentence), terms <= of_question))
    return tuple(by_text.values())


def outcome_of(rationale: Sequence[RationaleClaim], labels: Mapping[str, int]) -> RationaleOutcome:
    """Return the outcome by the labels of its claims, by md5; `FAILED` where a reply named none.

    Once all are labelled, one claim that the passage does not hold decides; one that it contradicts it does
    not hold. Claims that restate the question need no label.

    >>> made = claims("The moon pulls the sea. The sun does too.", "Why do tides rise?")
    >>> md5s = [claim.md5 for claim in made]
    >>> [outcome_of(made, dict(zip(md5s, labels))).name for labels in ([2, -5], [2, 0], [2, 1], [2])]
    ['UNSUPPORTED', 'UNSUPPORTED', 'PARTIAL', 'UNCHECKED']
    """
    checked = [claim for claim in rationale if not claim.restates]
    if not checked:
        return RationaleOutcome.RESTATES
    stated = [labels.get(claim.md5) for claim in checked]
    if None in stated:
        return RationaleOutcome.UNCHECKED
    if not {Support.NONE, Support.CONTRADICTS}.isdisjoint(stated):
        return RationaleOutcome.UNSUPPORTED
    if FAILED in stated:
        return RationaleOutcome.UNCLEAR
    return RationaleOutcome.PARTIAL if Support.PARTIAL in stated else RationaleOutcome.SUPPORTED


def _sentences(reply: str) -> Iterator[str]:
    """Yield the sentences without what stands around them: lead-ins, ratings, numbers of a list, mark-up."""
    for line in _prose(split_thinking(reply).answer).split("\n"):
        for start, end in sentence_spans(line):
            sentence = _LEAD_IN.sub("", " ".join(line[start:end].replace("*", "").split()), count=1)
            if any(map(str.isalpha, sentence)):
                yield sentence[:LONGEST_CLAIM]


def _prose(answer: str) -> str:
    """Return the texts of a reply in JSON, and any other reply in plain characters."""
    for entry in json_objects(answer):
        if texts := [value for value in entry.values() if isinstance(value, str)]:
            return "\n".join(map(plain, texts))
    return plain(answer)
