"""Labels of files by answer: matched or made, scored in their places, agreed with, written again."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from grading.support import Support, SupportRule
from rubricweb.core.reader import everything
from rubricweb.corpus.models import Collection, Response
from rubricweb.exports.support import answer_line, labelled_answers
from rubricweb.imports.models import Import
from rubricweb.support import actions
from rubricweb.support.agreement import Repeated, agreement, repeated
from rubricweb.support.board import Counting, board
from rubricweb.support.labels import raters
from rubricweb.support.models import LabelledAnswer, SupportJudge, SupportLabel
from tests.rubricweb.import_files import Folder
from tests.rubricweb.imports.conftest import worked
from tests.rubricweb.support.conftest import ANSWERS, BREAD, MOON, MORE, SUN

pytestmark = [pytest.mark.django_db, pytest.mark.portable]

Rows = list[tuple[str, dict[str, str]]]
"""By sentence: its text, and the support by reference."""
ALPHA: Rows = [(MOON, {"d1": "2", "d2": "0"}), (SUN, {"d2": "1"}), (MORE, {})]
BETA: Rows = [(SUN, {"d2": "0"})]


def line(run_tag: str, query_id: str, rows: Rows, **others: Any) -> dict[str, Any]:
    sentences = [
        {
            "sentenceID": number // 2,
            "text": text,
            "citations": [{"reference": key, "support": label} for key, label in cited.items()],
        }
        for number, (text, cited) in enumerate(rows)
    ]
    return {"topic_id": query_id, "run_id": run_tag, "sentences": sentences, **others}


@pytest.fixture
def folder(tmp_path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def load(folder):
    """Import lines as labels by people into autumn, or as the options say."""

    def of(
        *contents: dict[str, Any], slug: str = "autumn", by: str = "people", **options: str
    ) -> dict[str, Any]:
        path = folder.write("labels.jsonl", "".join(f"{json.dumps(one)}\n" for one in contents))
        given = [part for key, value in options.items() for part in (f"--{key.replace('_', '-')}", value)]
        return folder.load("--support-labels", path, *(["--by", by] if by else []), *given, slug=slug)

    return of


def rows_of(collection: Collection, rule: SupportRule = SupportRule.FIRST, **options: Any) -> dict[str, Any]:
    with everything():
        found = board(collection, raters(collection)[0], Counting(rule, **options))
    return {row.run_tag: row for row in found.rows}


def test_labels_count_in_their_place_and_for_their_answer_alone(sea, load):
    """Both runs say SUN and cite d2: partial in alpha's answer, none in beta's."""
    load(line("alpha", "s1", ALPHA), line("beta", "s1", BETA))
    found = rows_of(sea)
    assert (found["alpha"].precision.value, found["alpha"].recall.value) == (0.75, 0.5)
    assert (found["beta"].precision.value, found["beta"].scored) == (0, 1)
    assert rows_of(sea, SupportRule.ALL)["alpha"].precision.value == 0.5


def test_answers_that_are_not_there_are_made_with_their_runs_and_topics(load):
    document = load(
        line("new.run", "t7", [("It is so.", {"d1": "2"}), ("", {"d1": "-1"})]),
        line("new.run", "t8", []),
        slug="fresh",
    )
    fresh = Collection.objects.get(slug="fresh")
    assert dict(fresh.topics.values_list("query_id", "text")) == {"t7": "t7", "t8": "t8"}
    assert [len(row.sentences) for row in Response.objects.order_by("pk")] == [2, 0]
    assert any("2 topics have their id as name" in note for note in document["notes"])
    run = rows_of(fresh)["new.run"]
    assert (run.precision.value, run.answers, run.sentences, run.missing) == (0.5, 2, 2, 1)


def test_a_file_of_topics_words_those_that_labels_made(load, folder):
    load(line("r", "t7", []), slug="fresh")
    folder.load("--queries", folder.write("t.tsv", "t7\tWhy is it so?\n"), slug="fresh")
    assert Collection.objects.get(slug="fresh").topics.get().text == "Why is it so?"


def test_a_team_before_the_run_is_taken_off_where_the_rest_is_a_run(sea, load):
    document = load(line("citi.alpha", "s1", ALPHA), line("citi.gamma.2", "s1", BETA))
    assert set(sea.runs.values_list("run_tag", flat=True)) == {"alpha", "beta", "citi.gamma.2"}
    assert any("before the first dot: citi.alpha (alpha)" in note for note in document["notes"])


def test_the_same_file_again_changes_nothing(sea, load):
    load(line("alpha", "s1", ALPHA))
    document = load(line("alpha", "s1", ALPHA))
    assert document["changed"] is False
    assert document["counts"]["labelled_answers"] == {"new": 0, "changed": 0, "unchanged": 1}


def test_fewer_citations_than_the_answer_has_are_noted(sea, load):
    document = load(line("alpha", "s1", [(MOON, {"d1": "2"}), (SUN, {"d2": "1"}), (MORE, {})]))
    assert any("1 citations of answers here are not in the file" in note for note in document["notes"])
    assert rows_of(sea, SupportRule.ALL)["alpha"].missing == 0


REFUSED: dict[str, tuple[list[dict[str, Any]], dict[str, str], str]] = {
    "no author": ([line("alpha", "s1", ALPHA)], {"by": ""}, "no author"),
    "another number of sentences": (
        [line("alpha", "s1", ALPHA[:2])],
        {},
        "2 sentences of run alpha on topic s1, expected 3 as in the collection",
    ),
    "another reference": (
        [line("alpha", "s1", [ALPHA[0], (SUN, {"d3": "1"}), ALPHA[2]])],
        {},
        "sentences[1].citations[0].reference of run alpha on topic s1 is d3, expected d2 as in",
    ),
    "more citations": (
        [line("beta", "s1", [(SUN, {"d2": "0", "d3": "1"})])],
        {},
        "sentences[0].citations[1].reference of run beta on topic s1 is d3, expected no citation",
    ),
    "an answer under two names": (
        [line("alpha", "s1", ALPHA), line("x.alpha", "s1", ALPHA)],
        {},
        "run x.alpha answers topic s1 here and in labels.jsonl:1, expected one line an answer",
    ),
    "a reference of two words": ([line("new", "s1", [("So.", {"d 1": "2"})])], {}, "a reference is 'd 1'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_import_refuses_what_contradicts_and_changes_nothing(case, sea, load):
    contents, options, problem = REFUSED[case]
    with pytest.raises(CommandError) as refused:
        load(*contents, **options)
    assert problem in str(refused.value)
    assert str(refused.value).startswith("labels.jsonl:")
    assert not LabelledAnswer.objects.exists()
    assert sea.runs.count() == 2


def test_the_same_answer_in_two_files_is_refused(sea, folder):
    paths = [
        folder.write(f"{name}.jsonl", json.dumps(line(run_tag, "s1", ALPHA)))
        for name, run_tag in (("a", "alpha"), ("b", "alpha"))
    ]
    with pytest.raises(CommandError, match=r"b.jsonl:1.* here and in a.jsonl:1"):
        folder.load(
            "--support-labels", paths[0], "--support-labels", paths[1], "--by", "people", slug="autumn"
        )


def test_two_authors_may_come_in_one_import(sea, folder):
    paths = [folder.write(f"{name}.jsonl", json.dumps(line("beta", "s1", BETA))) for name in ("a", "b")]
    files = ("--support-labels", paths[0], "--support-labels", paths[1])
    folder.load(*files, "--by", "people", "--by", "b.*=opus", slug="autumn")
    assert [rater.name for rater in raters(sea)] == ["People", "opus"]
    assert LabelledAnswer.objects.count() == 2
    with pytest.raises(CommandError, match=r"--by people, opus: 1 files that have an author, expected"):
        folder.load(*files[:2], "--by", "people", "--by", "opus", slug="autumn")


def test_other_labels_of_an_author_are_taken_only_to_replace(sea, load, folder):
    load(line("beta", "s1", BETA))
    other = line("beta", "s1", [(SUN, {"d2": "2"})])
    with pytest.raises(CommandError, match=r"others than before \(labels\), expected the same"):
        load(other)
    with pytest.raises(CommandError, match=r"others than before \(after prediction of\)"):
        load(line("beta", "s1", BETA), after_prediction_of="m")
    path = folder.write("other.jsonl", json.dumps(other))
    folder.load("--support-labels", path, "--by", "people", "--replace", slug="autumn")
    assert LabelledAnswer.objects.get().labels == [[2]]


def test_an_unjudged_answer_counts_0_as_officially_or_is_left_out(sea, load):
    load(line("beta", "s1", [(SUN, {"d2": "-1"})]), line("beta", "s2", [(BREAD, {"d3": "2", "d9": "1"})]))
    assert rows_of(sea)["beta"].precision.value == 0.5
    assert rows_of(sea)["beta"].unjudged == 1
    found = rows_of(sea, unjudged_is_zero=False)["beta"]
    assert (found.precision.value, found.precision.topics) == (1, 1)


def test_labels_made_here_are_unknown_and_no_0_beside_imported_ones(sea, load, owner, cite):
    load(line("beta", "s1", BETA))
    assert not rows_of(sea)["alpha"].precision.is_defined
    actions.label_citation(cite("s1", MOON, "d1"), label=Support.FULL, by=owner)
    actions.label_citation(cite("s1", SUN, "d2"), label=Support.FULL, by=owner)
    found = rows_of(sea)
    assert (found["alpha"].precision.value, found["beta"].precision.value) == (1, 0)


def test_labels_of_an_answer_that_has_changed_do_not_count(sea, load):
    load(line("alpha", "s1", ALPHA))
    response = Response.objects.get(run__run_tag="alpha")
    response.sentences = response.sentences[:1]
    response.save()
    Collection.objects.filter(pk=sea.pk).update(stamp=1)
    with everything():
        found = board(sea, raters(sea)[0], Counting())
    assert (found.unfitting, found.judged) == (1, 0)


def test_agreement_is_of_equal_places(sea, load, cite):
    judge = SupportJudge.objects.create(collection=sea, backend="x", llm="m", prompt_id="P@1")
    for place, label in ((cite("s1", MOON, "d1"), 2), (cite("s1", SUN, "d2"), 1)):
        SupportLabel.objects.create(judge=judge, label=label, **place._asdict())
    load(line("alpha", "s1", ALPHA), by="opus")
    load(line("alpha", "s1", ALPHA), line("beta", "s1", BETA))
    load(line("beta", "s2", [(BREAD, {"d3": "2", "d9": "1"})]), after_prediction_of="opus")
    of_model, of_file = agreement(sea)
    assert of_model.from_scratch.counts == ((0, 1, 0), (0, 1, 0), (0, 0, 1))
    assert of_file.from_scratch.counts == ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    assert (str(of_file.judge), of_model.post_edited.pairs, of_file.post_edited.pairs) == ("opus", 0, 0)


def test_labels_after_a_prediction_pair_only_with_what_predicted(sea, load):
    load(line("beta", "s1", BETA), by="opus")
    load(line("beta", "s1", BETA), by="other")
    load(line("beta", "s1", BETA), after_prediction_of="opus")
    of_opus, of_other = agreement(sea)
    assert (of_opus.from_scratch.pairs, of_opus.post_edited.pairs) == (0, 1)
    assert (of_other.from_scratch.pairs, of_other.post_edited.pairs) == (0, 0)


def test_citations_that_several_runs_share_show_how_steady_people_are(sea, load, owner, client_of):
    load(line("alpha", "s1", ALPHA), line("beta", "s1", BETA))
    assert repeated(sea) == Repeated(citations=1, differing=1)
    page = " ".join(client_of(owner).get("/collections/autumn/support/").text.split())
    assert "of 1 citation that the answers of several runs share, sentence and document, 1 has" in page
    LabelledAnswer.objects.filter(response__run__run_tag="beta").update(labels=[[1]])
    assert repeated(sea) == Repeated(citations=1, differing=0)


def written(collection: Collection, place: int = 0) -> list[dict[str, Any]]:
    with everything():
        answers = labelled_answers(collection, raters(collection)[place])
        return [json.loads(answer_line(answer)) for answer in answers]


def test_what_was_imported_is_written_again_key_by_key(sea, load):
    contents = [
        line("citi.beta", "s1", BETA, narrative_id="s1", verified="yes"),
        line("alpha", "s1", ALPHA),
        line("gamma", "s9", [("", {"d1": "-1"})]),
        line("gamma", "s10", []),
    ]
    load(*contents)
    assert written(sea) == contents


def test_labels_made_here_are_written_at_every_equal_place(sea, owner, cite):
    actions.label_citation(cite("s1", SUN, "d2"), label=Support.PARTIAL, by=owner)
    assert written(sea) == [
        {
            "topic_id": query_id,
            "run_id": run_tag,
            "sentences": [
                {
                    "text": text,
                    "citations": [
                        {"reference": key, "support": "1" if (text, key) == (SUN, "d2") else "-1"}
                        for key in cited
                    ],
                }
                for text, cited in ANSWERS[run_tag, query_id]
            ],
        }
        for run_tag, query_id in (("alpha", "s1"), ("beta", "s1"))
    ]


def test_the_browser_asks_whose_labels_they_are_imports_and_undoes(sea, client_of, owner, settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"
    client, page = client_of(owner), "/collections/autumn/imports/"
    client.post(page, {"uploads": [], "pasted": json.dumps(line("gamma", "s1", ALPHA)) + "\n"})
    batch = worked(Import.objects.get())
    assert (batch.files.get().format, batch.files.get().read) == ("support-answers", "3 labels")
    assert "no author" in batch.problem
    file, options = batch.files.get(), {"bank_name": "main"}
    client.post(f"{page}{batch.pk}/files/{file.pk}/", {"deed": "author", "author": "people"})
    assert not worked(batch).problem
    client.post(f"{page}{batch.pk}/start/", options)
    assert worked(batch).is_imported
    assert rows_of(sea)["gamma"].precision.value == 0.75
    client.post(f"{page}{batch.pk}/undo/")
    assert not LabelledAnswer.objects.exists()
    assert not sea.runs.filter(run_tag="gamma").exists()


def test_the_page_has_imported_labels_where_it_has_ours(sea, load, owner, client_of):
    load(line("alpha", "s1", ALPHA), line("beta", "s1", [(SUN, {"d2": "-1"})]))
    page = client_of(owner).get("/collections/autumn/support/").text
    assert "People; the first citation of each sentence" in " ".join(page.split())
    assert "imported ones count 0, as officially" in page
    file = client_of(owner).get("/collections/autumn/exports/support/answers/")
    assert [json.loads(row) for row in b"".join(file.streaming_content).splitlines()] == written(sea)


def test_labels_of_ragdolls_judge_are_at_their_places(sea, folder):
    """A line that failed, or has no label, is a failed label, and no label of what nobody judged."""
    sample = Path(__file__).resolve().parents[3] / "fixtures" / "formats" / "support_judgments.jsonl"
    document = folder.load("--support-labels", sample, "--by", "gpt", slug="autumn")
    assert "support_judgments.jsonl: 1 labels failed: their judge gave none" in document["notes"]
    labels = {
        (row.response.run.run_tag, row.response.topic.query_id): row.labels
        for row in LabelledAnswer.objects.select_related("response__run", "response__topic")
    }
    assert labels == {("alpha", "s1"): [[2, 0], [-2], []], ("beta", "s1"): [[1]]}
    rater = next(rater for rater in raters(sea) if rater.name == "gpt")
    assert [answer.labels for answer in labelled_answers(sea, rater)] == [[[2, 0], [-1], []], [[1]]]
    assert not folder.load("--support-labels", sample, "--by", "gpt", slug="autumn")["changed"]


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ({"sentence_index": 3}, "sentence 3 of run alpha on topic s1 is judged, expected 0 to 2"),
        (
            {"citation_index": 2},
            "citation 2 of sentence 0 of run alpha on topic s1 is judged, expected fewer",
        ),
        ({"docid": "d9"}, "docid of sentence 0, citation 0 of run alpha on topic s1 is d9, expected d"),
        ({"docid": 7}, "docid of sentence 0, citation 0 of run alpha on topic s1 is 7, expected d"),
        ({"docid": []}, "metadata.docid is a list, expected an id"),
        ({"topic_id": "s2"}, "run alpha has no answer to topic s2 here"),
        ({"citation_index": -1}, "metadata.citation_index is -1, expected a whole number from 0"),
    ],
)
def test_judgments_of_places_that_are_not_there_are_refused(sea, folder, place, problem):
    ids = {"run_id": "alpha", "topic_id": "s1", "sentence_index": 0, "citation_index": 0} | place
    line_of = {"status": "completed", "support_label": "FS", "metadata": ids}
    with pytest.raises(CommandError, match=rf"a.jsonl:1: {problem}"):
        folder.load("--support-labels", folder.lines("a.jsonl", line_of), "--by", "gpt", slug="autumn")


def test_the_export_page_says_what_each_format_lacks(sea, load, owner, client_of):
    load(line("alpha", "s1", ALPHA))
    client, address = client_of(owner), "/collections/autumn/exports/support/"
    by_answer = client.get(address).context["export"]
    assert by_answer.losses == ["2 answers without a label of People"]
    page = client.get(address, {"file": "qrels", "rater": "people"})
    assert "the labels of 1 answers that came by file, each at its place in one run" in page.text
    file = client.get(html.unescape(page.context["file_address"]))
    assert page.context["export"].file_name in file["Content-Disposition"]
    assert client.get(address, {"file": "tar"}).status_code == 422


def test_the_command_writes_labels_or_scores_of_one_author(sea, load, tmp_path, capsys):
    load(line("alpha", "s1", ALPHA), line("beta", "s2", [(BREAD, {"d3": "1", "d9": "-1"})]))
    path = tmp_path / "out.jsonl"
    call_command("export_support", "autumn", "--by", "people", "--out", str(path))
    assert len(path.read_text().splitlines()) == 2
    assert (
        "2 answers labelled by People: 4 sentences, 5 citations, 1 of them without" in capsys.readouterr().err
    )
    scores = ["--format", "ir_measures", "--by", "people"]
    call_command("export_support", "autumn", *scores, "--citations", "all", "--skip-missing")
    rows = [row.split() for row in capsys.readouterr().out.splitlines()]
    means = {(run, name): float(value) for run, topic, name, value in rows if topic == "all"}
    assert means["alpha", "support_precision"] == 0.5
    assert means["beta", "support_precision"] == 0.5
    with pytest.raises(CommandError, match=r"no labels by nobody in autumn; there are people \(People\)"):
        call_command("export_support", "autumn", "--by", "nobody")
