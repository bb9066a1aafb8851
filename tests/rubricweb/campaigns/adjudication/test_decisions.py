"""Conflicts, decisions, what they overrule, and what becomes of them."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.urls import reverse

from grading.types import Purpose
from rubricweb.campaigns.adjudication.actions import accept_unanimous, decide, withdraw
from rubricweb.campaigns.adjudication.decisions import ratings_by_person
from rubricweb.campaigns.adjudication.models import Decision
from rubricweb.campaigns.adjudication.selectors import Query, inbox, overruled
from rubricweb.campaigns.agreement.latest_ratings import CellKey
from rubricweb.campaigns.errors import DecidedMeanwhile, NotYourDecision
from rubricweb.campaigns.queue.actions import rate
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.configs import imported_config
from rubricweb.grades.humans import Cell, human_matrices, rate_cell
from rubricweb.grades.models import HumanGrade
from tests.factories import take
from tests.rubricweb.markup import markup
from tests.rubricweb.toasts import HTMX, press_undo

pytestmark = pytest.mark.django_db
RATED = {1: (5, 1), 2: (4, 3), 3: (3, 2), 4: (2, 2)}
"""By cell, in the order of the queue: what the two assessors say."""


@pytest.fixture
def campaign(campaign_of, assessor, second):
    campaign = campaign_of(assessors=2, size=4)
    for place, person in enumerate((assessor, second)):
        while held := take(campaign, person, count=1):
            turn = held[0]
            note = f"note of {person.username}" if turn.order == 1 else ""
            said = {"rating": RATED[turn.order][place], "by": person, "seen": 0, "comment": note}
            rate(turn.cell, uid=uuid4(), **said)
    return campaign


@pytest.fixture
def place(campaign) -> CellKey:
    """The cell that the two rated 5 and 1."""
    return place_of(campaign, 1)


def place_of(campaign, order: int) -> CellKey:
    cell = campaign.cells.get(order=order)
    return CellKey(cell.topic_id, cell.revision_id, cell.passage_id)


def decided_rating(collection, place: CellKey) -> int:
    """What boards by people take the cell for."""
    pool = collection_pool(collection)
    grades = human_matrices(pool)[place.topic]
    uid = HumanGrade.objects.filter(revision=place.revision).first().revision.uid
    row = pool.by_topic[place.topic].passage_pks.index(place.passage)
    return int(grades.matrix.columns((uid,)).ratings[row, 0])


@pytest.mark.parametrize(
    ("query", "orders"),
    [
        (Query(), {1, 2}),
        (Query(distance=0), {1, 2, 3}),
        (Query(distance=4), {1, 2}),
        (Query(distance=3, min_grade=3), {1, 3}),
        (Query(is_decided=True), set()),
    ],
)
def test_what_is_a_conflict(campaign, collection, developer, query, orders):
    page = inbox(collection, query, developer)
    assert {row.place for row in page.rows} == {place_of(campaign, order) for order in orders}
    assert page.unanimous == 1


def test_a_decision_counts_for_boards(campaign, collection, developer, place):
    assert decided_rating(collection, place) == 1  # the lower median until then
    decision = decide(place, rating=4, by=developer, seen=0, reason="Line 2 says so.")
    assert decided_rating(collection, place) == 4
    assert decision.grade.how == HumanGrade.How.ADJUDICATED
    assert sorted(decision.between.values_list("rating", flat=True)) == [1, 5]
    page = inbox(collection, Query(), developer)
    assert (page.open, page.decided) == (1, 1)
    assert inbox(collection, Query(is_decided=True), developer).rows[0].decision == decision


def test_a_decision_sent_twice_is_saved_once(developer, place):
    uid = uuid4()
    first = decide(place, rating=4, by=developer, seen=0, uid=uid)
    assert decide(place, rating=4, by=developer, seen=0, uid=uid) == first
    assert Decision.objects.count() == 1


def test_of_two_adjudicators_the_second_is_told(developer, owner, collection, place):
    theirs = decide(place, rating=4, by=developer, seen=0)
    with pytest.raises(DecidedMeanwhile) as refused:
        decide(place, rating=2, by=owner, seen=0)
    assert refused.value.now == theirs
    assert HumanGrade.objects.filter(how=HumanGrade.How.ADJUDICATED).count() == 1
    decide(place, rating=2, by=owner, seen=1)
    assert decided_rating(collection, place) == 2


def test_withdrawing_goes_back_to_what_held_before(developer, owner, collection, place):
    decide(place, rating=4, by=developer, seen=0)
    second = decide(place, rating=2, by=owner, seen=1)
    with pytest.raises(NotYourDecision):
        withdraw(second, by=developer)
    for _ in range(2):
        withdraw(second, by=owner)
    assert decided_rating(collection, place) == 4
    withdraw(Decision.objects.get(number=1), by=developer)
    assert decided_rating(collection, place) == 1
    assert inbox(collection, Query(), developer).open == 2


def test_an_adjudicator_who_had_rated_keeps_their_own_rating(developer, collection, place):
    rate_cell(Cell(*place), rating=3, by=developer, seen=0)
    decision = decide(place, rating=5, by=developer, seen=0)
    assert ratings_by_person(place)[developer.pk] == 3
    withdraw(decision, by=developer)
    assert ratings_by_person(place)[developer.pk] == 3
    assert decided_rating(collection, place) == 3


def test_unanimous_cells_are_accepted_together(campaign, collection, developer):
    assert accept_unanimous(collection, by=developer) == 1
    assert Decision.objects.get().rating == 2
    assert accept_unanimous(collection, by=developer) == 0


def test_the_feed_of_overruled_ratings(developer, assessor, second, collection, place):
    decision = decide(place, rating=5, by=developer, seen=0, reason="See the last line.")
    assert overruled(collection, assessor) == []
    (row,) = overruled(collection, second)
    assert (row.mine, row.decision.reason, row.now) == (1, "See the last line.", 1)
    rate_cell(Cell(*place), rating=5, by=second, seen=1)
    assert overruled(collection, second)[0].now == 5
    withdraw(decision, by=developer)
    assert overruled(collection, second) == []


def test_who_still_rates_a_cell_does_not_adjudicate_it(campaign_of, campaign, developer, collection):
    campaign_of(people=[developer])
    assert inbox(collection, Query(), developer).rows == ()


class TestPages:
    @pytest.fixture
    def at(self, collection):
        def address(name: str, *more: object) -> str:
            return reverse(f"campaigns:{name}", args=[collection.slug, *more])

        return address

    def test_roles(self, at, place, client_of, assessor, viewer, outsider, developer):
        pages = (at("adjudication"), at("case", place.revision, place.passage))
        for person, status in ((assessor, 403), (viewer, 403), (outsider, 404), (developer, 200)):
            for page in pages:
                assert client_of(person).get(page).status_code == status
        for person, status in ((viewer, 403), (outsider, 404), (assessor, 200)):
            assert client_of(person).get(at("overruled")).status_code == status
        assert client_of(assessor).post(pages[1], {"rating": 1}).status_code == 403
        assert client_of(assessor).post(at("accept-unanimous")).status_code == 403

    def test_a_case_shows_everything_under_pseudonyms(self, at, place, client_of, developer, assessor):
        client, address = client_of(developer), at("case", place.revision, place.passage)
        html = markup(client.get(address))
        assert "note of assessor" in html
        assert html.count("assessor-") == 2
        assert "grader lexical" in html
        assert f"> {assessor}" in markup(client.get(f"{address}?names=1"))

    def test_decisions_are_of_the_scale_that_the_assessors_rated_by(self, at, campaign, client_of, developer):
        config = imported_config("flan", "NuggetAssignment", Purpose.RATE)  # 0 to 2
        campaign.cells.update(config=config)
        client, alike = client_of(developer), place_of(campaign, 4)
        address = at("case", alike.revision, alike.passage)
        page = markup(client.get(address))
        assert 'aria-label="Decide 1, partial support"' in page
        assert "Decide 3" not in page
        assert client.post(address, {"rating": 3, "seen": 0, "uid": uuid4()}).status_code == 400
        apart = place_of(campaign, 1)  # rated 5 and 1, off that scale
        assert "Decide 5, fully" in markup(client.get(at("case", apart.revision, apart.passage)))

    @pytest.mark.usefixtures("place")
    def test_the_list_is_filtered_by_chips_which_stay_in_the_addresses(self, at, client_of, developer):
        page = markup(client_of(developer).get(f"{at('adjudication')}?distance=0&state=decided&page=2"))
        assert '<a class="chip-off" href="?distance=0">' in page
        assert '<a class="chip-off" href="?state=decided">' in page
        assert "No conflict" in page

    def test_the_list_says_when_all_are_decided(self, at, campaign, client_of, developer):
        for order in (1, 2):
            decide(place_of(campaign, order), rating=4, by=developer, seen=0)
        page = markup(client_of(developer).get(f"{at('adjudication')}?distance=1"))
        assert "All conflicts are decided" in page
        assert 'href="?distance=1&amp;state=decided"' in page

    def test_deciding_goes_on_to_the_next(self, at, campaign, place, client_of, developer):
        other = place_of(campaign, 2)
        client, address = client_of(developer), at("case", place.revision, place.passage)
        decision = {"rating": 4, "seen": 0, "uid": uuid4(), "reason": "why"}
        response = client.post(f"{address}?distance=1", decision)
        assert response.url == f"{at('case', other.revision, other.passage)}?distance=1"
        address = at("case", other.revision, other.passage)
        part = client.post(address, decision | {"uid": uuid4()}, HTTP_HX_REQUEST="true")
        assert part["HX-Redirect"].startswith(at("adjudication"))

    def test_a_decision_is_undone_from_its_toast(self, at, campaign, place, client_of, developer):
        browser = client_of(developer)
        sent = {"rating": 4, "seen": 0, "uid": uuid4()}
        address = at("case", place.revision, place.passage)
        answer = browser.post(address, sent, headers=HTMX | {"HX-Target": "case"})
        other = next(row.place for row in inbox(campaign.collection, Query(), developer).rows)
        assert answer.context["case"].place == other
        again = press_undo(browser, answer)
        assert again.context["case"].place == place
        assert Decision.objects.get().withdrawn_at is not None
        assert [event.is_withdrawn for event in HumanGrade.objects.filter(by=developer)] == [False, True]

    def test_a_conflict_is_shown_as_a_merge(self, at, place, client_of, developer, owner):
        decide(place, rating=4, by=developer, seen=0, reason="because of line 2")
        address = at("case", place.revision, place.passage)
        decision = {"rating": 0, "seen": 0, "uid": uuid4(), "reason": "line 3 takes it back"}
        response = client_of(owner).post(address, decision, HTTP_HX_REQUEST="true")
        html = markup(response)
        assert response.status_code == 409
        for words in ("because of line 2", "line 3 takes it back", "Keep theirs", "Decide as I did"):
            assert words in html
        assert 'name="seen" value="1"' in html
        assert Decision.objects.get().rating == 4

    def test_withdraw_and_unanimous(self, at, place, client_of, developer, owner):
        decision = decide(place, rating=4, by=developer, seen=0)
        client = client_of(developer)
        assert client_of(owner).post(at("decision-withdraw", decision.pk)).status_code == 302
        assert Decision.objects.get().withdrawn_at is None
        client.post(at("decision-withdraw", decision.pk))
        assert Decision.objects.get().withdrawn_at is not None
        assert "Accept unanimous (1)" in markup(client.get(at("adjudication")))
        client.post(at("accept-unanimous"))
        assert Decision.objects.count() == 2

    def test_bad_input_and_other_cells(self, at, place, client_of, developer):
        client = client_of(developer)
        address = at("case", place.revision, place.passage)
        assert client.post(address, {"rating": 9, "seen": 0, "uid": uuid4()}).status_code == 400
        assert client.get(at("case", place.revision, 10**6)).status_code == 404
        assert client.get(f"{at('adjudication')}?distance=x&campaign=99&page=7").status_code == 200

    def test_the_feed(self, at, place, client_of, developer, second):
        decide(place, rating=5, by=developer, seen=0, reason="<b>why</b>")
        html = markup(client_of(second).get(at("overruled")))
        assert "&lt;b&gt;why" in html

    def test_queries(self, at, place, client_of, developer, django_assert_max_num_queries):
        client = client_of(developer)
        for page in (at("adjudication"), at("case", place.revision, place.passage)):
            with django_assert_max_num_queries(32):
                client.get(page)
