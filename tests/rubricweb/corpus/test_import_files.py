"""Topics, passages and pools, judgments and runs from files."""

import pytest
from django.core.management import CommandError

from rubricweb.corpus.models import Collection, Judgment, Passage, Pooled, Ranking, Run, Subtopic, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.models import GraderConfig
from tests.rubricweb.import_files import RED, Folder, bank_line, counts, passage, rated, uid

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def rankings(run_tag="bm25"):
    """query id -> (doc ids, scores) of a run."""
    rows = Ranking.objects.filter(run__run_tag=run_tag).order_by("topic__position")
    return {row.topic.query_id: (row.doc_ids, row.scores) for row in rows.select_related("topic")}


def test_topics_come_from_queries_in_the_natural_order_of_their_ids(folder):
    folder.load("--queries", folder.queries(t11="how bread rises", t2="why leaves turn red"))
    assert list(Topic.objects.values_list("query_id", "text", "position")) == [
        ("t2", "why leaves turn red", 0),
        ("t11", "how bread rises", 1),
    ]
    folder.load(
        "--queries", folder.queries(t5="how snow forms", t11="how bread rises", t2="why leaves turn red")
    )
    assert list(Topic.objects.values_list("query_id", flat=True)) == ["t2", "t5", "t11"]


def test_topics_come_from_banks_and_then_graded_files_without_queries(folder):
    bank = folder.lines("bank.jsonl", bank_line(RED))
    graded = folder.lines("graded.jsonl", ["t2", [passage("d1")]], ["t1", [passage("d1")]])
    folder.load("--graded", graded, "--bank", bank)
    assert list(Topic.objects.values_list("query_id", "text")) == [("t1", "why leaves turn red"), ("t2", "")]


def test_a_text_that_was_unknown_is_supplied(folder):
    folder.load("--graded", folder.graded(passage("d1")))
    imported = folder.load("--queries", folder.queries())["counts"]["topics"]
    assert imported == {"new": 0, "changed": 1, "unchanged": 0}
    assert Topic.objects.get().text == "why leaves turn red"


def test_a_bank_that_words_a_query_otherwise_is_noted(folder):
    bank = folder.lines("bank.jsonl", bank_line(RED, query_text="Autumn leaves"))
    document = folder.load("--queries", folder.queries(), "--bank", bank)
    assert document["notes"] == ["bank.jsonl words some queries otherwise, the collection's words stay: t1"]
    assert Topic.objects.get().text == "why leaves turn red"


def test_replace_takes_another_wording_of_a_query(folder):
    folder.load("--queries", folder.queries())
    folder.load("--queries", folder.queries(t1="why leaves fall"), "--replace")
    assert Topic.objects.get().text == "why leaves fall"


def test_subtopics_of_a_bank(folder):
    """CAR writes the subtopic into the query's text; an item id names it too."""
    line = bank_line(RED, facet_id="colour", query_text="Leaves / Colour")
    graded = folder.graded(passage("d1", rated({uid(RED, facet_id="fall"): 3})))
    folder.load("--bank", folder.lines("bank.jsonl", line), "--graded", graded)
    assert Topic.objects.get().text == "Leaves"
    assert list(Subtopic.objects.values_list("facet_id", "text")) == [("colour", "Colour"), ("fall", "")]
    later = bank_line("When do leaves fall?", facet_id="fall", query_text="Leaves / Fall")
    folder.load("--bank", folder.lines("later.jsonl", later))
    assert Subtopic.objects.get(facet_id="fall").text == "Fall"


def test_pool_keeps_file_order_and_shares_passages(folder):
    graded = folder.lines(
        "graded.jsonl",
        ["t1", [passage("d2"), passage("d1")]],
        ["t2", [passage("d1")]],
        ["t1", [passage("d3"), passage("d2")]],
    )
    imported = folder.load("--graded", graded)["counts"]
    assert imported["passages"] == {"new": 3, "changed": 0, "unchanged": 0}
    assert list(Pooled.objects.filter(topic__query_id="t1").values_list("passage__doc_id", "position")) == [
        ("d2", 0),
        ("d1", 1),
        ("d3", 2),
    ]
    assert Passage.objects.count() == 3


def test_more_passages_than_one_query_looks_up(folder):
    many = [passage(f"d{n}", text=f"Sentence {n}.") for n in range(1_203)]
    folder.load("--graded", folder.graded(*many))
    imported = folder.load("--graded", folder.graded(*many, passage("new", text="New.")))["counts"]
    assert imported["passages"] == {"new": 1, "changed": 0, "unchanged": 1_203}
    assert Pooled.objects.get(passage__doc_id="new").position == 1_203


