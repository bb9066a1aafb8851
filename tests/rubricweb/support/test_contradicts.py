"""The fourth label: given by people, by a model and by files, on the board, and in files; off unless chosen.

People say of the sea's citations: d1 says the opposite of MOON, d2 supports SUN in part, d3 says the opposite
of BREAD.
"""

import json

import pytest
from django.test import Client
from django.urls import reverse

from grading import support
from grading.formats.support_labels import read_labelled_answers
from grading.support import STANCE_PROMPT_ID, JudgedCitations, Support, SupportRule
from rubricweb.exports.support import (
    SupportExport,
    answer_line,
    board_table,
    labelled_answers,
    qrels_lines,
    score_rows,
)
from rubricweb.jobs.limits import Limits
from rubricweb.leaderboards.board.files import PER_TOPIC
from rubricweb.support import actions, labelling
from rubricweb.support.agreement import agreement
from rubricweb.support.board import Counting, UnknownColumn, board, column_names, find, score_column
from rubricweb.support.estimates import estimates
from rubricweb.support.labels import PEOPLE, SupportRater, raters
from rubricweb.support.models import SupportEvent, SupportJudge, SupportLabel, SupportSettings
from tests.rubricweb.support.conftest import BREAD, MOON, SUN
from tests.rubricweb.support.test_asking import work
from tests.rubricweb.support.test_estimates import SENTENCES, TOPICS, label as label_all, many
from tests.rubricweb.support.test_imported_labels import folder, line, load
from tests.rubricweb.support.test_pages import BACK, BOARD, HTMX, LABEL, decide, text_of

__all__ = ["folder", "load", "many"]
FIRST = Counting(SupportRule.FIRST)
BY_PEOPLE = SupportRater(PEOPLE, "People")
SAID = {(MOON, "s1", "d1"): Support.CONTRADICTS, (SUN, "s1", "d2"): Support.PARTIAL}
SAID |= {(BREAD, "s2", "d3"): Support.CONTRADICTS}


def switch(collection, by, *, on: bool = True) -> None:
    rule = JudgedCitations.FIRST
    actions.choose(collection, citations=rule, sample=None, shown_judge=None, contradicts=on, by=by)


@pytest.fixture
def labelled(sea, owner, assessor, cite):
    switch(sea, owner)
    for (text, query_id, doc_id), label in SAID.items():
        actions.label_citation(cite(query_id, text, doc_id), label=label, by=assessor)
    return sea


def rows_of(collection, counting=FIRST):
    return {row.run_tag: row for row in board(collection, BY_PEOPLE, counting).rows}


def test_the_share_of_contradicted_citations_as_worked_by_hand(labelled):
    """alpha: 1 of the 2 first citations of s1, and it leaves s2 out; beta: 0 of 1 on s1, 1 of 1 on s2."""
    found = rows_of(labelled)
    assert (found["alpha"].contradicted.value, found["alpha"].contradicted.topics) == (0.5, 1)
    assert (found["beta"].contradicted.value, found["beta"].contradicted.topics) == (0.5, 2)
    # What contradicts is no support: alpha (0 + 0.5) / 2 and 0 on s2, beta 0.5 and 0.
    assert (found["alpha"].precision.value, found["alpha"].recall.value) == (0.125, pytest.approx(1 / 12))
    assert found["beta"].precision.value == 0.25


def test_every_rule_has_the_share_of_the_citations_it_looks_at(labelled, assessor, cite):
    """With a third label of alpha, none: 1 of 3 citations, and 1 of its 2 first ones."""
    actions.label_citation(cite("s1", MOON, "d2"), label=Support.NONE, by=assessor)
    shares = [rows_of(labelled, Counting(rule))["alpha"].contradicted.value for rule in SupportRule]
    assert shares == [0.5, pytest.approx(1 / 3), 0.5, pytest.approx(1 / 3)]


def test_it_is_a_column_of_a_leaderboard_of_which_less_is_better(labelled):
    runs, topics = (list(rows.values_list("pk", flat=True)) for rows in (labelled.runs, labelled.topics))
    column = find(labelled, "support-people", "contradicted")
    (alpha, beta) = score_column(labelled, column, runs, topics).tolist()
    assert (alpha[0], str(alpha[1]), beta) == (0.5, "nan", [0.0, 1.0])
    assert column.less_is_better
    assert column.label == "Contradicted citations by people (less is better)"
    assert column.denominator == "contradicted / labelled citations"
    names = column_names(BY_PEOPLE, SupportRule.ALL, board(labelled, BY_PEOPLE, FIRST).names)
    assert names == "support-people/precision_all,support-people/recall_all,support-people/contradicted_all"


