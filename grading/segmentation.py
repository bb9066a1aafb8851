"""Passages of long texts: windows of documents, and the parts of generated responses that are graded.

Documents are cut into overlapping windows of sentences, as MS MARCO V2.1 is (TREC RAG 2024, section 4). A
sentence ends after `.`, `!` or `?` (with the quotes and brackets that close there) before white space and
something that is no small letter, after a Chinese or Japanese full stop, and at a blank line. Abbreviations,
initials and numbers of lists end none. A prompt has less room: what it shows of a passage is cut between
sentences by a simpler rule, at a line break too, else between words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from grading.types import text_md5

WINDOW = 10
STRIDE = 5
_CLOSING = "\"'\u201d\u2019\u300d\u300f)\\]"
_FULL_STOPS = "\u3002\uff01\uff1f"
"""Full stops of Chinese and Japanese, which put no white space behind them."""
_END = re.compile(
    rf"(?<![.!?])[.!?]++[{_CLOSING}]*+(?=\s++[^\sa-z])|[{_FULL_STOPS}]++[{_CLOSING}]*+|\n[ \t\r]*+\n"
)
_ABBREVIATIONS = re.compile(
    "mrs?|ms|dr|prof|[sj]r|st|mt|rev|hon|gen|col|lt|sgt|capt|gov|sen|pres|vs|etc|eg|ie|cf|al|figs?|eq|nos|vol"
    "|pp|eds?|inc|ltd|corp?|dept|univ|approx|feb|apr|aug|sept|oct|nov|dec"
)


MAX_TOKENS = 400
"""Longer texts are cut into several passages (RUBRIC, section 4.2)."""
_SCRIPTS_WITHOUT_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_SCRIPTS_WITHOUT_SPACES}]|[^\W{_SCRIPTS_WITHOUT_SPACES}]+|[^\w\s]")
_CLOSER = r"[\"')\]\u201d\u2019]"
_SENTENCE_BREAK = re.compile(rf"(?:(?<=[.!?])|(?<=[.!?]{_CLOSER})|(?<=[.!?]{_CLOSER}{_CLOSER}))\s+|\n\s*")
_WORD_BREAK = re.compile(r"(?<=\S)(?=\s)")
_HEADING = re.compile(r"#{1,6}\s|\*\*[^*]+\*\*:?$")


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive sentences of a document; `start` and `end` are positions in its text."""

    doc_id: str
    """`<document>#<number>_<start>`."""
    text: str
    start: int
    end: int


def segments(doc_id: str, text: str) -> Iterator[Segment]:
    """Cut a document into windows of WINDOW sentences, one every STRIDE of them.

    The last window ends with the document, and no window lies within the one before.

    >>> text = " ".join(f"Sentence {n} is here." for n in range(1, 13))
    >>> [(one.doc_id, one.text[:10], one.end) for one in segments("d1", text)]
    [('d1#0_0', 'Sentence 1', 200), ('d1#1_100', 'Sentence 6', 242)]
    """
    spans = sentence_spans(text)
    for number, first in enumerate(range(0, len(spans), STRIDE)):
        start, end = spans[first][0], spans[min(first + WINDOW, len(spans)) - 1][1]
        yield Segment(f"{doc_id}#{number}_{start}", text[start:end], start, end)
        if first + WINDOW >= len(spans):
            break


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence, without the white space between them.

    >>> text = "Dr. Ada Lovelace wrote it in 1843. Did J. S. Mill read it? Nobody knows"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Ada Lovelace wrote it in 1843.', 'Did J. S. Mill read it?', 'Nobody knows']
    """
    ends = [match.end() for match in _END.finditer(text) if not _is_abbreviation(text, match)]
    spans = []
    start = 0
    for end in [*ends, len(text)]:
        part = text[start:end]
        if part.strip():
            left = start + len(part) - len(part.lstrip())
            spans.append((left, left + len(part.strip())))
        start = end
    return spans


def sentences_of(text: str) -> list[str]:
    r"""Return the sentences of a text with the white space after them, so that paragraphs can be told.

    >>> sentences_of("The moon pulls.\n\nThe sun helps.")
    ['The moon pulls.\n\n', 'The sun helps.']
    """
    starts = [start for start, _ in sentence_spans(text)]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def _is_abbreviation(text: str, end: re.Match[str]) -> bool:
    """Return whether the full stop belongs to an abbreviation, an initial, or a number that begins a line."""
    if end[0] != ".":
        return False
    word = re.search(r"(\S+)$", text[max(0, end.start() - 30) : end.start()])
    if word is None:
        return False
    letters = word[1].lstrip("([\"'\u201c\u2018").replace(".", "")
    is_initial = len(letters) == 1 and letters.isalpha() and letters != "I"
    line = text.rfind("\n", 0, end.start()) + 1
    is_list_number = letters.isdigit() and text[line : end.start()].strip() == letters
    has_points = "." in word[1] and letters.isalpha()
    return bool(_ABBREVIATIONS.fullmatch(letters.lower())) or is_initial or is_list_number or has_points


class PassagesOf(StrEnum):
    """What of a response becomes one passage."""

    SENTENCE = "sentence"
    PARAGRAPH = "paragraph"
    RESPONSE = "response"
    WHOLE = "whole"
    """A RESPONSE, however long: what AutoNuggetizer assigns nuggets to."""


@dataclass(frozen=True, slots=True)
class ResponsePassage:
    """A passage of a response, in the response's order."""

    doc_id: str
    """The md5 of its text, so that equal texts are one passage."""
    text: str
    first: int
    """The first sentence that it has a part of, from 0."""
    last: int
    is_part: bool = False
    """Whether it is one of several passages that a longer text was cut into."""


