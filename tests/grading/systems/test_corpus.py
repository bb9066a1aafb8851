"""A corpus on disk: searched as an index is, read where its passages begin, brought up to date."""

import pytest

from grading.errors import BadFormat
from grading.formats.passages import PassageEntry
from grading.systems import retrieval
from grading.systems.retrieval import Corpus, build, indexed
from grading.types import Topic

ENTRIES = [
    PassageEntry("d1", "The moon lifts the tides.\nTwice a day.", "Tides", "https://example.org/1", "Sea"),
    PassageEntry("d2", "Gezeiten: \u201eEbbe\u201c und Flut"),
    PassageEntry("d3", "Bread browns because of its sugar."),
]
TOPIC = Topic("t1", "What lifts the tides, and why does bread brown?")


@pytest.fixture
def corpus(tmp_path):
    assert build(tmp_path / "made", lambda: ENTRIES) == 3
    return Corpus.open(tmp_path / "made")


def test_it_finds_what_an_index_of_the_same_passages_finds(corpus):
    index = retrieval.PassageIndex()
    index.add(map(indexed, ENTRIES))
    assert corpus.search(TOPIC) == index.search(TOPIC)
    assert set(corpus.search(TOPIC).doc_ids) == {"d1", "d3"}


def test_it_gives_back_each_passage_whole_in_the_order_asked_for(corpus):
    assert corpus.passages(["d3", "none", "d1", "d2"]) == [ENTRIES[2], ENTRIES[0], ENTRIES[1]]
    assert len(corpus) == 3


def test_only_new_passages_are_indexed(corpus, tmp_path, monkeypatch):
    read = []
    words = retrieval.index_words
    monkeypatch.setattr(retrieval, "index_words", lambda text: read.append(text) or words(text))
    more = [PassageEntry("d0", "A new tide."), *ENTRIES]
    assert build(tmp_path / "more", lambda: more, reused=tmp_path / "made") == 4
    assert read == ["A new tide."]
    again = Corpus.open(tmp_path / "more")
    assert again.passages(["d0", "d2"]) == [more[0], ENTRIES[1]]
    assert "d0" in again.search(TOPIC).doc_ids


def test_passages_that_changed_or_went_are_indexed_anew(corpus, tmp_path):
    other = [PassageEntry("d1", "Nothing of the sea."), ENTRIES[2]]
    assert build(tmp_path / "other", lambda: other, reused=tmp_path / "made") == 2
    assert Corpus.open(tmp_path / "other").search(TOPIC).doc_ids == ("d3",)


def test_what_cannot_be_a_corpus_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no passages"):
        build(tmp_path / "none", list)
    with pytest.raises(ValueError, match="passage d1 is in the index"):
        build(tmp_path / "twice", lambda: [ENTRIES[0], ENTRIES[0]])
    with pytest.raises(BadFormat, match="has no index"):
        Corpus.open(tmp_path / "nowhere")
