"""Responses of runs: stored as read, their sentences pooled and ranked, all of it or nothing."""

from pathlib import Path

import pytest
from django.core.management import CommandError

from grading.types import Citation, text_md5
from rubricweb.corpus import convert
from rubricweb.corpus.models import Passage, Pooled, Ranking, Response, Run, Topic
from rubricweb.corpus.pools import collection_pool
from tests.rubricweb.import_files import Folder, counts, database, response

pytestmark = pytest.mark.django_db

MOON, SUN, BOTH = "The moon pulls.", "The sun helps.", "Both do."
MOON_AND_SEA = "The moon pulls the sea."
FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"


@pytest.fixture
def folder(tmp_path) -> Folder:
    return Folder(tmp_path)


def ranked(run_tag: str, query_id: str = "t1") -> list[str]:
    """The texts that the run ranks."""
    texts = dict(Passage.objects.values_list("doc_id", "text"))
    row = Ranking.objects.get(run__run_tag=run_tag, topic__query_id=query_id)
    assert row.scores == sorted(row.scores, reverse=True)
    return [texts[doc_id] for doc_id in row.doc_ids]


def test_sentences_become_passages_that_the_run_ranks(folder):
    path = folder.lines(
        "a.jsonl",
        response("alpha", "t1", (MOON, [1, 0]), (SUN, [])),
        response("alpha", "t2", BOTH, MOON, BOTH),
    )
    done = folder.load("--queries", folder.queries(t1="tides", t2="forces"), "--responses", path)
    assert done["counts"] == counts(
        collections=(1, 0, 0),
        topics=(2, 0, 0),
        runs=(1, 0, 0),
        passages=(3, 0, 0),
        pooled=(4, 0, 0),
        responses=(2, 0, 0),
        rankings=(2, 0, 0),
    )
    assert (ranked("alpha"), ranked("alpha", "t2")) == ([MOON, SUN], [BOTH, MOON])
    assert Passage.objects.get(text=MOON).doc_id == text_md5(MOON)


def test_the_response_is_kept_as_it_was_read(folder):
    line = response("alpha", "t1", (MOON, [1, 0]), (SUN, []), use_starter_kit=1)
    line["answer"].append({"text": BOTH, "mine": {"kept": None}})
    folder.load("--responses", folder.lines("a.jsonl", line))
    row = Response.objects.get()
    assert row.foreign == line
    read = convert.response(row)
    cited = (Citation(line["references"][1]), Citation(line["references"][0]))
    assert [one.citations for one in read.sentences] == [cited, (), None]
    assert (read.references, read.team, read.run_tag) == (tuple(line["references"]), "maple", "alpha")


def test_what_the_metadata_say_describes_the_run(folder):
    line = response("alpha", "t1", MOON, type="manual", task="rag", run_desc="BM25 and a reader")
    folder.load("--responses", folder.lines("a.jsonl", line))
    run = Run.objects.get()
    assert (run.team, run.task, run.type) == ("maple", "rag", "manual")
    assert (run.description, run.state) == ("BM25 and a reader", "accepted")
    Run.objects.update(description="Ours", task="")
    folder.load("--responses", folder.lines("a.jsonl", line))
    run.refresh_from_db()
    assert (run.description, run.task) == ("Ours", "rag")


def test_answers_of_traces_find_their_topic_by_id_or_by_question(folder):
    queries = folder.queries(**{"7": "Why do tides rise?", "8": " do Bees sleep? "})
    folder.load("--queries", queries, "--responses", FORMATS / "otel_traces.jsonl")
    assert (ranked("build-412", "7"), ranked("build-412", "8")) == (
        [MOON_AND_SEA, SUN],
        ["They do.", "Mostly at night."],
    )
    read = convert.response(Response.objects.get(topic__query_id="7"))
    assert (read.references, [one.citations for one in read.sentences]) == (("d1", "d2"), [None, None])
    other = FORMATS / "langfuse_observations.jsonl"
    folder.load("--responses", other, "--replace")
    assert ranked("build-412", "8") == ["They do."]