def response_passages(sentences: Sequence[str], passages_of: PassagesOf) -> list[ResponsePassage]:
    r"""Return the passages of a response by the rule `passages_of`, without blank sentences.

    A paragraph begins after a blank line and at a heading (`# …` or a line of `**…**`). Sentences are joined
    by one blank. A passage of more than `MAX_TOKENS` tokens is cut between sentences into as many as it
    takes, and a longer sentence into parts of about equal length; a whole response is never cut.

    >>> sentences = ["# Tides", "The moon pulls.\n\n", "The sun helps."]
    >>> [passage.text for passage in response_passages(sentences, PassagesOf.PARAGRAPH)]
    ['# Tides The moon pulls.', 'The sun helps.']
    """
    texts = {number: text for number, text in enumerate(sentences) if text.strip()}
    passages = []
    for group in _groups(texts, passages_of):
        stripped = {number: texts[number].strip() for number in group}
        whole = (" ".join(stripped.values()), min(stripped), max(stripped))
        cut = [whole] if passages_of is PassagesOf.WHOLE else list(_cut(stripped))
        passages += [
            ResponsePassage(text_md5(text), text, first, last, is_part=len(cut) > 1)
            for text, first, last in cut
        ]
    return passages


def count_tokens(text: str) -> int:
    """Count words and punctuation marks; in scripts that put no spaces between words, characters.

    A model's own tokens are about 1.3 times as many in English.

    >>> count_tokens("Don't panic: 42 towels."), count_tokens("潮汐 tides")
    (8, 3)
    """
    return len(_TOKEN.findall(text))


def _groups(texts: dict[int, str], passages_of: PassagesOf) -> list[list[int]]:
    """Return the numbers of the sentences that belong together."""
    if passages_of is PassagesOf.SENTENCE:
        return [[number] for number in texts]
    groups: list[list[int]] = []
    is_new = True
    for number, text in texts.items():
        begins = text[: len(text) - len(text.lstrip())]
        is_new = is_new or "\n\n" in begins or bool(_HEADING.match(text.strip()))
        if not groups or (is_new and passages_of is PassagesOf.PARAGRAPH):
            groups.append([])
        groups[-1].append(number)
        is_new = "\n\n" in text[len(text.rstrip()) :]
    return groups


def _cut(group: dict[int, str]) -> Iterator[tuple[str, int, int]]:
    """Yield (text, first sentence, last sentence), each of at most MAX_TOKENS."""
    kept: list[int] = []
    size = 0
    for number, text in group.items():
        tokens = count_tokens(text)
        if kept and size + tokens > MAX_TOKENS:
            yield " ".join(group[place] for place in kept), kept[0], kept[-1]
            kept, size = [], 0
        if tokens > MAX_TOKENS:
            yield from ((part, number, number) for part in _parts(text, tokens))
        else:
            kept.append(number)
            size += tokens
    if kept:
        yield " ".join(group[place] for place in kept), kept[0], kept[-1]


def _parts(text: str, tokens: int) -> Iterator[str]:
    """Cut a text before tokens, so that only white space between its parts is lost."""
    starts = [match.start() for match in _TOKEN.finditer(text)]
    size = -(-tokens // -(-tokens // MAX_TOKENS))
    places = [0, *starts[size::size], len(text)]
    return (text[place:after].strip() for place, after in pairwise(places))


@lru_cache(maxsize=1024)
def sentence_breaks(text: str) -> tuple[tuple[int, int], ...]:
    """Return where each gap between sentences begins and ends, in characters. A line break is one too."""
    return tuple(match.span() for match in _SENTENCE_BREAK.finditer(text))


def longest_start(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest start of `text` that fits.

    It ends with a sentence, else a word, else a character; else it is empty.

    `fits` must hold for every start of a text that fits. It is called a few dozen times at most.
    """
    if fits(text):
        return text
    sentences = [start for start, _ in sentence_breaks(text)]
    word_breaks = [match.start() for match in _WORD_BREAK.finditer(text)]
    for cuts in (sentences, word_breaks, range(1, len(text))):
        if kept := longest_of(cuts, lambda end: text[:end], fits):
            return kept
    return ""


def longest_of(cuts: Sequence[int], keep: Callable[[int], str], fits: Callable[[str], bool]) -> str:
    """Return the longest of what `keep` leaves at these cuts, given from the shortest on, that fits."""
    low, high = 0, len(cuts)  # cuts[:low] fit, cuts[high:] do not
    while low < high:
        middle = (low + high) // 2
        if fits(keep(cuts[middle])):
            low = middle + 1
        else:
            high = middle
    return keep(cuts[low - 1]) if low else ""
