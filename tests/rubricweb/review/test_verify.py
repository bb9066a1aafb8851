"""Checking a grader: the queue and its reasons, verdicts, undo, conflicts, and the estimates by hand."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from grading.types import MISSING, ItemKind, Purpose
from rubricweb.grades.configs import imported_config
from rubricweb.grades.human_matrices import RatingSource, ratings_by
from rubricweb.grades.human_models import Draw, HumanGrade
from rubricweb.grades.human_ratings import Cell, ShownRating, rate_cell, record_verdict
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import raters
from rubricweb.grades.store import save_grades
from rubricweb.review.verify import Population, Proportion, bank_cells, estimates
from tests.factories import grade
from tests.rubricweb.markup import markup

HTMX = {"HX-Request": "true"}


def address(autumn, **query):
    at = f"/collections/{autumn.collection.slug}/review/verify/{autumn.bank.pk}/"
    return at + ("?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else "")


def fields(context, **changes):
    card = context["card"]
    now, cell = card.now, card.cell
    return {
        "topic": now.topic_id,
        "passage": now.passage.pk,
        "item": now.item.pk,
        "revision": cell.item.revision_id,
        "shown_rating": now.rating,
        "seen": card.seen,
    } | changes


def names(context):
    candidates = [context["card"].now, *context["ahead"]]
    return [
        (candidate.passage.doc_id, candidate.item.revision.text[:5], candidate.rating)
        for candidate in candidates
    ]


@pytest.fixture
def worst(autumn):
    return address(autumn, order="worst")


def test_worst_first_with_reasons(autumn, assessor, client_of, worst):
    """Another grader disagrees on d3 and Q1; d4 and Q2 has an answer that is not there."""
    other = imported_config("gpt", "QuestionSelfRatedUnanswerablePromptWithChoices", Purpose.RATE)
    grade(other, autumn.items[0], autumn.passages["d3"], 0)
    Grade.objects.filter(passage=autumn.passages["d1"], revision=autumn.items[0].revision).delete()
    row = Grade(
        topic=autumn.topic, revision=autumn.items[0].revision, passage=autumn.passages["d1"], rating=5
    )
    row.outcome, row.answer, row.confidence = "numeric", "unanswerable", 0.3
    save_grades(autumn.config, [row])
    context = client_of(assessor).get(address(autumn, order="worst", grader=autumn.config.pk)).context
    assert names(context)[:3] == [("d1", "Which", 5), ("d3", "Which", 4), ("d4", "Chlor", 2)]
    assert context["card"].now.reasons == (
        "rated 5, but the extracted answer says that there is none",
        "the grader's confidence is 30 %",
    )
    assert context["ahead"][0].reasons == (f"rated 4, by {other} 0",)
    assert context["ahead"][1].reasons == ()


def test_passages_that_cover_at_least_so_many_items_are_checked(autumn, assessor, client_of):
    context = client_of(assessor).get(address(autumn, order="worst", covers=1)).context
    assert {doc_id for doc_id, *_ in names(context)} == {"d1", "d3"}
    assert client_of(assessor).get(address(autumn, order="worst", covers=2)).context["card"] is None


def test_the_passage_comes_before_the_verdict(autumn, assessor, client_of, worst):
    """On a phone one stands below the other, and people read before they say."""
    page = markup(client_of(assessor).get(worst))
    assert 0 < page.index('aria-label="Passage"') < page.index('class="verdict"')


def test_a_line_above_the_cell_asks_before_anything_is_saved(autumn, assessor, viewer, client_of, worst):
    """So that nothing moves when a verdict is."""
    asks = "Does the rating fit what the passage says?"
    assert asks in markup(client_of(assessor).get(worst))
    assert asks not in markup(client_of(viewer).get(worst))


def test_an_answer_off_the_passage_is_suspicious(autumn, assessor, client_of, worst):
    Grade.objects.filter(rating=4).update(answer="ripe APPLES  turn")
    Grade.objects.filter(rating=5).update(answer="cinnamon")
    context = client_of(assessor).get(worst).context
    assert context["card"].now.reasons == ("rated 5, but the extracted answer is not in the passage",)
    assert [
        candidate.reasons
        for candidate in context["ahead"]
        if candidate.passage.doc_id == "d3" and candidate.rating == 4
    ] == [()]


def test_right_wrong_and_on(autumn, assessor, client_of, worst):
    client = client_of(assessor)
    first = client.get(worst).context
    second = client.post(worst, fields(first, verdict="right"), headers=HTMX).context
    assert names(second)[0] == names(first)[1] == ("d3", "Which", 4)
    third = client.post(worst, fields(second, verdict="wrong"), headers=HTMX).context
    client.post(worst, fields(third, rating=0), headers=HTMX)
    events = list(HumanGrade.objects.order_by("pk").values_list("verdict", "rating", "seen_rating", "how"))
    assert events == [
        ("right", 5, 5, "verified"),
        ("wrong", None, 4, "verified"),
        ("wrong", 0, 2, "verified"),
    ]
    board = ratings_by(RatingSource.CORRECTED, autumn.config, pool(autumn))[autumn.topic.pk].matrix
    uid = autumn.items[0].revision.uid
    assert board.columns([uid]).ratings[:4, 0].tolist() == [5, 1, MISSING, 0]


def pool(autumn):
    from rubricweb.corpus.pools import collection_pool

    return collection_pool(autumn.collection)


def test_the_same_digit_is_right(autumn, assessor, client_of, worst):
    client = client_of(assessor)
    client.post(worst, fields(client.get(worst).context, rating=5), headers=HTMX)
    assert HumanGrade.objects.get().verdict == "right"


def test_undo_shows_the_cell_again(autumn, assessor, client_of, worst):
    client = client_of(assessor)
    first = client.get(worst).context
    client.post(worst, fields(first, verdict="right"), headers=HTMX)
    event = HumanGrade.objects.get()
    context = client.post(
        f"{address(autumn)}undo/?order=worst", {"rating_event": event.pk}, headers=HTMX
    ).context
    assert names(context)[0] == names(first)[0]
    assert [row.is_withdrawn for row in HumanGrade.objects.order_by("pk")] == [False, True]
    again = client.post(f"{address(autumn)}undo/", {"rating_event": event.pk}, headers=HTMX)
    assert again.status_code == 409


def test_refusals(autumn, assessor, viewer, outsider, owner, client_of, worst):
    client = client_of(assessor)
    first = client.get(worst).context
    sent = fields(first, verdict="right")
    cell = Cell.of(autumn.items[0], autumn.passages["d1"])
    rate_cell(cell, rating=1, by=assessor, seen=0)
    refused = client.post(worst, sent, headers=HTMX)
    assert refused.status_code == 409
    assert "In another window you said 1" in markup(refused)
    assert refused.context["card"].now.passage.doc_id == "d1"
    assert client.post(worst, sent | {"seen": 1, "shown_rating": 3}, headers=HTMX).status_code == 409
    assert client.post(worst, sent | {"seen": 1, "revision": 10**6}, headers=HTMX).status_code == 409
    assert client.post(worst, {**sent, "verdict": ""}, headers=HTMX).status_code == 422
    assert client_of(viewer).post(worst, sent).status_code == 403
    assert client_of(outsider).get(worst).status_code == 404
    assert client.get(f"/collections/elsewhere/review/verify/{autumn.bank.pk}/").status_code == 404
    assert HumanGrade.objects.count() == 1


def test_without_htmx_it_goes_back_to_the_queue(autumn, assessor, client_of, worst):
    client = client_of(assessor)
    response = client.post(worst, fields(client.get(worst).context, verdict="right"), follow=True)
    assert response.redirect_chain == [(worst, 302)]
    assert "Saved." in markup(response)


def test_the_random_order_is_fixed_and_goes_over_the_bank(autumn, assessor, client_of):
    client = client_of(assessor)
    at = address(autumn, order="random")
    first = names(client.get(at).context)
    assert sorted(first) != first
    assert all(candidate.is_random for candidate in client.get(at).context["ahead"])
    client.post(at, fields(client.get(at).context, verdict="right"), headers=HTMX)
    assert names(client.get(at).context)[:8] == first[1:]
    only = names(client.get(address(autumn, order="random", rating=0)).context)
    assert {rating for *_, rating in only} == {0}


def test_every_fourth_is_random(autumn, assessor, client_of):
    client = client_of(assessor)
    at = address(autumn)
    kinds = []
    for _ in range(6):
        context = client.get(at).context
        kinds.append(context["card"].now.is_random)
        client.post(at, fields(context, verdict="right"), headers=HTMX)
    assert kinds == [True, False, False, False, True, False]


def test_wilson_is_newcombes_example():
    """Newcombe 1998, table I: 81 of 263 gives 0.2553 to 0.3662; 15 of 148 gives 0.0624 to 0.1605."""
    for count, n, expected in [
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0, 0.1611)),
    ]:
        assert Proportion(count, n).interval == pytest.approx(expected, abs=5e-5)
    assert Proportion(0, 0).interval is None


def population(cells):
    """Rows of (graded, people, checked) in their random order."""
    graded, people, checked = (np.array(column) for column in zip(*cells, strict=True))
    return Population(
        graded.astype(np.int8), people.astype(np.int8), checked.astype(bool), np.zeros(len(cells), dtype=bool)
    )


def test_samples_end_at_the_first_gap():
    cells = population([(5, 5, 1), (0, 0, 1), (5, -1, 0), (4, 4, 1), (5, 3, 1)])
    assert cells.sample(cells.graded >= 0).tolist() == [0, 1]
    assert cells.sample(cells.graded == 5).tolist() == [0]
    assert cells.sample(cells.graded == 4).tolist() == [3]
    assert cells.sample(cells.graded == 3).tolist() == []


def test_estimates_by_hand(autumn, assessor):
    """All ratings are checked; the grader: 5 1 4 0, 0 0 0 0, and 0 and 2 of the nugget."""
    people = {("d1", 0): 5, ("d2", 0): 4, ("d3", 0): 1, ("d4", 0): 0}
    rater = raters(autumn.bank)[0]
    for (doc_id, item), rating in people.items():
        cell = Cell.of(autumn.items[item], autumn.passages[doc_id])
        rate_cell(cell, rating=rating, by=assessor, seen=0)
    rated = {("d1", 1): 0, ("d2", 1): 0, ("d3", 1): 0, ("d4", 1): 0, ("d1", 2): 0, ("d4", 2): 2}
    for (doc_id, item), rating in rated.items():
        cell = Cell.of(autumn.items[item], autumn.passages[doc_id])
        shown = ShownRating(autumn.config, rating)
        record_verdict(cell, verdict="right", by=assessor, seen=0, displayed=shown)
    estimated = estimates(bank_cells(autumn.bank, rater, assessor))
    assert (estimated.cells, estimated.checked, estimated.sampled) == (10, 10, 10)
    four = next(row for row in estimated.rows if row.rating == 4)
    # The grader covers d1 and d3 with question 1; people d1 and d2.
    assert (four.precision, four.recall) == (Proportion(1, 2), Proportion(1, 2))
    assert four.right == Proportion(0, 1)
    by_rating = {row.rating: (row.cells, row.right) for row in estimated.rows}
    assert by_rating[0] == (6, Proportion(6, 6))
    assert by_rating[2] == (1, Proportion(1, 1))
    assert by_rating[3] == (0, Proportion(0, 0))


def test_worst_first_alone_gives_no_estimate(autumn, assessor):
    """Only what is at the beginning of the random order counts."""
    rater = raters(autumn.bank)[0]
    cells = bank_cells(autumn.bank, rater, assessor).topics[0]
    rows, columns = np.nonzero(cells.graded >= 0)
    last = np.argsort(cells.keys[rows, columns])[-1]
    item = next(item for item in autumn.items if item.revision.uid == cells.columns[columns[last]].uid)
    doc_id = cells.pool.doc_ids[rows[last]]
    rate_cell(Cell.of(item, autumn.passages[doc_id]), rating=3, by=assessor, seen=0)
    estimated = estimates(bank_cells(autumn.bank, rater, assessor))
    assert (estimated.checked, estimated.sampled) == (1, 0)
    assert cells.columns[0].kind == ItemKind.QUESTION


@pytest.mark.parametrize(("design", "sampled", "elsewhere"), [("cells", 1, 0), ("cover", 0, 1)])
def test_cells_that_a_campaign_drew_from_all_are_in_the_sample(
    autumn, assessor, viewer, client_of, design, sampled, elsewhere
):
    revisions = [item.revision_id for item in autumn.bank.items.all()]
    draw = Draw.objects.create(collection=autumn.collection, design=design, revisions=revisions)
    rater = raters(autumn.bank)[0]
    cells = bank_cells(autumn.bank, rater, assessor).topics[0]
    rows, columns = np.nonzero(cells.graded >= 0)
    last = np.argsort(cells.keys[rows, columns])[-1]
    item = next(item for item in autumn.items if item.revision.uid == cells.columns[columns[last]].uid)
    passage = autumn.passages[cells.pool.doc_ids[rows[last]]]
    rate_cell(Cell.of(item, passage), rating=3, by=assessor, seen=0, draw=draw.pk)
    estimated = estimates(bank_cells(autumn.bank, rater, assessor))
    assert (estimated.sampled, estimated.drawn, estimated.elsewhere) == (sampled, sampled, elsewhere)
    html = markup(client_of(viewer).get(f"{address(autumn)}estimates/", follow=True))
    assert ("1 checked pair of other campaigns" in html) == bool(elsewhere)
    assert "too few: " in html


def test_wrong_without_a_rating_is_on_the_other_side():
    cells = population([(5, -1, 1), (1, -1, 1), (5, 5, 1)])
    assert cells.reaches(4).tolist() == [False, True, True]


def test_estimates_stand_on_verify(autumn, viewer, client_of):
    html = markup(client_of(viewer).get(f"{address(autumn)}estimates/", follow=True))
    assert "No random sample yet" in html


def test_more_pairs_take_no_more_queries(autumn, assessor, client_of):
    """The page holds the first four, and names eight more."""
    client, counts = client_of(assessor), []
    for rating in (5, ""):
        client.get(address(autumn, rating=rating))
        with CaptureQueriesContext(connection) as queries:
            context = client.get(address(autumn, rating=rating)).context
        counts.append((len(context["held"]), len(queries)))
    (few, of_few), (many, of_many) = counts
    assert (few, many) == (0, 3)
    assert of_few == of_many <= 24
