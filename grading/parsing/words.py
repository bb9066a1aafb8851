"""Replies as plain characters, and what people and models write around a rating."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from importlib import resources

with resources.files(__package__).joinpath("languages.toml").open("rb") as _file:
    _TABLE = tomllib.load(_file).values()

# Scripts that write no space between words.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")


def _entries(*fields: str) -> frozenset[str]:
    return frozenset(
        word for language in _TABLE for field in fields for word in language.get(field, "").split()
    )


def any_of(phrases: Iterable[str]) -> str:
    """Return a pattern of one of the words, as a whole word where its script puts spaces between words."""
    longest_first = sorted(phrases, key=lambda word: (-len(word), word))
    unspaced = [re.escape(word) for word in longest_first if _IS_UNSPACED.search(word)]
    spaced = [re.escape(word) for word in longest_first if not _IS_UNSPACED.search(word)]
    return "|".join([rf"(?<![^\W_])(?:{'|'.join(spaced)})(?![^\W_])", *unspaced])


def _phrases(field: str) -> str:
    """Return the phrases of a field, each of which is a whole entry: "out of", "van de"."""
    phrases = [phrase for language in _TABLE for phrase in language.get(field, [])]
    return "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases)


LABELS = any_of(_entries("labels"))
UNITS = any_of(_entries("units"))
OUT_OF = _phrases("out_of")
TOP_OF = _phrases("top_of")
YES = _entries("yes")
NO = _entries("no")
AROUND = _entries("labels", "words", "units")
AROUND_UNSPACED = re.compile(
    "|".join(re.escape(word) for word in sorted(AROUND, key=len, reverse=True) if _IS_UNSPACED.search(word))
)


UNANSWERABLE = frozenset(
    {
        "unanswerable",
        "no",
        "no answer",
        "not enough information",
        "unknown",
        "it is not possible to tell",
        "it does not say",
        "no relevant information",
    }
)
"""Farzi and Dietz 2024, EXAM++, 4.2.1."""

# A letter or small roman numeral that labels a choice: "a.", "(iii)", "B)", "d".
_CHOICE_LABEL = re.compile(r"[(\[]?(?:[a-d]|i{1,3}|iv)[)\].:]*", re.IGNORECASE)
# A capital alone may well be the answer: vitamin C, group B.
_CAPITAL = re.compile(r"[A-D]")

_BLANKS = re.compile(r"\s{2,}")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_DIGIT_AT_LETTER = re.compile(f"(?<=[0-9])(?=[{UNSPACED}])|(?<=[{UNSPACED}])(?=[0-9])")

# Marks of chat templates that a server or a decoder left in the text. What follows the end of the model's
# turn is the next turn, which the model made up.
_HEADER = re.compile(
    r"<\|start_header_id\|>\w{0,20}<\|end_header_id\|>|(?:<\|im_start\|>|<start_of_turn>)(?:assistant|model\b)?"
)
_END_OF_TURN = re.compile(
    r"</s>|<eos>|<end_of_\w{1,20}>|<\|[^<>|\n]{0,30}(?:end|eo[tms]|return)[^<>|\n]{0,30}\|>", re.IGNORECASE
)
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,40}>|<\|[^<>|\n]{1,40}\|>|<0x[0-9A-F]{2}>|\[/?INST\]")

_FRACTION = re.compile(r"\\[dt]?frac ?\{([^{}\n]{1,20})\} ?\{([^{}\n]{1,20})\}")
_FONT = re.compile(r"\\(?:text|math|mbox|operatorname)[a-z]{0,8} ?\{([^{}\n]{0,200})\}")
# As TeX readers tell formulas from prices: "$4$", not "$4 to $5".
_FORMULA = re.compile(
    r"\$\$\s{0,4}([^$]{1,80}?)\s{0,4}\$\$|(?<![\w$])\$(?!\s)([^$\n]{1,40})(?<!\s)\$(?![\w$])"
)
_ESCAPE = re.compile(r"\\(?=[_%#&])|\\[()\[\],;!]")
_BOXED = re.compile(r"\\f?box(?:ed)? ?\{([^{}\n]{1,200})\}")


class _PlainCharacters(dict[int, str]):
    """For str.translate: digits of all scripts as 0 to 9, and nothing for what nobody sees."""

    _OTHER = {
        "\u066a": "%", "\u066b": ".", "\u066c": ",", "\u060c": ",", "\u061b": ";", "\u2044": "/",
        "\u2581": " ", "\u2018": "'", "\u2019": "'", "\u2010": "-", "\u2011": "-", "\u2212": "-",
        # fillers, the blank of Braille, what stands for bytes that are no text
        **dict.fromkeys("\u034f\u115f\u1160\u3164\u2800\u20e3\ufffd", ""),
        **dict.fromkeys(map(chr, range(0xFE00, 0xFE10)), ""),
    }  # fmt: skip

    def __missing__(self, code: int) -> str:
        character = chr(code)
        match unicodedata.category(character):
            case "Nd":
                plain = str(unicodedata.decimal(character))
            case "Cf":
                plain = ""
            case "Cc":
                plain = character if character.isspace() else ""
            case "Zl" | "Zp":
                plain = "\n"
            case _:
                plain = self._OTHER.get(character, character)
        self[code] = plain
        return plain


_PLAIN_CHARACTERS = _PlainCharacters()


def plain(reply: str) -> str:
    r"""Return the reply in plain characters.

    Digits of all scripts become ordinary ones. Invisible characters, tags, left-over marks of chat templates
    and mathematical markup go, but for \boxed; a run of blanks becomes one, or one end of line.
    """
    if not reply.isascii():
        reply = unicodedata.normalize("NFKC", reply).translate(_PLAIN_CHARACTERS)
        reply = _DIGIT_AT_LETTER.sub(" ", reply)
    elif _CONTROL.search(reply):
        reply = reply.translate(_PLAIN_CHARACTERS)
    if "<" in reply or "INST]" in reply:
        turns = _END_OF_TURN.split(_HEADER.sub(" ", reply))
        reply = next((turn for turn in (_TAG.sub(" ", turn) for turn in turns) if turn.strip()), "")
    if "\\" in reply or "$" in reply:
        reply = _FONT.sub(r"\1", _FRACTION.sub(r"\1/\2", reply))
        reply = _FORMULA.sub(r" \1\2 ", _ESCAPE.sub("", reply))
    return _BLANKS.sub(lambda blanks: "\n" if "\n" in blanks[0] else " ", reply.strip())


def boxed(text: str) -> str | None:
    r"""Return what plain text puts into a \boxed, as models do with the result of some steps.

    None without a box, or if several boxes differ.
    """
    boxes = set(_BOXED.findall(text))
    return boxes.pop().strip() if len(boxes) == 1 else None


def unboxed(text: str) -> str:
    r"""Return plain text with the content of each \boxed in the box's place."""
    return _BOXED.sub(r"\1", text) if "box" in text else text