def test_judgments_of_topic_subtopic_and_another_topic(folder):
    first = ["t1", [passage("d1", judged={"t1": 2, "t1/colour": 1, "t2": 0, "t9": 3})]]
    graded = folder.lines("graded.jsonl", first, ["t2", [passage("d2")]])
    document = folder.load("--graded", graded, "--qrels", folder.write("qrels.txt", "t1/fall 0 d2 -2\n"))
    assert set(Judgment.objects.values_list("topic__query_id", "facet_id", "doc_id", "relevance")) == {
        ("t1", "", "d1", 2),
        ("t1", "colour", "d1", 1),
        ("t2", "", "d1", 0),
        ("t1", "fall", "d2", -2),
    }
    assert document["notes"] == [
        "left out 1 judgments that passages have of topics that the collection lacks"
    ]


@pytest.mark.parametrize(
    ("arguments", "relevance", "rule"),
    [
        ((), 3, "highest"),
        (("--judgments", "lowest"), 1, "lowest"),
        (("--judgments", "last"), 2, "last"),
        (("--replace",), 2, "last"),
        (("--replace", "--judgments", "highest"), 3, "highest"),
    ],
)
def test_several_judgments_of_a_passage(folder, arguments, relevance, rule):
    """The Workbench appends judgments of a later file to those that a passage has."""
    line = passage("d1", judged={"t1": 1})
    line["paragraph_data"]["judgments"] += passage("d1", judged={"t1": 3})["paragraph_data"]["judgments"]
    qrels = folder.write("qrels.txt", "t1 0 d2 1\nt1 0 d1 2\n")
    files = "--graded", folder.graded(line), "--qrels", qrels
    document = folder.load(*files, *arguments)
    assert Judgment.objects.get(doc_id="d1").relevance == relevance
    assert document["notes"] == [
        f"1 passages have several judgments that differ, of which the {rule} counts",
        "passages that the collection lacks: 1 of 2 in qrels.txt",
    ]
    assert document["counts"]["judgments"] == {"new": 2, "changed": 0, "unchanged": 0}
    assert folder.load(*files, *arguments)["changed"] is False


def test_several_judgments_of_a_passage_may_be_refused(folder):
    graded = folder.graded(passage("d1", judged={"t1": 2}))
    qrels = folder.write("qrels.txt", "t1 0 d2 1\nt1 0 d1 3\n")
    with pytest.raises(CommandError, match=r"qrels.txt:2: .* judged 3 here and 2 in graded.jsonl:1"):
        folder.load("--graded", graded, "--qrels", qrels, "--judgments", "refuse")
    assert not Collection.objects.exists()


def test_a_judgment_that_contradicts_an_earlier_import_is_refused(folder):
    folder.load("--graded", folder.graded(passage("d1", judged={"t1": 2})))
    qrels = folder.write("qrels.txt", "t1 0 d2 1\nt1 0 d1 3\n")
    with pytest.raises(
        CommandError, match=r"qrels.txt:2: .* judged 3 here and 2 in the collection.*--replace"
    ):
        folder.load("--qrels", qrels)
    assert Judgment.objects.get().relevance == 2


def test_replace_takes_the_newer_judgment(folder):
    folder.load("--graded", folder.graded(passage("d1", judged={"t1": 2})))
    imported = folder.load("--qrels", folder.write("qrels.txt", "t1 0 d1 3\n"), "--replace")["counts"]
    assert imported["judgments"] == {"new": 0, "changed": 1, "unchanged": 0}
    assert Judgment.objects.get().relevance == 3


def test_qrels_and_runs_of_a_whole_track_leave_unknown_topics_out_aloud(folder):
    qrels = folder.write("qrels.txt", "t1 0 d1 1\nt8 0 d1 1\nt9 0 d1 1\nt9 0 d2 1\n")
    folder.write("runs/bm25.run", "t8 Q0 d1 1 9 bm25\nt1 Q0 d1 1 9 bm25\n")
    document = folder.load("--queries", folder.queries(), "--qrels", qrels, "--runs", folder.path / "runs")
    assert sorted(document["notes"]) == [
        "bm25.run: left out 1 topics that the collection lacks",
        "qrels.txt: left out 3 judgments of 2 topics that the collection lacks",
    ]
    assert Judgment.objects.count() == 1
    assert list(rankings()) == ["t1"]


def test_a_run_without_known_topics_is_left_out_where_no_queries_were_given(folder):
    folder.write("runs/bm25.run", "t8 Q0 d1 1 9 bm25\n")
    document = folder.load("--graded", folder.graded(passage("d1")), "--runs", folder.path / "runs")
    assert document["notes"] == [
        "bm25.run: left out 1 topics that the collection lacks, which are all it has"
    ]
    assert not Run.objects.exists()


