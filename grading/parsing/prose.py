"""The number that a reply says in words: "I would rate this passage a 4 out of 5.", "Rating: 4".

Four readings, the first that finds a rating decides; where it finds several, there is none:

1. After "final rating:", "overall:" and the like.
2. After a lead-in: a noun ("rating", "grade", "score", "code", "answer", or such a noun of another language),
   a first person who rates ("I would rate ... a 4", "I'd give this a 4"), or a stated scale ("On a scale of 0
   to 5, this is 4").
3. After "is a", "deserves a" and the like: "This is a solid 4.", "A 4 seems fair."
4. Out of the whole scale ("4 out of 5"), or in a sentence of its own: one that has no other words than those
   that people rate with (languages.toml), as in "Yes, 4.", "Probably a 4", "我给4分".

A number that counts something is no rating: "I would give 3 reasons", "4 out of 5 people"; nor is one that is
denied: "not a 4".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from grading.parsing.words import AROUND, AROUND_UNSPACED, LABELS, OUT_OF, TOP_OF, UNITS

Scale = tuple[int, int]

_DIGITS = 3
"""A longer number is on no scale."""
_EITHER_END = 2000
"""Characters that are read at the beginning and at the end of a long reply."""
_LONGEST_SENTENCE = 160
"""Characters of a sentence that does nothing but rate."""

# An integer (4.0 is one), perhaps out of another one; no sign, decimal, share or range: not -1, 4.5, 4%, 3-4,
# "3 or a 4".
_WHOLE = r"[0-9]+(?:[.,]0{1,2}(?![0-9]))?"
NUMBER = re.compile(
    r"(?<![^\W_])(?<![.,/\u2012\u2013-])(?P<number>[0-9]+)(?:[.,]0{1,2}(?![0-9]))?"
    rf"(?:\s*/\s*(?P<of>{_WHOLE})|\s+(?:{OUT_OF})\s+(?:a\s+possible\s+)?(?P<out_of>{_WHOLE})"
    rf"|\s+of\s+(?P<among>{_WHOLE}))?"
    r"(?![^\W_]|%|[.,:/][0-9]|\s+(?:out\s+)?of\b"
    r"|\s+or\s+(?:higher|more|above|better|lower|less|below|fewer|so)\b"
    r"|[ \t]*(?:[-\u2013\u2014/,]|\b(?:to|or|and)\b(?:\s+an?\b)?)[ \t]*[0-9])",
    re.IGNORECASE,
)
# What may follow a number that counts nothing: "4.", "4)", "4 because", "4 on a scale"; not "4 years".
ALONE = re.compile(
    r"[\s\"'\u201d)\]}]*(?:$|[.,;:!?(\u2013\u2014\u3002\uff1b\u060c\u0964-]|\n)"
    r"|\s+(?:because|as|since|for|based|due|given|with|which|meaning|indicating|overall|but|at\s+(?:best|most)"
    r"|to\s+(?:the|this|it)|in\s+(?:terms|relevance)|on\s+(?:a|the|this)\s+(?:\S+\s+)?scale|stars?\b|rating|grade|score)\b"
    rf"|\s*(?:{UNITS})[\s\"')]*(?:$|[.,;:!\n\u3002-])",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"[*`]+|(?<![^\W_])_+|_+(?![^\W_])")
# As in "4 stars out of 5", "5点中4点", "4分(满分5分)".
_UNITS_FIRST = re.compile(rf"(?<=[0-9])\s*(?:{UNITS})\s+(?:{OUT_OF})\s+(?=[0-9])", re.IGNORECASE)
_TOP_FIRST = re.compile(rf"([0-9]+)\s*(?:{TOP_OF})\s*([0-9]+)")
_FULL_MARKS = re.compile(r" ?[分点]? ?\(?满分[为是]? ?([0-9]+) ?分?\)?")
_NOT_THIS = re.compile(
    r"\s{0,3}(?:\bnot\b|n't\b|\brather\s{1,3}than\b|\binstead\s{1,3}of\b)\s{1,3}(?:an?\s{1,3})?[0-9]+\b",
    re.IGNORECASE,
)

_AT_MOST = r"(?:(?!\b(?:out|not|never|than|least|between|from|above|below|over|under)\b)[^0-9\n.?!])"
_I_RATE = (
    r"\b(?:i|we)\b(?:(?!\b(?:not|never|cannot|almost|nearly|hardly|barely|refuse|doubt)\b|n't\b)[^0-9\n.?!]){0,40}?"
    r"\b(?:rate|rated|score|scored|grade|graded|give|gave|assign|assigned|choose|chose|select|pick|say)\b"
    + _AT_MOST
    + r"{0,60}?(?=[0-9])"
)
_IS_A = re.compile(
    r"(?:\b(?:is|be|was|rated|scored|graded|given|assigned"
    r"|gets?|receives?|deserves?|earns?|merits?|warrants?|scores?|rates?)\b|'s\b)"
    r"(?:\s+(?:as|at))?\s+an?\s+(?:(?:solid|strong|clear|definite|perfect|weak|high|low)\s+)?(?=[0-9])"
    r"|\b(?:falls?\s+under|settle\s+on|go(?:ing)?\s+with|call\s+(?:it|this)|put\s+(?:it|this)\s+at)"
    r"\s+(?:an?\s+)?(?=[0-9])",
    re.IGNORECASE,
)
_IS_FITTING = re.compile(
    r"\s+(?:is|be|feels|(?:seems|appears)(?:\s+to\s+be)?|would\s+be)\s+(?:the\s+|an?\s+)?(?:most\s+)?"
    r"(?:appropriate|fair|right|correct|reasonable|suitable|fitting)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:not|never|cannot|hardly|barely|scarcely|no|nor|almost|nearly|doubt|refuse|unable)\b|n't\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.,;:!?\n]|\b(?:but|still|yet)\b", re.IGNORECASE)
_CLAUSE_LENGTH = 40

_SENTENCE_END = re.compile(r"[.!?\u061f\u06d4\u0964]\s+|[\u3002\uff01\uff1f]\s*|\n")
_ABBREVIATION = re.compile(
    r"\b(?:no|nr|figs?|secs?|sect|ch|chap|vol|pp?|art|eqs?|tab|ex|approx|ca|st|cf|par)$", re.IGNORECASE
)
_GAPS = re.compile(
    r"[\s.,:;!?()\[\]{}\"\u201c\u201d\u201e\u00ab\u00bb\u2013\u2014\u2026=\u2192\u21d2>#|*`~/_"
    r"\u061f\u06d4\u0964\u3001\u3002-]+"
)
_AGREES = re.compile(r"^\W*(?:yes\W|no[,:;(\u2013-]|no\s+[(\u2013-])", re.IGNORECASE)
# "Not mentioned at all: 0" denies no rating; "not 0" does.
_NOT_RELEVANT = re.compile(
    r"\b(?:(?:does\s+)?not|doesn't|isn't|no|nothing)\s+(?:(?:at\s+all|very|really)\s+)?"
    r"(?:relevant|mention(?:ed)?|answer(?:ed)?|cover(?:ed)?|information|complete|available|present|supported"
    r"|addressed|at\s+all)(?:\s+at\s+all)?\b",
    re.IGNORECASE,
)
# What has numbers itself: "passage 4".
_NUMBERED = re.compile(
    r"\b(?:question|query|passage|context|document|text|paragraph|criteria|answers)\s+$", re.IGNORECASE
)


def in_prose(text: str, scale: Scale) -> int | None:
    """Return the rating that the text states; None if it states none, or several that disagree."""
    if len(text) > 2 * _EITHER_END:
        text = text[:_EITHER_END] + "\n" + text[-_EITHER_END:]
    text = _UNITS_FIRST.sub("/", _EMPHASIS.sub("", text))
    text = _FULL_MARKS.sub(r"/\1", _TOP_FIRST.sub(r"\2/\1", text))
    readings: tuple[Callable[[str, Scale], set[int | None]], ...] = (
        _final,
        _after_lead_in,
        _after_is_a,
        _whole_or_sentence,
    )
    for reading in readings:
        if ratings := reading(text, scale) - {None}:
            return ratings.pop() if len(ratings) == 1 else None
    return None


def without_denied(text: str) -> str:
    """Return the text without the numbers that it says it does not give: "4, not 5", "3 rather than a 4"."""
    return _NOT_THIS.sub("", text)


def in_scale(match: re.Match[str], scale: Scale) -> int | None:
    """Return the rating of a match of NUMBER, if it is on the scale.

    "Out of" must name the scale's top, if it is there.
    """
    low, high = scale
    top = match["of"] or match["out_of"] or match["among"]
    if len(match["number"]) > _DIGITS or (top and re.split("[.,]", top)[0] != str(high)):
        return None
    number = int(match["number"])
    return number if low <= number <= high else None


def only_rates(text: str) -> bool:
    """Return whether all words of a text are of those that stand around a rating, in whatever language.

    >>> only_rates("I would probably give it a ."), only_rates("It names  causes.")
    (True, False)
    """
    text = _NOT_RELEVANT.sub(" ", text.lower())
    if not text.isascii():
        text = AROUND_UNSPACED.sub(" ", text)
    return all(not word or word in AROUND or _is_picture(word) for word in _GAPS.split(text))


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, but for questions, what follows "Fig." and the numbers of a list."""
    for line in text.split("\n"):
        start, before = 0, ""
        for end in _SENTENCE_END.finditer(line + "\n"):
            sentence, mark, start = line[start : end.start()], end[0], end.end()
            is_listed = mark[0] == "." and start < len(line) and not any(map(str.isalpha, sentence))
            if mark[0] not in "?\u061f\uff1f" and not is_listed and not _ABBREVIATION.search(before):
                yield sentence
            before = sentence


