"""Scores by people, estimated from the citations that they labelled in the order in which they are asked."""

import numpy as np
import pytest

from grading.support import JudgedCitations, Support, SupportRule
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection
from rubricweb.support import actions, labelling
from rubricweb.support.board import Counting, board
from rubricweb.support.estimates import estimates
from rubricweb.support.labels import PEOPLE, CitationKey, SupportRater, raters
from rubricweb.support.models import SupportEvent, SupportJudge, SupportLabel
from tests.factories import PassageFactory, RunFactory, TopicFactory
from tests.rubricweb.support.conftest import answered

ASKED_ALL, ASKED_FIRST = JudgedCitations.ALL, JudgedCitations.FIRST
FIRST, ALL, POOLED = (Counting(rule) for rule in (SupportRule.FIRST, SupportRule.ALL, SupportRule.POOLED))
BY_PEOPLE = SupportRater(PEOPLE, "People")
TOPICS, SENTENCES = 8, 9


@pytest.fixture
def many(collection: Collection) -> Collection:
    """Three runs: 0 repeats a sentence, and cites what has no text; 1 leaves a topic out, and cites nothing
    in another; 2 has a topic of which nothing can be labelled.
    """
    runs = [RunFactory(collection=collection, run_tag=f"run{number}") for number in range(3)]
    for number in range(4):
        PassageFactory(collection=collection, doc_id=f"d{number}", text=f"Text {number}.")
    for number in range(TOPICS):
        topic = TopicFactory(collection=collection, query_id=f"q{number}", text=f"Question {number}?")
        said = [
            [(f"Run {run} says {number} {place}.", [f"d{place % 4}"]) for place in range(SENTENCES)]
            for run in range(3)
        ]
        said[0] += [("No text.", ["d9"]), said[0][0], ("Nothing cited.", [])]
        if number == 0:
            said[1], said[2] = [("Nothing cited.", [])], [("No text.", ["d9"])]
        for run, sentences in zip(runs, said, strict=True):
            if (run, number) != (runs[1], 1):
                answered(run, topic, sentences)
    return collection


def label(collection: Collection, person, citations: list[CitationKey]) -> None:
    """As somebody would whose labels hang on the sentence and the document."""
    labels = [int(one.sentence_md5[:6] + str(len(one.doc_id)), 16) % 3 for one in citations]
    SupportEvent.objects.bulk_create(
        SupportEvent(by=person, label=said, **one._asdict())
        for one, said in zip(citations, labels, strict=True)
    )


def test_the_next_label_counts_in_what_is_kept(many, assessor):
    order = labelling.to_label(many)
    label(many, assessor, order[:40])
    first, scored = estimates(many, BY_PEOPLE, FIRST), board(many, BY_PEOPLE, FIRST)
    assert board(many, BY_PEOPLE, FIRST) is scored
    label(many, assessor, order[40:41])
    assert estimates(many, BY_PEOPLE, FIRST).labelled == first.labelled + 1
    assert board(many, BY_PEOPLE, FIRST).judged > scored.judged


def test_estimates_lead_to_the_board_that_all_labels_give(many, assessor):
    order = labelling.to_label(many)
    label(many, assessor, order[:-1])
    found = estimates(many, BY_PEOPLE, FIRST)
    label(many, assessor, order[-1:])
    assert estimates(many, BY_PEOPLE, FIRST) is None
    true = {row.run_id: row for row in board(many, BY_PEOPLE, FIRST).rows}
    assert len(found.rows) == 3
    for row in found.rows:
        for name in ("precision", "recall"):
            mean, of_all = getattr(row, name), getattr(true[row.run_id], name)
            assert mean.value == pytest.approx(of_all.value, abs=1 / TOPICS / SENTENCES)
            assert mean.low < mean.value < mean.high
            assert mean.topics == of_all.topics


def test_intervals_hold_what_all_labels_give_and_a_model_makes_them_narrow(many, assessor):
    order = labelling.to_label(many)
    label(many, assessor, order)
    true = {row.run_id: row.precision.value for row in board(many, BY_PEOPLE, FIRST).rows}
    judge = SupportJudge.objects.create(collection=many, backend="x", llm="m", prompt_id="P@1")
    for number, event in enumerate(SupportEvent.objects.all()):
        said = event.label if number % 5 else None
        SupportLabel.objects.create(
            judge=judge, topic=event.topic, sentence_md5=event.sentence_md5, doc_id=event.doc_id, label=said
        )
    SupportEvent.objects.filter(sentence_md5=order[110].sentence_md5).delete()

    of_people, of_model = (estimates(many, rater, FIRST) for rater in (BY_PEOPLE, raters(many)[0]))
    assert of_model.judge == judge
    assert of_model.labelled == of_people.labelled <= 110 < len(order)
    for row in of_model.rows:
        assert row.precision.low <= true[row.run_id] <= row.precision.high
    widths = [
        np.mean([row.precision.high - row.precision.low for row in each.rows])
        for each in (of_people, of_model)
    ]
    assert widths[1] < 0.8 * widths[0]


