r"""Parse raw replies to ratings, labels, yes or no, and closing scores, or report that they hold none.

A rating is read as Farzi and Dietz 2024 do (EXAM++ 4.2.2, RUBRIC 4.2.1):

1. NUMERIC: the reply says one integer of the scale, as itself ("4", "**4**", "4.0", "four"), at its start
   ("5: The answer ..."), in a sentence that rates ("Rating: 4", "I would rate this a 4"; prose.py), out of
   the whole scale ("4/5"), on a line of its own, in a \boxed, as stars or as JSON.
2. UNANSWERABLE, rating 0: it is empty or ill-formed, or one of the papers' expressions.
3. DEFAULTED, rating 1: anything else. A decimal between two ratings (3.5) is rounded to neither.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Literal

from grading.errors import ParseFailure
from grading.parsing.prose import (
    ALONE,
    NUMBER,
    Scale,
    in_prose,
    in_scale,
    only_rates,
    sentences,
    without_denied,
)
from grading.parsing.words import (
    LABELS,
    NO,
    YES,
    any_of,
    bare,
    boxed,
    is_unanswerable,
    plain,
    unboxed,
)
from grading.types import MAX_RATING, MIN_RATING, Outcome, ParsedRating

OnUnparsable = Literal["default", "fail"]

_SHORT = 48
"""Replies up to this many characters are cached: models repeat the same few."""
_MAX_BRACES = 20
"""Opening braces that are tried as the start of a JSON object."""
# "rating", "Final Rating", "relevance_score", "selfRating"; not "max_score", "confidence_score".
_RATING_KEY = re.compile(r"(?!max|min|conf)[a-z_ -]{0,30}(?:grade|rating|score)|level", re.IGNORECASE)
_REPLY_KEY = re.compile(rf"answer|label|response|{LABELS}", re.IGNORECASE)

# What may stand between a leading number and its text; "3-year-old", "4 people" and "3: 5" are no ratings.
_CLOSERS = r"[*_`\"')\]}]"
_SEPARATOR = re.compile(
    rf"{_CLOSERS}*(?:\s*[:;=\u2014)\]}}]|[.,]{{1,3}}\s|\s+[-\u2013]|[-\u2013]\s|[ \t]*\n)\W*(?![0-9])\w"
)
_CLOSED = re.compile(rf"{_CLOSERS}+\s\W*(?![0-9])\w")
# A number that is explained at once, as in "4 because it names the cause" or "4 (mostly relevant)".
_EXPLAINED = re.compile(
    rf"{_CLOSERS}*\s+(?:because|since|based\s+on|due\s+to|on\s+(?:a|the|this)\s+(?:\S+\s+)?scale)\b"
    r"|\s+(?:The|This|It)\s"
    r"|\s*\([^()0-9\n]{1,80}\)\s*(?:[.,;:!\n]|$)",
    re.IGNORECASE,
)
_NEXT_ENTRY = re.compile(r"(?:^|[\n,;])\W*([0-9]{1,3})\s*[.:=)]\s*[^\W\d]")

_DIGIT_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
# "one" is a pronoun, too.
_DIGIT_WORD = re.compile(
    r"\b(?:zero|two|three|four|five|six|seven|eight|nine|ten)\b"
    r"|(?:(?<=[:=] )|(?<=[:=])|^)one\b|\bone(?=\s+(?:stars?|points?|out\s+of))",
    re.IGNORECASE,
)
_WORD_AND_DIGIT = re.compile(r"\b([a-z]+)\s*\(\s*([0-9]{1,2})\s*\)", re.IGNORECASE)
_CJK_NUMERAL = re.compile("[零〇一二三四五六七八九十]")
_STARS = re.compile(r"([★⭐]{1,10})([☆]{0,9})")


_JSON_KEYS = ("label", "assignment", "grade", "rating", "answer", "importance")
_GAP = re.compile(r"[\s_-]+")
# "does not fully support": where a reply denies something, a label elsewhere in it may be what it denies.
_DENIAL = re.compile(
    r"(?<![^\W_])(?:not|no|nor|never|neither|none|without|cannot)(?![^\W_])|n['\u2019]t(?![^\W_])"
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
_SCORE_GAP = r"(?:[^\w.\n%-]|_){0,20}\n?(?:[^\w.\n%-]|_){0,20}(?=-?[0-9])"
# "##final score: 2", "**Final Score** = 2/3", "The final score for this passage is 2".
_FINAL = re.compile(
    r"\bfinal[\s_]+(?:relevance\s+)?(?:score|rating)\b(?:\W{0,9}\([^()\n]{0,20}\))?"
    rf"(?:(?:\s+for\s+\w+\s+\w+)?\s+(?:is|would\s+be)\b)?{_SCORE_GAP}",
    re.IGNORECASE,
)
# UMBRELA's steps: "M: 3, T: 1, O: 2", "overall (O): 2"
_OVERALL = re.compile(rf"(?<!\w)[Oo]\)?(?:\*\*)?(?:\s*\([a-z ]{{1,20}}\))?\s*[:=]{_SCORE_GAP}")


def parse_rating(
    reply: str,
    *,
    scale: Scale = (MIN_RATING, MAX_RATING),
    on_unparsable: OnUnparsable = "default",
) -> ParsedRating:
    """Parse a raw reply as a rating in `scale` (both ends included), with its outcome.

    With on_unparsable="fail" a reply without a rating raises ParseFailure instead of counting as 1.
    """
    parsed = _remembered(reply, scale) if len(reply) <= _SHORT else _parse(reply, scale)
    if parsed.outcome is Outcome.DEFAULTED and on_unparsable == "fail":
        raise ParseFailure(f"the reply holds no rating from {scale[0]} to {scale[1]}")
    return parsed


def _parse(reply: str, scale: Scale) -> ParsedRating:
    text = plain(reply)
    for stated in (boxed(text), text):
        rating = _stated(stated, scale) if stated else None
        if rating is not None:
            return ParsedRating(rating, Outcome.NUMERIC)
    if is_unanswerable(text):
        return ParsedRating(scale[0], Outcome.UNANSWERABLE)
    return ParsedRating(min(scale[0] + 1, scale[1]), Outcome.DEFAULTED)


_remembered = lru_cache(maxsize=4096)(_parse)


def _stated(text: str, scale: Scale) -> int | None:
    """Return the rating that plain text states."""
    if in_json := _in_json(text, scale):
        return in_json.pop()
    if stars := _STARS.fullmatch(text):
        full, empty = map(len, stars.groups())
        return full if full <= scale[1] and (not empty or full + empty == scale[1]) else None
    text = without_denied(in_digits(text))
    rating = _in_the_open(text, scale)
    return in_prose(text, scale) if rating is None else rating


def _in_the_open(text: str, scale: Scale) -> int | None:
    """Return a number that is the whole text, or begins it and is set off from what follows."""
    match = NUMBER.search(text)
    if match is None or match["among"]:
        return None
    before, after = text[: match.start()], text[match.end() :]
    is_first = not bare(before)
    is_set_off = _SEPARATOR.match(after) or _EXPLAINED.match(after) or (before and _CLOSED.match(after))
    if is_first and (not bare(after) or (is_set_off and not _is_listed(match, after))):
        return in_scale(match, scale)
    return None


def _is_listed(match: re.Match[str], after: str) -> bool:
    """Return whether a number is the first of a list, or of a scale that the model repeats."""
    following = _NEXT_ENTRY.search(after)
    return following is not None and abs(int(following[1]) - int(match["number"][:4])) == 1


def in_digits(text: str) -> str:
    """Return text whose number words are digits: "four (4)" is 4, and "four" is 4 where no digit is."""

    def _digit(match: re.Match[str]) -> str:
        return str(_DIGIT_WORDS.index(match[0].lower()))

    def _only_digit(match: re.Match[str]) -> str:
        word, digits = match[1].lower(), match[2]
        return digits if word in _DIGIT_WORDS and _DIGIT_WORDS.index(word) == int(digits) else match[0]

    if re.search("[0-9]", text):
        return _WORD_AND_DIGIT.sub(_only_digit, text)
    if len(_CJK_NUMERAL.findall(text)) == 1:
        return _CJK_NUMERAL.sub(lambda match: f" {unicodedata.numeric(match[0]):.0f} ", text)
    return _DIGIT_WORD.sub(_digit, text)


def _in_json(text: str, scale: Scale) -> set[int | None]:
    """Return the value of the first JSON object that has a grade, rating or score; nothing where none has."""
    for entry in json_objects(text):
        values = [(key, value) for key, value in entry.items() if not isinstance(value, dict)]
        for key, value in values:
            if _RATING_KEY.fullmatch(key):
                return {json_rating(value, scale)}
        replies = (json_rating(value, scale) for key, value in values if _REPLY_KEY.fullmatch(key))
        if ratings := set(replies) - {None}:
            return {ratings.pop()} if len(ratings) == 1 else {None}
    return set()


def json_objects(text: str) -> Iterator[dict[str, object]]:
    """Yield the JSON objects in the text, whatever surrounds them; stop after some tries."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    for _ in range(_MAX_BRACES):
        if start < 0:
            return
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            yield value
        start = text.find("{", start + 1)


