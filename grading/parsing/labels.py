"""Labels, yes or no, and the closing score of a reply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from grading.errors import ParseFailure
from grading.parsing.prose import ALONE, NUMBER, Scale, in_scale, only_rates, sentences
from grading.parsing.rating import OnUnparsable, in_digits, json_objects, json_rating, parse_rating
from grading.parsing.words import LABELS, NO, YES, any_of, bare, boxed, plain, unboxed
from grading.types import MAX_RATING, MIN_RATING, Outcome, ParsedRating

_JSON_KEYS = ("label", "assignment", "grade", "rating", "answer", "importance")
_GAP = re.compile(r"[\s_-]+")
# "does not fully support": where a reply denies something, a label elsewhere in it may be what it denies.
_DENIAL = re.compile(
    r"(?<![^\W_])(?:not|no|nor|never|neither|none|without|cannot)(?![^\W_])|n['\u2019]t(?![^\W_])"
)


def parse_label(reply: str, labels: Mapping[str, int]) -> ParsedRating:
    """The rating of the one label that the reply names; of several, the one after "label:" or the like.

    A longer label hides a shorter one in it: "not support" is no "support". A reply that names none, several,
    or one among denials raises ParseFailure: no published rule says what such a reply counts as.
    """
    ratings = {_joined(label): rating for label, rating in labels.items()}
    names, led_in = _patterns(tuple(ratings))
    reply = plain(reply)
    text = _joined(reply)
    stated = ratings.get(bare(_joined(boxed(reply) or reply)), _in_json(reply, ratings))
    if stated is None:
        stated = _only(ratings[match[1]] for match in led_in.finditer(text))
    if stated is None and not _DENIAL.search(names.sub(" ", text)):
        stated = _only(ratings[match] for match in names.findall(text))
    if stated is None:
        raise ParseFailure(f"the reply names no single label of {', '.join(labels)}")
    return ParsedRating(stated, Outcome.NUMERIC)


def _joined(text: str) -> str:
    return _GAP.sub("_", text.lower())


def _only(ratings: Iterable[int]) -> int | None:
    distinct = set(ratings)
    return distinct.pop() if len(distinct) == 1 else None


def _in_json(reply: str, ratings: Mapping[str, int]) -> int | None:
    for entry in json_objects(reply):
        for key in _JSON_KEYS:
            if isinstance(value := entry.get(key), str):
                return ratings.get(_joined(value.strip()))
    return None


@lru_cache(maxsize=32)
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What finds a label, the longest first, and what finds one after a lead-in."""
    label = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    lead_in = r"(?<![a-z])(?:label|assignment|answer|grade|verdict|importance)(?:_is)?[\W_]{0,20}"
    return (
        re.compile(rf"(?<![^\W_])(?:{label})(?![^\W_])"),
        re.compile(rf"{lead_in}({label})(?![^\W_])"),
    )


_WORD = re.compile(rf"(?:{any_of(YES | NO)})(?![^\W_]|-[^\W_])", re.IGNORECASE)
# What the prompt asked, or undecided.
_POLES = ("yes|true|correct", "no|false|incorrect")
_BOTH = re.compile(
    "|".join(rf"\b(?:{a})(?:\s*[/|\n]\s*|,?\s+(?:and|or)\s+)(?:{b})\b" for a, b in (_POLES, _POLES[::-1])),
    re.IGNORECASE,
)
_NOUN = r"(?:answer|verdict|label|response|output|judge?ment|decision|result|conclusion)"
_LEAD_IN = re.compile(
    rf"(?:\b{_NOUN}\b|{LABELS})(?:\W*\([^\w()]*\))?[\s*_\"'`]*(?:[:=]|\b(?:is|would\s+be)\b)[\s*_\"'`]*",
    re.IGNORECASE,
)
_KEY = re.compile(
    rf"(?:is_)?(?:{_NOUN}|relevant|correct|answered|equivalent|match(?:es)?|supported)", re.IGNORECASE
)
_NOT = re.compile(r"\bnot\b|n't\b", re.IGNORECASE)
_ENDS_IN_NOT = re.compile(r"(?:\bnot|n't)\W*$", re.IGNORECASE)
_LONGEST_SENTENCE = 160
_EITHER_END = 2000
"""Characters that are read at the beginning and at the end of a long reply."""


def parse_yes_no(reply: str, *, on_unparsable: OnUnparsable = "default") -> ParsedRating:
    """1 where the reply says yes, correct or true; 0 where it says no, incorrect, wrong or false.

    The first word decides, in the languages of languages.toml; else a JSON value, else "Answer: yes" and the
    like, else a sentence that says no more ("So, yes.", "It is not correct."). These are NUMERIC. Any other
    reply is 0 by default (DEFAULTED), or raises ParseFailure with on_unparsable="fail".
    """
    text = plain(reply)
    for stated in (boxed(text), text):
        is_yes = _stated(stated) if stated else None
        if is_yes is not None:
            return ParsedRating(int(is_yes), Outcome.NUMERIC)
    if on_unparsable == "fail":
        raise ParseFailure("the reply says neither yes nor no")
    return ParsedRating(0, Outcome.DEFAULTED)