def _final(text: str, scale: Scale) -> set[int | None]:
    return {_at(text, match.end(), scale) for match in _lead_ins(scale).final.finditer(text)}


def _after_lead_in(text: str, scale: Scale) -> set[int | None]:
    patterns = _lead_ins(scale)
    ratings = {_at(text, match.end(), scale) for match in patterns.labels.finditer(text)}
    return ratings | {_alone_at(text, match.end(), scale) for match in patterns.phrases.finditer(text)}


def _after_is_a(text: str, scale: Scale) -> set[int | None]:
    matches = (match for match in _IS_A.finditer(text) if not _is_denied(text, match.start()))
    ratings = {_alone_at(text, match.end(), scale) for match in matches}
    fitting = (match for match in NUMBER.finditer(text) if _IS_FITTING.match(text, match.end()))
    return ratings | {in_scale(match, scale) for match in fitting if not _is_denied(text, match.start())}


def _whole_or_sentence(text: str, scale: Scale) -> set[int | None]:
    whole = (match for match in NUMBER.finditer(text) if match["of"] or match["out_of"])
    ratings = {in_scale(match, scale) for match in whole if ALONE.match(text, match.end())}
    return ratings | {_of_sentence(sentence, scale) for sentence in sentences(text)}


def _of_sentence(sentence: str, scale: Scale) -> int | None:
    """Return the rating of a sentence with one number that does nothing but rate."""
    if len(sentence) > _LONGEST_SENTENCE or not (match := NUMBER.search(sentence)):
        return None
    before, after = _AGREES.sub("", sentence[: match.start()]), sentence[match.end() :]
    rest = f"{before} {after}"
    if match["among"] or re.search("[0-9]", rest) or _NUMBERED.search(before) or not only_rates(rest):
        return None
    return in_scale(match, scale)