def bare(reply: str) -> str:
    """Return the reply without the punctuation and mark-up around it."""
    start, end = 0, len(reply)
    while start < end and _is_punctuation(reply[start]):
        start += 1
    while end > start and _is_punctuation(reply[end - 1]):
        end -= 1
    return reply[start:end]


def is_unanswerable(reply: str) -> bool:
    """Return True for an empty or ill-formed reply ("a.", "(iii)") and the papers' eight expressions.

    Case and the punctuation around the expression do not matter; any further word does. A capital alone ("C")
    is no ill-formed reply.
    """
    reply = plain(reply)
    if is_choice_label(reply):
        return not _CAPITAL.fullmatch(reply)
    text = " ".join(bare(reply).lower().split())
    return not text or text in UNANSWERABLE


def is_stated_unanswerable(reply: str) -> bool:
    """Return True for the papers' eight expressions alone, not for an empty or ill-formed reply."""
    return " ".join(bare(plain(reply)).lower().split()) in UNANSWERABLE


def is_choice_label(text: str) -> bool:
    """Return True for the label of a choice and nothing else: "a.", "(iii)", "C"."""
    return bool(_CHOICE_LABEL.fullmatch(text))


def _is_punctuation(character: str) -> bool:
    # '%' is punctuation to Unicode, but "4%" is a share; '`' is mark-up, though not punctuation to Unicode.
    if character.isspace() or character == "`":
        return True
    return unicodedata.category(character).startswith("P") and character not in "%‰"