def json_rating(value: object, scale: Scale) -> int | None:
    """Return the rating that a JSON value is ("4", 4.0) or states ("4 - mostly relevant")."""
    if isinstance(value, str):
        text = in_digits(value)
        rating = _in_the_open(text, scale)
        return in_prose(text, scale) if rating is None else rating
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and scale[0] <= value <= scale[1]:
        return value
    return None


def parse_label(reply: str, labels: Mapping[str, int]) -> ParsedRating:
    """Return the rating of the one label that the reply names.

    Of several labels it is the one after "label:" or the like.

    A longer label hides a shorter one in it: "not support" is no "support". A reply that names none, several,
    or one among denials raises ParseFailure: no published rule says what such a reply counts as.
    """
    ratings = {_joined(label): rating for label, rating in labels.items()}
    names, led_in = _patterns(tuple(ratings))
    reply = plain(reply)
    text = _joined(reply)
    stated = ratings.get(bare(_joined(boxed(reply) or reply)), _label_in_json(reply, ratings))
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


def _label_in_json(reply: str, ratings: Mapping[str, int]) -> int | None:
    for entry in json_objects(reply):
        for key in _JSON_KEYS:
            if isinstance(value := entry.get(key), str):
                return ratings.get(_joined(value.strip()))
    return None