def _is_denied(text: str, place: int) -> bool:
    """Return whether the clause that leads to a place denies what comes: "it cannot be"."""
    clause = _CLAUSE.split(text[max(0, place - _CLAUSE_LENGTH) : place])[-1]
    return bool(_DENIED.search(clause))


def _is_picture(word: str) -> bool:
    return not word.isascii() and not any(map(str.isalnum, word)) and not set(word) & set("°€£¥±≤≥≈×")


def _at(text: str, place: int, scale: Scale) -> int | None:
    match = NUMBER.match(text, place)
    return in_scale(match, scale) if match else None


def _alone_at(text: str, place: int, scale: Scale) -> int | None:
    match = NUMBER.match(text, place)
    return in_scale(match, scale) if match and ALONE.match(text, match.end()) else None


class _LeadIns(NamedTuple):
    final: re.Pattern[str]
    labels: re.Pattern[str]
    """Labels with a colon, whatever follows the number: "Rating: 4 The passage ..."."""
    phrases: re.Pattern[str]
    """In a sentence, where the number must not count something."""


@lru_cache(maxsize=32)
def _lead_ins(scale: Scale) -> _LeadIns:
    low, high = scale
    ends = rf"{low}\s*(?:[-\u2013]|to)\s*{high}"
    # "Grade (0-5):" states the scale first; "score for it would be" takes some words to come to the number.
    stated = rf"(?:\W*(?:{ends}|out\s+of\s+{high})\b)?"
    gap = r"(?:[^\w.?!,%/$]|_)*(?=[0-9])"
    some = r"(?:(?!\bout\b)[^0-9\n.?!]){0,40}?"
    # not "maximum score", "confidence score"
    here = r"(?<![a-z])(?<!max[ _])(?<!min[ _])(?<!mum[ _])(?<!ence[ _])(?<!possible )"
    noun = rf"{here}(?:rating|grade|score|code)(?![a-z])"
    label = rf"{here}(?:rating|grade|score|code|level|rated?|relevance|overall|verdict)(?![a-z])"
    nouns = "(?:rating|grade|score|code|verdict)"
    final = rf"(?<![a-z])(?:(?:final|overall|total)\s+(?:relevance\s+)?{nouns}|overall)(?![a-z])"
    link = rf"(?:{some}(?:[:=]|\b(?:is|be|was)\b)|\s+of\b)?"
    on_scale = rf"\bscale\s*(?:of|from|:)?\W*(?:{ends})\b{_AT_MOST}{{0,60}}?(?=[0-9])"
    answer = rf"(?<![a-z])(?:answer|rated)(?![a-z]){stated}{link}{gap}"
    # Shorter words than those of English mean other things, too: only with a colon.
    foreign = rf"(?:{LABELS}){stated}\s*[:=]{gap}"
    return _LeadIns(
        re.compile(rf"{final}{stated}\s*(?:[:=]|\bis\b){gap}", re.IGNORECASE),
        re.compile(rf"{label}{stated}{some}[:=]{gap}", re.IGNORECASE),
        re.compile(rf"{noun}{stated}{link}{gap}|{answer}|{foreign}|{_I_RATE}|{on_scale}", re.IGNORECASE),
    )
