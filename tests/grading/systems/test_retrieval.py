"""BM25, fusion and reranking."""

import math

import pytest

from grading.errors import BadFormat
from grading.prompts.prompt import Prompt
from grading.systems import Source
from grading.systems.pipeline import Answering, SystemSpec
from grading.systems.reranking import (
    ListwiseReranker,
    PointwiseReranker,
    permutation,
    rating_prompts,
    windows,
)
from grading.systems.retrieval import K1, B, PassageIndex, index_words, reciprocal_rank_fusion
from grading.types import ItemKind, Passage, Purpose, Ranking, Topic

TEXTS = {
    "d1": "Maple leaves turn red in autumn, because chlorophyll breaks down.",
    "d2": "Chlorophyll makes leaves green.",
    "d3": "Bread rises because yeast makes gas.",
    "d4": "The leaf, the leaf, and again the leaf: leaves.",
}
TOPIC = Topic("t1", "Why do the leaves turn red?")


def index_of(texts):
    index = PassageIndex()
    index.add(Passage(key, text) for key, text in texts.items())
    return index


def bm25_by_hand(texts, query):
    words = {key: list(index_words(text)) for key, text in texts.items()}
    mean = sum(map(len, words.values())) / len(words)
    scores = dict.fromkeys(texts, 0.0)
    for word in index_words(query):
        having = sum(word in others for others in words.values())
        idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        for key, found in words.items():
            count = found.count(word)
            scores[key] += idf * count / (count + K1 * (1 - B + B * len(found) / mean))
    return {key: score for key, score in scores.items() if score}


def test_scores_are_those_of_the_formula():
    ranking = index_of(TEXTS).search(TOPIC)
    expected = bm25_by_hand(TEXTS, TOPIC.text)
    assert list(ranking.doc_ids) == sorted(expected, key=expected.get, reverse=True)
    assert dict(zip(ranking.doc_ids, ranking.scores, strict=True)) == pytest.approx(expected, rel=1e-5)


def test_a_saved_index_finds_the_same_and_takes_more_passages(tmp_path):
    index_of({key: TEXTS[key] for key in ("d1", "d2")}).save(tmp_path / "index")
    opened = PassageIndex.open(tmp_path / "index")
    assert opened.search(TOPIC) == index_of({key: TEXTS[key] for key in ("d1", "d2")}).search(TOPIC)
    opened.add(Passage(key, TEXTS[key]) for key in ("d3", "d4"))
    opened.save(tmp_path / "index")
    assert PassageIndex.open(tmp_path / "index").search(TOPIC) == index_of(TEXTS).search(TOPIC)


def passages_of(texts):
    return lambda: (Passage(key, text) for key, text in texts.items())


def test_an_update_reads_new_texts_only(monkeypatch):
    index = index_of({"d1": TEXTS["d1"]})
    added = []
    monkeypatch.setattr("grading.systems.retrieval.index_words", lambda text: added.append(text) or iter(()))
    assert index.updated(passages_of(TEXTS)) is index
    assert added == [TEXTS[key] for key in ("d2", "d3", "d4")]


@pytest.mark.parametrize("texts", [TEXTS | {"d1": "Now it says something else."}, {"d2": TEXTS["d2"]}, {}])
def test_a_changed_or_removed_text_makes_another_index(texts):
    index = index_of(TEXTS)
    updated = index.updated(passages_of(texts))
    assert updated is not index
    assert updated.ids == list(texts)
    assert updated.search(TOPIC) == index_of(texts).search(TOPIC)


def test_a_folder_without_an_index_is_refused(tmp_path):
    with pytest.raises(BadFormat, match="has no index"):
        PassageIndex.open(tmp_path)


def test_a_passage_is_added_once():
    with pytest.raises(ValueError, match="d1 is in the index"):
        index_of(TEXTS).add([Passage("d1", "again")])


@pytest.mark.parametrize("text", ["", "the and of", "zebra"])
def test_a_topic_without_known_words_finds_nothing(text):
    assert index_of(TEXTS).search(Topic("t1", text)).doc_ids == ()


def test_equal_scores_at_the_depth_are_cut_in_the_order_of_adding():
    index = index_of({f"d{number}": "red leaves" for number in range(9)})
    assert index.search(TOPIC, depth=4).doc_ids == ("d0", "d1", "d2", "d3")