def test_a_folder_of_several_runs_in_several_files(folder):
    folder.lines("runs/task/a.jsonl", response("alpha", "t1", MOON))
    folder.lines("runs/task/more.jsonl.gz", response("alpha", "t2", SUN), response("beta", "t1", MOON))
    folder.write("runs/README.md", "# Runs")
    folder.write("runs/.DS_Store", "x")
    done = folder.load("--responses", folder.path / "runs")
    assert done["counts"]["runs"]["new"] == 2
    assert done["counts"]["passages"] == {"new": 2, "changed": 0, "unchanged": 0}, "equal texts are one"
    assert any("README.md" in note for note in done["notes"])
    assert ranked("alpha") == ranked("beta") == [MOON]


def test_topics_come_from_the_responses_where_no_file_has_them(folder):
    folder.load("--responses", folder.lines("a.jsonl", response("alpha", "t1", MOON)))
    assert Topic.objects.get().text == "about t1"


def test_run_files_may_be_of_topics_that_the_responses_bring(folder):
    responses = folder.lines("a.jsonl", response("alpha", "t1", MOON))
    runs = folder.write("runs/bm25.run", "t1 Q0 d1 1 9.0 bm25\n").parent
    lacking = "passages that the collection lacks: 1 of 1 in bm25.run"
    assert folder.load("--runs", runs, "--responses", responses)["notes"] == [lacking]
    assert Ranking.objects.get(run__run_tag="bm25").doc_ids == ["d1"]


def test_other_topics_than_those_of_the_queries_are_left_out(folder):
    path = folder.lines("a.jsonl", response("alpha", "t1", MOON), response("alpha", "t9", SUN))
    done = folder.load("--queries", folder.queries(), "--responses", path)
    assert done["notes"] == ["a.jsonl: left out 1 responses to 1 topics that the collection lacks"]
    assert list(Passage.objects.values_list("text", flat=True)) == [MOON]


def test_importing_again_changes_nothing(folder):
    path = folder.lines(
        "a.jsonl", response("alpha", "t1", MOON, SUN, MOON), response("beta", "t1", (SUN, []))
    )
    folder.load("--responses", path)
    before = database()
    again = folder.load("--responses", path)
    assert (again["changed"], database()) == (False, before)
    assert again["counts"]["responses"] == {"new": 0, "changed": 0, "unchanged": 2}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("sentence", [MOON, SUN]), ("response", [f"{MOON} {SUN}"]), ("paragraph", [f"{MOON} {SUN}"])],
)
def test_the_rule_is_chosen(folder, rule, expected):
    path = folder.lines("a.jsonl", response("alpha", "t1", MOON, SUN))
    folder.load("--responses", path, "--passages-of", rule)
    assert ranked("alpha") == expected
    assert Response.objects.get().passages_of == rule


def test_long_texts_are_several_passages_and_the_import_says_so(folder):
    long = " ".join(f"word{n}" for n in range(900))
    done = folder.load("--responses", folder.lines("a.jsonl", response("alpha", "t1", MOON, long)))
    assert done["notes"] == ["a.jsonl: 3 passages are parts of texts of more than 400 tokens"]
    assert " ".join(ranked("alpha")) == f"{MOON} {long}"