def test_ranks_become_positions(folder):
    """From 0, with gaps, tied in file order, over two lines of a topic."""
    first = ["t1", [passage("d1", ranks={"bm25": (7, 1.5)}), passage("d2", ranks={"bm25": (0, 9.5)})]]
    graded = folder.lines("graded.jsonl", first, ["t1", [passage("d3", ranks={"bm25": (7, 1.0)})]])
    folder.load("--graded", graded)
    assert rankings() == {"t1": (["d2", "d1", "d3"], [9.5, 1.5, 1.0])}
    assert Run.objects.get().is_from_file is False
    assert folder.load("--graded", graded)["changed"] is False


def test_the_run_file_is_the_ranking_where_both_have_the_tag(folder):
    folder.write("runs/one.run", "t1 Q0 d3 5 2 bm25\nt1 Q0 gone 4 3 bm25\n")
    ranks = {"bm25": (1, 9.0), "other": (1, 1.0)}
    graded = folder.lines(
        "graded.jsonl", ["t1", [passage("d1", ranks=ranks)]], ["t2", [passage("d1", ranks=ranks)]]
    )
    document = folder.load("--graded", graded, "--runs", folder.path / "runs")
    assert rankings() == {"t1": (["gone", "d3"], [3.0, 2.0])}
    assert set(rankings("other")) == {"t1", "t2"}
    assert {run.run_tag: run.is_from_file for run in Run.objects.all()} == {"bm25": True, "other": False}
    assert document["notes"] == [
        "1 runs have a run file: the ranks that passages have of them were left out",
        "passages that the collection lacks: 2 of 2 in one.run",
    ]
    assert folder.load("--graded", graded)["changed"] is False


def test_a_run_file_that_comes_later_takes_over(folder):
    ranks = {"bm25": (1, 9.0)}
    graded = folder.lines(
        "graded.jsonl", ["t1", [passage("d1", ranks=ranks)]], ["t2", [passage("d1", ranks=ranks)]]
    )
    folder.load("--graded", graded)
    folder.write("runs/one.run", "t1 Q0 d3 1 2 bm25\n")
    imported = folder.load("--runs", folder.path / "runs")["counts"]
    assert imported == counts(collections=(0, 0, 1), runs=(0, 1, 0), rankings=(1, 0, 0))
    assert rankings() == {"t1": (["d3"], [2.0])}


def test_replace_takes_the_newer_run_file_as_a_whole(folder):
    folder.load("--queries", folder.queries(t1="why leaves turn red", t2="how bread rises"))
    folder.write("runs/one.run", "t1 Q0 d3 1 2 bm25\nt2 Q0 d3 1 2 bm25\n")
    folder.load("--runs", folder.path / "runs")
    folder.write("runs/one.run", "t1 Q0 d1 1 2 bm25\n")
    folder.load("--runs", folder.path / "runs", "--replace")
    assert rankings() == {"t1": (["d1"], [2.0])}


def test_ranks_of_passages_grow_with_a_later_file(folder):
    d1, d2 = passage("d1", ranks={"bm25": (1, 9.0)}), passage("d2", ranks={"bm25": (2, 8.0)})
    folder.load("--graded", folder.graded(d1))
    assert folder.load("--graded", folder.graded(d1, d2))["counts"]["rankings"]["changed"] == 1
    assert rankings() == {"t1": (["d1", "d2"], [9.0, 8.0])}
    assert folder.load("--graded", folder.graded(d2))["changed"] is False
    with pytest.raises(
        CommandError, match=r"graded.jsonl:1: run bm25 ranks the passages of query t1 otherwise"
    ):
        folder.load("--graded", folder.graded(passage("d2", ranks={"bm25": (1, 8.0)}), {**d1}))


def test_two_ranks_of_one_passage(folder):
    graded = folder.graded(passage("d1", ranks={"bm25": (1, 9.0)}), passage("d1", ranks={"bm25": (2, 9.0)}))
    with pytest.raises(
        CommandError, match=r"graded.jsonl:1: passage d1 has rank 2 .* and rank 1 .* in run bm25"
    ):
        folder.load("--graded", graded)


def test_the_summary_says_where_trec_eval_orders_otherwise(folder):
    folder.write("runs/tied.run", "t1 Q0 d1 1 2 tied\nt1 Q0 d2 2 2 tied\nt2 Q0 d1 1 2 tied\n")
    folder.write("runs/plain.run", "t1 Q0 d1 1 3 plain\nt1 Q0 d2 2 2 plain\n")
    queries = folder.queries(t1="why leaves turn red", t2="how bread rises")
    document = folder.load("--queries", queries, "--runs", folder.path / "runs")
    assert document["trec_eval_order"] == {"tied": 1}


