"""Windows of sentences."""

from itertools import pairwise

import pytest

from grading.segmentation import segments, sentence_spans


def split(text):
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n ", []),
        ("No end", ["No end"]),
        ("One. Two! Three? four.", ["One.", "Two!", "Three? four."]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("See Fig. 3 by Smith et al. 2024. E.g. Here.", ["See Fig. 3 by Smith et al. 2024.", "E.g. Here."]),
        ("1. First\n2. Second", ["1. First\n2. Second"]),
        ("A heading\n\nA paragraph", ["A heading", "A paragraph"]),
        ("\u4e00\u3002\u4e8c\uff01", ["\u4e00\u3002", "\u4e8c\uff01"]),
        ("It costs 3.50 euros. OK.", ["It costs 3.50 euros.", "OK."]),
        ("Wait... What?", ["Wait...", "What?"]),
    ],
)  # fmt: skip
def test_sentences(text, sentences):
    assert split(text) == sentences


@pytest.mark.parametrize("count", [1, 5, 9, 10, 11, 14, 15, 16, 40, 41])
def test_windows_cover_the_document_and_overlap_by_their_stride(count):
    text = "  " + " ".join(f"Sentence {number} stands here." for number in range(count))
    cut = list(segments("d#1", text))
    assert len(cut) == max(1, -(-(count - 10) // 5) + 1)
    assert all(text[one.start : one.end] == one.text for one in cut)
    assert [one.doc_id for one in cut] == [f"d#1#{number}_{one.start}" for number, one in enumerate(cut)]
    assert (cut[0].start, cut[-1].end) == (2, len(text))
    assert all(len(sentence_spans(one.text)) == 10 for one in cut[:-1])
    assert all(later.start < earlier.end for earlier, later in pairwise(cut))


def test_a_document_without_text_has_no_windows():
    assert list(segments("d1", " ")) == []


def test_long_runs_of_full_stops_are_read_once():
    assert len(split("." * 2_000_000 + "x")) == 1