@lru_cache(maxsize=32)
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds a label, the longest first, and what finds one after a lead-in."""
    label = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    lead_in = r"(?<![a-z])(?:label|assignment|answer|grade|verdict|importance)(?:_is)?[\W_]{0,20}"
    return (
        re.compile(rf"(?<![^\W_])(?:{label})(?![^\W_])"),
        re.compile(rf"{lead_in}({label})(?![^\W_])"),
    )


def parse_yes_no(reply: str, *, on_unparsable: OnUnparsable = "default") -> ParsedRating:
    """Return 1 for a reply of yes, correct or true; 0 for no, incorrect, wrong or false.

    The first word decides, in the languages of languages.toml; else a JSON value, else "Answer: yes" and the
    like, else a sentence that says no more ("So, yes.", "It is not correct."). These are NUMERIC. Any other
    reply is 0 by default (DEFAULTED), or raises ParseFailure with on_unparsable="fail".
    """
    text = plain(reply)
    for stated in (boxed(text), text):
        is_yes = _stated_yes_no(stated) if stated else None
        if is_yes is not None:
            return ParsedRating(int(is_yes), Outcome.NUMERIC)
    if on_unparsable == "fail":
        raise ParseFailure("the reply says neither yes nor no")
    return ParsedRating(0, Outcome.DEFAULTED)


def _stated_yes_no(text: str) -> bool | None:
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


def parse_final_score(
    reply: str, *, scale: Scale = (MIN_RATING, MAX_RATING), on_unparsable: OnUnparsable = "default"
) -> ParsedRating:
    """Return the last "final score: n", else the last "O", else a rating by the rules of `parse_rating`.

    A last score that is not on the scale is no rating, whatever was said before it.
    """
    text = in_digits(unboxed(plain(reply)))
    in_json = [
        json_rating(entry[key], scale) for entry in json_objects(text) for key in ("O", "o") if key in entry
    ]
    for ratings in (_after(_FINAL, text, scale), in_json, _after(_OVERALL, text, scale)):
        if ratings:
            rating = ratings[-1]
            low, high = scale
            if rating is not None:
                return ParsedRating(rating, Outcome.NUMERIC)
            if on_unparsable == "fail":
                raise ParseFailure(f"the final score is not from {low} to {high}")
            return ParsedRating(min(low + 1, high), Outcome.DEFAULTED)
    return parse_rating(reply, scale=scale, on_unparsable=on_unparsable)


def _after(lead_in: re.Pattern[str], text: str, scale: Scale) -> list[int | None]:
    numbers = [NUMBER.match(text, match.end()) for match in lead_in.finditer(text)]
    return [in_scale(number, scale) if number else None for number in numbers]