def test_the_summary_names_runs_that_trec_eval_9_and_10_order_differently(folder):
    folder.write(
        "runs/dense.run",
        "t1 Q0 d1 1 0.975230281 dense\nt1 Q0 d2 2 0.975230279 dense\nt2 Q0 d1 1 2 dense\n",
    )
    folder.write("runs/plain.run", "t1 Q0 d1 1 3 plain\nt1 Q0 d2 2 2 plain\n")
    queries = folder.queries(t1="why leaves turn red", t2="how bread rises")
    document = folder.load("--queries", queries, "--runs", folder.path / "runs")
    assert document["trec_eval_order"] == {"dense": 1}
    note = "trec_eval 9 and 10 order passages with close scores differently in dense (1 topic)"
    assert document["notes"] == [
        "trec_eval 9's order (by score, then passage id) is not that of the ranks in dense (1 topic)",
        note,
    ]


def test_other_files_of_the_folder_are_named(folder):
    folder.write("runs/plain.txt", "t1 Q0 d1 1 3 plain\n")
    folder.write("runs/notes.md", "not a run")
    folder.write("runs/.hidden", "not a run")
    document = folder.load("--queries", folder.queries(), "--runs", folder.path / "runs")
    assert document["notes"] == ["left out files that do not end in .run, .txt or .gz: notes.md"]


def test_the_pool_of_the_collection_sees_a_later_import(folder):
    folder.load("--graded", folder.graded(passage("d1")))
    before = collection_pool(Collection.objects.get())
    folder.load("--graded", folder.graded(passage("d2", judged={"t1": 1}), name="more.jsonl"))
    after = collection_pool(Collection.objects.get())
    assert before.topics[0].doc_ids == ("d1",)
    assert after.topics[0].doc_ids == ("d1", "d2")
    assert after.topics[0].judgments == {"d2": 1}


def test_a_board_that_comes_along_is_named_by_its_slug(folder):
    folder.load("--queries", folder.queries(), "--official", "rag24-support-recall")
    row = Collection.objects.get(slug="autumn").official_scores.get(run_tag="neu.neurag")
    assert (row.value, row.is_rank, row.measure) == (0.397202, False, "weighted recall")
    assert row.source.startswith("computed by RubricWeb from NIST")


def test_replace_takes_the_newer_official_board(folder):
    folder.load("--queries", folder.queries(), "--official", folder.write("official.json", '{"bm25": 1}'))
    newer = folder.write("newer.tsv", "run_tag\tscore\nbm25\t0.4\nunknown\t0.2\n")
    imported = folder.load("--official", newer, "--replace")["counts"]["official_scores"]
    assert imported == {"new": 1, "changed": 1, "unchanged": 0}
    rows = (
        Collection.objects.get()
        .official_scores.order_by("run_tag")
        .values_list("run_tag", "value", "is_rank")
    )
    assert list(rows) == [("bm25", 0.4, False), ("unknown", 0.2, False)]


@pytest.mark.parametrize(
    ("graded", "message"),
    [
        (["t 1", [passage("d1")]], r"graded.jsonl:1: the query id is 't 1', expected one word"),
        (["t1", [passage("d 1", text="x")]], r"graded.jsonl:1: the paragraph_id is 'd 1', expected one word"),
        (["t1", [passage("d\x07", text="x")]], r"graded.jsonl:1: the paragraph_id is 'd\\x07', expected one"),
        (
            ["t1", [passage("d1", ranks={"bm 25": (1, 1.0)})]],
            r"graded.jsonl:1: a ranking's method is 'bm 25'",
        ),
        (["t1", [passage("d1", judged={"t1/a b": 1})]], r"graded.jsonl:1: the facet_id is 'a b', expected"),
        (
            ["t1", [passage("d1", rated({uid(RED): 4}, llm="my\nmodel"))]],
            r"graded.jsonl:1: the llm is 'my\\n",
        ),
        (
            ["t1", [passage("d1", rated({uid(RED): 4}, prompt_class="A  B"))]],
            r"graded.jsonl:1: the prompt_cl",
        ),
    ],
)
def test_ids_that_would_break_a_line_are_refused(folder, graded, message):
    with pytest.raises(CommandError, match=message):
        folder.load("--graded", folder.lines("graded.jsonl", graded))
    assert not Collection.objects.exists()


def test_a_model_s_name_may_have_spaces(folder):
    folder.load("--graded", folder.graded(passage("d1", rated({uid(RED): 4}, llm="GPT 4 (mini)"))))
    assert GraderConfig.objects.get().llm == "GPT 4 (mini)"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"t1 0 {'d' * 301} 1", "qrels.txt:2: the doc_id has 301 characters, expected at most 300"),
        ("t1 0 d2 99999", "qrels.txt:2: the relevance is 99999, expected -32768 to 32767"),
    ],
)
def test_messages_about_qrels_name_the_line(folder, line, message):
    folder.load("--queries", folder.queries())
    with pytest.raises(CommandError, match=message):
        folder.load("--qrels", folder.write("qrels.txt", f"t1 0 d1 1\n{line}\n"))