def test_fusion_sums_reciprocal_ranks_whatever_the_order_of_the_runs():
    first, second = Ranking("a", "t1", ("d1", "d2"), (2, 1)), Ranking("b", "t1", ("d2", "d3"), (2, 1))
    fused = reciprocal_rank_fusion([first, second], depth=9)
    assert dict(zip(fused.doc_ids, fused.scores, strict=True)) == pytest.approx(
        {"d2": 1 / 62 + 1 / 61, "d1": 1 / 61, "d3": 1 / 62}
    )
    assert fused == reciprocal_rank_fusion([second, first], depth=9)


def test_only_rankings_of_one_topic_are_fused():
    with pytest.raises(ValueError, match="one topic"):
        reciprocal_rank_fusion([Ranking("a", "t1", (), ()), Ranking("b", "t2", (), ())], depth=5)


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("[2] > [3] > [1]", [1, 2, 0]),
        ("2, 3, 1", [1, 2, 0]),
        ("[3] > [3] > [0] > [12]", [2, 0, 1]),
        ("I cannot rank these.", [0, 1, 2]),
        ("", [0, 1, 2]),
    ],
)
def test_permutations_are_repaired(reply, order):
    assert permutation(reply, 3) == order


@pytest.mark.parametrize(("size", "calls"), [(0, 0), (1, 0), (2, 1), (20, 1), (21, 2), (100, 9)])
def test_windows_reach_the_top_of_every_list(size, calls):
    made = list(windows(size, 20, 10))
    assert len(made) == calls
    assert {place for start, end in made for place in range(start, end)} == (
        set(range(size)) if size > 1 else set()
    )


class Sorter:
    """Orders the numbers that stand in the passages of its prompt."""

    def complete(self, messages):
        shown = [line.split("] ")[1] for line in messages[-1][1].splitlines() if line.startswith("[")]
        best = sorted(range(len(shown)), key=lambda place: int(shown[place]))
        return " > ".join(f"[{place + 1}]" for place in best)


def test_passes_move_the_best_up_window_by_window():
    sources = [Source(f"d{number}", str(number)) for number in reversed(range(12))]
    once = ListwiseReranker(Sorter(), window=4, stride=2).rerank(TOPIC, sources)
    thrice = ListwiseReranker(Sorter(), window=4, stride=2, passes=3).rerank(TOPIC, sources)
    assert [source.text for source in once.sources[:2]] == ["0", "1"]
    assert [source.text for source in thrice.sources[:6]] == ["0", "1", "2", "3", "4", "5"]
    assert len(thrice.steps) == ListwiseReranker(Sorter(), window=4, stride=2, passes=3).calls(12) == 15
    assert once.ranking("zephyr", "t1").scores[:2] == (1.0, 0.5)


class Rater:
    """Replies with the passage of its prompt."""

    def complete(self, messages):
        return messages[-1][1].split("Passage: ")[-1].split("\n")[0]


def test_passages_are_reranked_by_their_ratings():
    prompt = Prompt(
        "Own", "1", Purpose.DIRECT, frozenset({ItemKind.DIRECT}), (0, 3), "{query} Passage: {context}", ""
    )
    reranker = PointwiseReranker(Rater(), prompt)
    sources = [Source(f"d{place}", text) for place, text in enumerate(["1", "no rating", "3", "1", "0"])]
    reranked = reranker.rerank(TOPIC, sources)
    assert [source.passage_id for source in reranked.sources] == ["d2", "d0", "d3", "d4", "d1"]
    assert [(step.prompt_id, step.source) for step in reranked.steps] == [("Own@1", n) for n in range(5)]
    assert len(reranked.steps) == reranker.calls(5)


def test_prompts_that_rate_a_passage_need_nothing_but_a_query():
    offered = set(rating_prompts())
    assert {"UmbrelaStyle", "FagB", "QuestionSelfRatedUnanswerablePromptWithChoices"} <= offered
    assert not offered & {
        "LexicalBaseline",
        "NuggetSelfRatedPrompt",
        "QuestionCompleteConciseUnanswerablePromptWithT5VerifyPrompt",
    }


def test_a_ranking_is_made_by_ratings():
    spec = SystemSpec(Answering.NONE, rating_prompt="UmbrelaStyle", backend="any", llm="m")
    assert (spec.method, spec.prompts) == ("BM25, reranked by UmbrelaStyle, by m", ("UmbrelaStyle@1",))
    assert (spec.calls(40), spec.passages_read(40)) == (40, 40)
    with pytest.raises(ValueError, match="reranked in lists, or by one of"):
        SystemSpec(Answering.NONE, rating_prompt="Nobody", backend="any", llm="m")


def test_a_stride_as_long_as_the_window_is_refused():
    with pytest.raises(ValueError, match="stride of 20"):
        ListwiseReranker(Sorter(), window=20, stride=20)
