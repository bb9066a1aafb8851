"""Banks and official leaderboards."""

from pathlib import Path

import pytest

from grading.errors import BadFormat
from grading.formats.banks.records import BankItem
from grading.formats.banks.workbench import read_bank, write_bank
from grading.formats.official import OfficialBoard, read_official, write_official
from grading.types import ItemKind, item_id, md5_of_id, text_md5

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"


def test_question_bank():
    first, second = read_bank(FORMATS / "questions.jsonl.gz")
    assert (first.query_id, first.query_text, first.test_collection, first.line) == (
        "t1",
        "how do bees make honey",
        "demo",
        1,
    )
    assert [item.text for item in first.items] == [
        "What do bees collect from flowers?",
        "How is water removed from nectar?",
    ]
    text = "Which pigment hides the others in summer?"
    assert second.items == [
        BankItem(item_id("t2", text), ItemKind.QUESTION, text, "", ("chlorophyll", "true"))
    ]


def test_nugget_bank():
    (line,) = read_bank(FORMATS / "nuggets.jsonl")
    assert {item.kind for item in line.items} == {ItemKind.NUGGET}
    assert (line.test_collection, line.facet_id, line.facet_text) == ("", "", "")


def test_a_car_subtopic_is_split_from_its_title():
    (line,) = read_bank(FORMATS / "car_questions.jsonl")
    assert (line.query_id, line.query_text) == ("tqa2:L_1", "Bees")
    assert (line.facet_id, line.facet_text) == ("T_7", "The hive")
    assert line.items[0].item_id == item_id("tqa2:L_1", "Who keeps the hive cool?", "T_7")


def test_ids():
    assert text_md5(" caf\u00e9 \n") == text_md5("caf\u00e9") == "07117fe4a1ebd544965dc19573183da2"
    assert md5_of_id(item_id("q", "text")) == text_md5("text")
    assert md5_of_id("NDQ_0001") is None


@pytest.mark.parametrize("name", ["questions.jsonl.gz", "nuggets.jsonl", "car_questions.jsonl"])
def test_written_banks_read_back_and_write_the_same_bytes(name, tmp_path):
    bank = list(read_bank(FORMATS / name))
    write_bank(tmp_path / f"first-{name}", bank)
    again = list(read_bank(tmp_path / f"first-{name}"))
    write_bank(tmp_path / f"second-{name}", again)
    assert again == bank
    assert (tmp_path / f"first-{name}").read_bytes() == (tmp_path / f"second-{name}").read_bytes()


@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("official.json", OfficialBoard("ranks", {"bm25": 1.5, "ql": 1.5, "random": 3.0})),
        ("official_scores.json", OfficialBoard("scores", {"bm25": 0.41, "ql": 0.4})),
        ("official.tsv", OfficialBoard("ranks", {"bm25": 1.0, "ql": 2.0})),
    ],
)
def test_official_boards_say_ranks_or_scores(name, board, tmp_path):
    assert read_official(FORMATS / name) == board
    write_official(tmp_path / "written.json", board)
    assert read_official(tmp_path / "written.json") == board


def test_a_run_may_be_called_scores(tmp_path):
    path = tmp_path / "official.json"
    path.write_text('{"scores": 1, "ranks": 2}')
    assert read_official(path) == OfficialBoard("ranks", {"scores": 1.0, "ranks": 2.0})


SUMMARY = """runid                 \tall\tbm25
num_q                 \tall\t25
map                   \tall\t0.1234
map                   \tq1\t0.9
P_10                  \tall\t0.5
runid                 \tall\tql
num_q                 \tall\t25
map                   \tall\t0.0500
P_10                  \tall\t0.6
"""


def test_summaries_of_trec_eval(tmp_path):
    path = tmp_path / "summary.txt"
    path.write_text(SUMMARY)
    by_topic = {"q1": {"bm25": 0.9}}
    assert read_official(path) == OfficialBoard("scores", {"bm25": 0.1234, "ql": 0.05}, "map", by_topic)
    assert read_official(path, measure="P.10") == OfficialBoard("scores", {"bm25": 0.5, "ql": 0.6}, "P_10")
    with pytest.raises(BadFormat, match="no measure ndcg; there are map, P_10"):
        read_official(path, measure="ndcg")


def test_a_run_without_a_score_is_left_out_of_our_own_boards(tmp_path):
    path = tmp_path / "board.tsv"
    path.write_text("# bank: main\nrun_tag\trank\tscore\tn_topics\na\t1\t0.25\t2\nb\t2\tNaN\t0\n")
    assert read_official(path) == OfficialBoard("scores", {"a": 0.25})