def _stated(text: str) -> bool | None:
    """Return what plain text says: True for yes, False for no, None for neither or both."""
    if len(text) > 2 * _EITHER_END:
        text = text[:_EITHER_END] + "\n" + text[-_EITHER_END:]
    text = _BOTH.sub(" ", text)
    if first := _WORD.match(bare(text)):
        return _is_yes(first[0])
    for reading in (_yes_no_in_json, _led_in, _in_sentences):
        if answers := reading(text):
            return answers.pop() if len(answers) == 1 else None
    return None


def _yes_no_in_json(text: str) -> set[bool]:
    values = [value for entry in json_objects(text) for key, value in entry.items() if _KEY.fullmatch(key)]
    matches = (_WORD.match(bare(value)) for value in values if isinstance(value, str))
    return {_is_yes(match[0]) for match in matches if match} | {
        value for value in values if isinstance(value, bool)
    }


def _led_in(text: str) -> set[bool]:
    """Return what follows "answer:", or "the answer is" where the clause ends with it: not "is no longer"."""
    matches = ((lead_in[0], _WORD.match(text, lead_in.end())) for lead_in in _LEAD_IN.finditer(text))
    return {
        _is_yes(match[0])
        for lead_in, match in matches
        if match and (set(lead_in) & set(":=") or ALONE.match(text, match.end()))
    }


def _in_sentences(text: str) -> set[bool]:
    return {answer for sentence in sentences(text) if (answer := _of_sentence(sentence)) is not None}


def _of_sentence(sentence: str) -> bool | None:
    """Return what a sentence says that has only words of an answer: "It is not correct"."""
    if len(sentence) > _LONGEST_SENTENCE or not only_rates(_NOT.sub(" ", _WORD.sub(" ", sentence))):
        return None
    answers = {_is_yes(word) for word in _WORD.findall(sentence)}
    if len(answers) == 1:
        return answers.pop() is not bool(_NOT.search(sentence))
    return False if not answers and _ENDS_IN_NOT.search(sentence) else None


def _is_yes(word: str) -> bool:
    return word.lower() in YES


_SCORE_GAP = r"(?:[^\w.\n%-]|_){0,20}\n?(?:[^\w.\n%-]|_){0,20}(?=-?[0-9])"
# "##final score: 2", "**Final Score** = 2/3", "The final score for this passage is 2".
_FINAL = re.compile(
    r"\bfinal[\s_]+(?:relevance\s+)?(?:score|rating)\b(?:\W{0,9}\([^()\n]{0,20}\))?"
    rf"(?:(?:\s+for\s+\w+\s+\w+)?\s+(?:is|would\s+be)\b)?{_SCORE_GAP}",
    re.IGNORECASE,
)
# UMBRELA's steps: "M: 3, T: 1, O: 2", "overall (O): 2"
_OVERALL = re.compile(rf"(?<!\w)[Oo]\)?(?:\*\*)?(?:\s*\([a-z ]{{1,20}}\))?\s*[:=]{_SCORE_GAP}")


def parse_final_score(
    reply: str, *, scale: Scale = (MIN_RATING, MAX_RATING), on_unparsable: OnUnparsable = "default"
) -> ParsedRating:
    """The last "final score: n" decides, else the last "O", else the rules of `parse_rating`.

    A last score that is not on the scale is no rating, whatever was said before it.
    """
    text = in_digits(unboxed(plain(reply)))
    in_json = [
        json_rating(entry[key], scale) for entry in json_objects(text) for key in ("O", "o") if key in entry
    ]
    for ratings in (_after(_FINAL, text, scale), in_json, _after(_OVERALL, text, scale)):
        if ratings:
            return _last(ratings[-1], scale, on_unparsable)
    return parse_rating(reply, scale=scale, on_unparsable=on_unparsable)


def _after(lead_in: re.Pattern[str], text: str, scale: Scale) -> list[int | None]:
    numbers = [NUMBER.match(text, match.end()) for match in lead_in.finditer(text)]
    return [in_scale(number, scale) if number else None for number in numbers]


def _last(rating: int | None, scale: Scale, on_unparsable: OnUnparsable) -> ParsedRating:
    low, high = scale
    if rating is not None:
        return ParsedRating(rating, Outcome.NUMERIC)
    if on_unparsable == "fail":
        raise ParseFailure(f"the final score is not from {low} to {high}")
    return ParsedRating(min(low + 1, high), Outcome.DEFAULTED)