def test_the_queue_has_a_fourth_button_where_organizers_chose_so(sea, owner, assessor, client_of):
    client, organizer = client_of(assessor), client_of(owner)
    place, second, _ = labelling.to_label(sea)
    assert "Contradicts" not in text_of(client.get(LABEL))
    assert decide(client, place, Support.CONTRADICTS).status_code == 404
    organizer.post(f"{BOARD}labelling/", {"citations": "first", "contradicts": "on"})
    assert SupportSettings.objects.get().contradicts

    page = client.get(LABEL)
    assert "Contradicts - says the opposite" in text_of(page)
    assert 'data-key-action="rate--5"' in page.text
    assert decide(client, place, Support.CONTRADICTS, **HTMX).status_code == 200
    back = client.post(BACK, **HTMX).text
    assert place.sentence_md5 in back
    decide(client, place, Support.CONTRADICTS)
    decide(client, second, Support.NONE)
    assert [event.label for event in SupportEvent.objects.order_by("pk")] == [-5, None, -5, 0]
    assert "Contradicted 95 %" in text_of(organizer.get(BOARD))


def test_people_and_a_model_meet_in_four_labels(labelled, owner, client_of, cite):
    judge = SupportJudge.objects.create(collection=labelled, backend="x", llm="m", prompt_id="P@1")
    for (text, query_id, doc_id), label in zip(SAID, (0, 1, -5), strict=True):
        place = cite(query_id, text, doc_id)
        SupportLabel.objects.create(judge=judge, label=label, **place._asdict())
    condition = agreement(labelled)[0].from_scratch
    assert condition.confusion == [
        ("full", (0, 0, 0, 0)),
        ("partial", (0, 1, 0, 0)),
        ("none", (0, 0, 0, 0)),
        ("contradicts", (0, 0, 1, 1)),
    ]
    assert condition.exact == pytest.approx(2 / 3)
    assert "Model: full partial none contradicts" in text_of(client_of(owner).get(BOARD))


def test_estimates_of_the_share_lead_to_the_board_that_all_labels_give(many, owner, assessor):
    """Labels of none become contradictions; the last citation is labelled after the estimate."""
    order = labelling.to_label(many)
    label_all(many, assessor, order[:-1])
    assert not estimates(many, BY_PEOPLE, FIRST).has_contradicted
    SupportEvent.objects.filter(label=0).update(label=Support.CONTRADICTS)
    found = estimates(many, BY_PEOPLE, FIRST)
    label_all(many, assessor, order[-1:])
    true = {row.run_id: row.contradicted for row in board(many, BY_PEOPLE, FIRST).rows}
    assert len(found.rows) == 3
    for row in found.rows:
        assert row.contradicted.value == pytest.approx(true[row.run_id].value, abs=1 / TOPICS / SENTENCES)
        assert row.contradicted.low < row.contradicted.value < row.contradicted.high
        assert row.contradicted.topics == true[row.run_id].topics


@pytest.mark.parametrize("llm_says", ["contradicts", "Label: **contradiction**", '{"label": "contradicts"}'])
def test_a_model_may_say_so_where_it_is_asked_for(sea, owner, monkeypatch, llm_says):
    seen = []

    class Model:
        def complete(self, messages):
            seen.append(messages[-1][1])
            return llm_says if "The moon" in seen[-1] else "It does not contradict."

    monkeypatch.setattr("rubricweb.jobs.limits.text_model", lambda *_, **__: Model())
    asking = actions.Asking("openai_compatible", "m", JudgedCitations.FIRST, may_contradict=True)
    job = work(actions.start(sea, asking, limits=Limits(99, None), by=owner))
    assert job.judge.prompt_id == STANCE_PROMPT_ID
    assert "- contradicts:" in seen[0]
    labels = list(SupportLabel.objects.order_by("pk").values_list("label", flat=True))
    assert sorted(labels, key=str) == [-5, None, None]
    work(actions.retry_failed(job, limits=Limits(99, None), by=owner))
    assert "one of these four labels" in seen[-1]
    assert raters(sea)[0].judge == job.judge
    assert board(sea, raters(sea)[0], FIRST).has_contradicted


REPLIES = {
    "contradicts": Support.CONTRADICTS,
    "no_support": Support.NONE,
    "The passage does not support the statement.": Support.NONE,
    "no contradiction": None,
    "not contradicted": None,
    "It does not contradict the statement.": None,
    "no_support, contradicts": None,
    "It does not support the statement: it contradicts it. Label: contradicts": Support.CONTRADICTS,
    "The passage contradicts the statement. Label: no_support": Support.NONE,
}


@pytest.mark.parametrize("reply", REPLIES)
def test_no_support_is_no_contradiction_nor_the_other_way_round(reply):
    assert support.label_of(reply, support.support_prompt(STANCE_PROMPT_ID)) is REPLIES[reply]


def test_the_published_prompt_has_three_labels():
    assert support.label_of("contradicts", support.support_prompt()) is None
    assert set(dict(support.support_prompt().labels).values()) == {0, 1, 2}


CITED = [(MOON, {"d1": "contradicts", "d2": "0"}), (SUN, {"d2": "1"})]