def test_labels_after_a_gap_are_no_sample(many, assessor):
    order = labelling.to_label(many)
    label(many, assessor, [*order[:3], *order[4:]])
    assert estimates(many, BY_PEOPLE, FIRST).labelled == 3
    assert estimates(many, BY_PEOPLE, FIRST).rows == ()


def test_people_are_asked_for_a_sample_over_all_topics(many, owner, assessor):
    actions.choose(many, citations=ASKED_FIRST, sample=40, shown_judge=None, by=owner)
    order = labelling.to_label(many)
    assert len(order) == 40
    assert len({one.topic_id for one in order}) >= TOPICS - 1
    assert [one.topic_id for one in order] != sorted(one.topic_id for one in order)
    label(many, assessor, order)
    found = estimates(many, BY_PEOPLE, FIRST)
    assert (found.labelled, found.needed, found.is_open) == (40, 40, False)
    assert labelling.progress(many, assessor).left == 0


def test_new_runs_leave_gaps_that_people_are_asked_to_fill_first(many, assessor):
    label(many, assessor, labelling.to_label(many)[:60])
    run = RunFactory(collection=many, run_tag="late")
    for topic in many.topics.all():
        answered(run, topic, [(f"Late {topic.query_id} {place}.", ["d1"]) for place in range(SENTENCES)])
    Collection.objects.update(stamp=new_stamp())
    order = labelling.to_label(many)
    gaps = [one for one in order[:60] if one not in labelling.mine(many, assessor)]
    assert gaps
    assert labelling.next_cards(many, assessor)[0].citation == gaps[0]
    label(many, assessor, gaps)
    assert estimates(many, BY_PEOPLE, FIRST).labelled >= 60


@pytest.mark.parametrize(
    ("asked", "judged", "has_recall"),
    [
        (ASKED_FIRST, FIRST, True),
        (ASKED_ALL, FIRST, True),
        (ASKED_ALL, ALL, True),
        (ASKED_ALL, POOLED, False),
    ],
)
def test_recall_of_the_best_citation_is_no_sum(many, owner, assessor, asked, judged, has_recall):
    actions.choose(many, citations=asked, sample=None, shown_judge=None, by=owner)
    label(many, assessor, labelling.to_label(many)[:100])
    assert estimates(many, BY_PEOPLE, judged).has_recall == has_recall


def test_no_estimate_where_people_are_asked_about_fewer_citations(many, assessor):
    label(many, assessor, labelling.to_label(many)[:100])
    assert estimates(many, BY_PEOPLE, ALL) is None


def test_what_was_asked_may_still_be_labelled_after_organizers_chose_a_sample(
    many, owner, assessor, client_of
):
    last = labelling.to_label(many)[-1]
    actions.choose(many, citations=ASKED_FIRST, sample=5, shown_judge=None, by=owner)
    sent = {"topic": last.topic_id, "sentence": last.sentence_md5, "doc": last.doc_id, "label": Support.FULL}
    answer = client_of(assessor).post("/collections/autumn/support/label/", {**sent, "uid": "1" * 32})
    assert answer.status_code == 302
    assert labelling.mine(many, assessor)[last].label == Support.FULL


def test_page_says_what_a_sample_costs_and_what_it_gives(many, owner, assessor, client_of):
    client = client_of(owner)
    page = " ".join(client.get("/collections/autumn/support/").content.decode().split())
    assert f"People have labelled 0 of {len(labelling.to_label(many))} citations" in page
    assert "estimate the precision of most runs to within 0." in page
    assert "from 20 of its citations on" in page
    chosen = {"citations": "first", "sample": "150", "shown_judge": ""}
    assert client.post("/collections/autumn/support/labelling/", chosen).status_code == 302
    label(many, assessor, labelling.to_label(many)[:149])
    page = " ".join(client.get("/collections/autumn/support/").content.decode().split())
    assert "Intervals hold once the 150 that are asked for are labelled" in page
    assert page.count("/compare/?") >= 6