def test_a_response_without_text_is_kept_and_ranks_nothing(folder):
    done = folder.load("--responses", folder.lines("a.jsonl", response("alpha", "t1", (" ", []))))
    assert (Response.objects.count(), Ranking.objects.count(), Pooled.objects.count()) == (1, 0, 0)
    assert "a.jsonl:1" in done["notes"][0]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            [response("alpha", "t1", MOON), response("alpha", "t1", SUN)],
            "a.jsonl:2: run alpha answers topic t1",
        ),
        ([response("alpha", "t9", MOON)], "a.jsonl:1: query t9 is unknown"),
        ([response("al pha", "t1", MOON)], "a.jsonl:1: "),
        ([response("alpha", "t1", MOON), response("a" * 201, "t1", SUN)], "a.jsonl:2: the run id has 201"),
        (
            [response("alpha", "t1", MOON), response("beta", "t1", SUN, team_id="t" * 101)],
            "a.jsonl:2: the team",
        ),
        ([response("alpha", "t1", MOON), {"metadata": {}}], "a.jsonl:2: "),
    ],
)
def test_a_file_that_does_not_fit_changes_nothing(folder, lines, words):
    folder.load("--queries", folder.queries())
    before = database()
    with pytest.raises(CommandError, match=words):
        folder.load("--queries", folder.queries(), "--responses", folder.lines("a.jsonl", *lines))
    assert database() == before


def test_another_response_needs_replace(folder):
    folder.load("--responses", folder.lines("a.jsonl", response("alpha", "t1", MOON)))
    other = folder.lines("a.jsonl", response("alpha", "t1", SUN))
    with pytest.raises(CommandError, match=r"otherwise than before \(sentences, foreign\)"):
        folder.load("--responses", other)
    done = folder.load("--responses", other, "--replace")
    assert done["counts"]["responses"] == {"new": 0, "changed": 1, "unchanged": 0}
    assert ranked("alpha") == [SUN]


def pool(query_id: str = "t1") -> list[str]:
    rows = Pooled.objects.filter(topic__query_id=query_id).order_by("position")
    return list(rows.values_list("passage__text", flat=True))


def test_what_only_the_replaced_response_said_leaves_the_pool(folder):
    folder.load(
        *("--queries", folder.queries(), "--qrels", folder.write("q.qrels", f"t1 0 {text_md5(SUN)} 1\n")),
        *("--responses", folder.lines("a.jsonl", response("alpha", "t1", MOON, SUN, BOTH))),
        *("--responses", folder.lines("b.jsonl", response("beta", "t1", BOTH))),
    )
    done = folder.load("--responses", folder.lines("a.jsonl", response("alpha", "t1", "New.")), "--replace")
    assert done["counts"]["pooled"] == {"new": 1, "changed": 1, "unchanged": 0}
    assert pool() == [SUN, BOTH, "New."], "SUN is judged, and beta says BOTH, too"


def test_a_response_that_is_replaced_by_nothing_leaves_no_ranking(folder):
    folder.load("--responses", folder.lines("a.jsonl", response("alpha", "t1", MOON)))
    folder.load("--responses", folder.lines("a.jsonl", response("alpha", "t1", (" ", []))), "--replace")
    assert (Ranking.objects.count(), pool()) == (0, [])


def test_replacing_one_topic_keeps_the_others(folder):
    folder.load(
        "--responses",
        folder.lines("a.jsonl", response("alpha", "t1", MOON), response("alpha", "t2", BOTH)),
    )
    folder.load("--responses", folder.lines("b.jsonl", response("alpha", "t1", SUN)), "--replace")
    assert (ranked("alpha"), ranked("alpha", "t2")) == ([SUN], [BOTH])


def test_a_run_of_responses_takes_precedence_over_ranks_of_graded_files(folder):
    from tests.rubricweb.import_files import passage

    graded = folder.graded(passage("d1", ranks={"alpha": (1, 9.0)}))
    path = folder.lines("a.jsonl", response("alpha", "t1", MOON))
    folder.load("--graded", graded, "--responses", path)
    assert ranked("alpha") == [MOON]


def test_the_pool_has_them_at_once(folder):
    folder.load("--responses", folder.lines("a.jsonl", response("alpha", "t1", MOON, SUN)))
    run = Run.objects.get()
    (topic,) = collection_pool(run.collection).topics
    assert (topic.doc_ids, topic.top(1).tolist()) == ((text_md5(MOON), text_md5(SUN)), [[True, False]])