def test_a_file_may_have_the_word_and_is_written_as_it_was_read(sea, load, tmp_path, owner):
    alpha = line("alpha", "s1", [*CITED, ("Nobody knows more.", {})])
    load(alpha)
    people = raters(sea)[0]
    assert people.is_imported
    assert json.loads(*map(answer_line, labelled_answers(sea, people))) == alpha
    assert not any("contradicts" in lost for lost in SupportExport(sea, people, "answers").losses)
    assert rows_of_imported(sea)["alpha"].contradicted.value == 0.5
    assert find(sea, "support", "contradicted").rater == people


def rows_of_imported(collection):
    return {row.run_tag: row for row in board(collection, raters(collection)[0], FIRST).rows}


def test_files_of_tracks_have_none_instead_and_the_loss_is_listed(labelled, tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(f"{answer_line(one)}\n" for one in labelled_answers(labelled, BY_PEOPLE)))
    assert [one.labels for one in read_labelled_answers(path)] == [[[0, -1], [1], []], [[1]], [[0, -1]]]
    lost = [SupportExport(labelled, BY_PEOPLE, file).losses for file in ("answers", "qrels", "jsonl")]
    assert "that the passage contradicts the sentence in 2 citations: they are 0, as NIST has them" in lost[0]
    assert "that the passage contradicts the sentence in 2 citations: they are 0, as no support" in lost[1]
    assert not any("contradicts" in each for each in lost[2])
    assert {one.split("\t")[3] for one in qrels_lines(labelled, BY_PEOPLE)} == {"0", "1"}


def test_labels_made_here_come_back_by_event(labelled, owner, client_of, folder):
    file = client_of(owner).get(reverse("exports:support", args=["autumn", "jsonl"])).getvalue().decode()
    assert file.count('"label":-5') == 2
    SupportEvent.objects.all().delete()
    folder.load("--support-labels", folder.write("labels.jsonl", file), slug="autumn")
    assert sorted(SupportEvent.objects.values_list("label", flat=True)) == [-5, -5, 1]


@pytest.fixture
def plain(sea, assessor, cite) -> SupportRater:
    for place, label in ((cite("s1", MOON, "d1"), Support.NONE), (cite("s1", SUN, "d2"), Support.PARTIAL)):
        actions.label_citation(place, label=label, by=assessor)
    return BY_PEOPLE


ENDS = ("low", "high", "rank_best", "rank_worst")
PLAIN_BOARD = [
    "run_tag",
    *(column for name in ("precision", "recall") for column in (name, *(f"{name}_{end}" for end in ENDS))),
    *("labelled", "missing"),
]
PLAIN_SCORES = """\
beta s1 support_precision 0.5
beta s1 support_recall 0.5
beta all support_precision 0.5
beta all support_recall 0.5
alpha s1 support_precision 0.25
alpha s1 support_recall 0.16666666666666666
alpha all support_precision 0.25
alpha all support_recall 0.16666666666666666
"""


def test_nothing_changes_while_the_label_is_off(sea, plain, owner, client_of):
    scores = "".join(
        f"{row.run_tag} {row.query_id} {row.measure} {row.value!r}\n" for row in score_rows(sea, plain, FIRST)
    )
    assert scores == PLAIN_SCORES
    assert list(board_table(sea, plain, FIRST).columns) == PLAIN_BOARD
    assert "Contradicted" not in text_of(client_of(owner).get(BOARD))
    with pytest.raises(UnknownColumn, match="People cannot have said"):
        find(sea, "support", "contradicted")
    before = "".join(PER_TOPIC["ir_measures"](score_rows(sea, plain, FIRST)))
    switch(sea, owner)
    after = [row for row in score_rows(sea, plain, FIRST) if row.measure != "support_contradicted"]
    assert "".join(PER_TOPIC["ir_measures"](after)) == before


def test_a_script_is_told_which_labels_there_are(sea, owner, assessor, cite, client_of: type[Client]):
    place = cite("s1", MOON, "d1")
    body = {"topic": "s1", "sentence_md5": place.sentence_md5, "doc_id": "d1", "label": -5}
    client, address = client_of(assessor), "/api/v1/collections/autumn/support/labels/"
    refused = client.post(address, body, content_type="application/json")
    assert (refused.status_code, "-5, expected 2, 1, 0" in refused.content.decode()) == (400, True)
    switch(sea, owner)
    assert client.post(address, body, content_type="application/json").json()["label"] == -5


def test_a_script_sees_the_label_that_people_see_first(sea, owner, assessor, cite, client_of):
    judge = SupportJudge.objects.create(collection=sea, backend="x", llm="m", prompt_id=STANCE_PROMPT_ID)
    SupportLabel.objects.create(judge=judge, label=Support.CONTRADICTS, **cite("s1", MOON, "d1")._asdict())
    actions.choose(sea, citations=JudgedCitations.FIRST, sample=None, shown_judge=judge, by=owner)
    cards = client_of(assessor).get("/api/v1/collections/autumn/support/next/").json()
    shown = {card["sentence"]: (card["shown_judge"], card["shown_label"]) for card in cards}
    assert shown == {MOON: (judge.pk, -5), SUN: (None, None), BREAD: (None, None)}
