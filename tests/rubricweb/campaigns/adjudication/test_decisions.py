"""Conflicts, decisions, what they overrule, and what becomes of them."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.urls import reverse

from grading.types import Purpose
from rubricweb.banks.models import Item
from rubricweb.campaigns.actions import rate
from rubricweb.campaigns.adjudication import (
    CellKey,
    DecidedMeanwhile,
    NeedsReason,
    NotYourDecision,
    accept_unanimous,
    decide,
    ratings_by_person,
    withdraw,
)
from rubricweb.campaigns.conflicts import ConflictQuery, conflicts, decide_page, overruled
from rubricweb.campaigns.models import Decision
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.configs import imported_config
from rubricweb.grades.human_matrices import human_matrices
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import Cell, rate_cell
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
        (ConflictQuery(), {1, 2}),
        (ConflictQuery(distance=0), {1, 2, 3}),
        (ConflictQuery(distance=4), {1, 2}),
        (ConflictQuery(distance=3, min_grade=3), {1, 3}),
    ],
)
def test_what_is_a_conflict(campaign, collection, developer, query, orders):
    found = conflicts(collection, query, developer)
    assert set(found.ratings) == {place_of(campaign, order) for order in orders}
    assert found.unanimous == 1


def test_a_decision_counts_for_boards(campaign, collection, developer, place):
    assert decided_rating(collection, place) == 1  # the lower median until then
    decision = decide(place, rating=4, by=developer, seen=0, reason="Line 2 says so.")
    assert decided_rating(collection, place) == 4
    assert decision.grade.how == HumanGrade.How.ADJUDICATED
    assert sorted(decision.between.values_list("rating", flat=True)) == [1, 5]
    found = conflicts(collection, ConflictQuery(), developer)
    assert (found.open, found.decided) == (1, 1)
    assert found.decisions[place[1:]] == decision


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
    assert conflicts(collection, ConflictQuery(), developer).open == 2


def test_who_rated_a_cell_decides_it_only_with_a_reason_that_is_logged(developer, place):
    rate_cell(Cell(*place), rating=3, by=developer, seen=0)
    with pytest.raises(NeedsReason):
        decide(place, rating=5, by=developer, seen=0, reason="  ")
    assert not Decision.objects.exists()
    decide(place, rating=5, by=developer, seen=0, reason="Line 2.")
    entry = AuditEntry.objects.get(verb="own conflict decided")
    assert (entry.by, entry.detail) == (developer, "5")


def test_an_adjudicator_who_had_rated_keeps_their_own_rating(developer, collection, place):
    rate_cell(Cell(*place), rating=3, by=developer, seen=0)
    decision = decide(place, rating=5, by=developer, seen=0, reason="Line 2.")
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
    campaign_of(assignees=[developer])
    assert conflicts(collection, ConflictQuery(), developer).ratings == {}


class TestPage:
    @pytest.fixture
    def at(self, collection):
        def address(place: CellKey | None = None, kept: str = "") -> str:
            where = f"at={place.revision}-{place.passage}" if place else ""
            return f"{reverse('campaigns:decide', args=[collection.slug])}?{kept}{where}"

        return address

    def test_roles(self, at, collection, place, client_of, assessor, viewer, outsider, developer):
        for person, status in ((assessor, 200), (viewer, 403), (outsider, 404), (developer, 200)):
            assert client_of(person).get(at()).status_code == status
        assert "page" not in client_of(assessor).get(at()).context
        assert client_of(assessor).post(at(place), {"rating": 1}).status_code == 403
        unanimous = reverse("campaigns:accept-unanimous", args=[collection.slug])
        assert client_of(assessor).post(unanimous).status_code == 403

    def test_a_passage_is_shown_once_with_all_of_its_conflicts(self, at, campaign, client_of, developer):
        page = client_of(developer).get(at()).context["page"]
        places = [place_of(campaign, order) for order in (1, 2)]
        assert {place for row in page.passages for place in row.places} == set(places)
        assert [row.place.passage for row in page.rows] == [page.passage.pk] * len(page.rows)
        assert page.current == page.rows[0]

    def test_ratings_are_dots_on_the_places_of_the_keys(self, at, place, client_of, developer, assessor):
        client = client_of(developer)
        page = client.get(at(place)).context["page"]
        assert [dot.x for dot in page.current.dots] == ["25.0%", "91.7%"]  # 1 and 5 of 0 to 5
        html = markup(client.get(at(place)))
        assert "note of assessor" in html
        assert html.count("assessor-") == 2
        assert str(assessor) not in html
        assert f"{assessor}" in markup(client.get(at(place, "names=1&")))

    def test_decisions_are_of_the_scale_that_the_assessors_rated_by(self, at, campaign, client_of, developer):
        config = imported_config("flan", "NuggetAssignment", Purpose.RATE)  # 0 to 2
        campaign.cells.update(config=config)
        client, alike = client_of(developer), place_of(campaign, 4)
        assert client.post(at(alike), {"rating": 3, "seen": 0, "uid": uuid4()}).status_code == 400
        apart = place_of(campaign, 1)  # rated 5 and 1, off that scale
        assert "Decide 5, fully" in markup(client.get(at(apart)))

    @pytest.mark.usefixtures("place")
    def test_what_counts_stays_in_the_addresses(self, at, client_of, developer):
        page = markup(client_of(developer).get(at(kept="distance=0")))
        assert "?distance=0&amp;at=" in page

    def test_it_says_when_all_is_decided(self, at, campaign, client_of, developer):
        for order in (1, 2):
            decide(place_of(campaign, order), rating=4, by=developer, seen=0)
        assert "All decided" in markup(client_of(developer).get(at()))

    def test_without_conflicts_it_says_how_many_agree(self, at, campaign, client_of, developer):
        page = markup(client_of(developer).get(at(kept=f"campaign={campaign.pk}&distance=4&min_grade=5")))
        assert "1 conflict on" in page
        campaign.turns.all().delete()
        HumanGrade.objects.all().delete()
        assert "No pair has two ratings yet" in markup(client_of(developer).get(at()))

    def test_deciding_goes_on_to_the_next(self, at, campaign, place, client_of, developer):
        other = place_of(campaign, 2)
        client = client_of(developer)
        decision = {"rating": 4, "seen": 0, "uid": uuid4(), "reason": "why"}
        response = client.post(at(place, "distance=1&"), decision)
        assert response.url == at(other, "distance=1&")
        part = client.post(at(other), decision | {"uid": uuid4()}, headers=HTMX)
        assert part["HX-Push-Url"] == at()
        assert "All decided" in markup(part)

    def test_a_conflict_of_ones_own_is_left_to_another(self, at, collection, place, client_of, developer):
        rate_cell(Cell(*place), rating=3, by=developer, seen=0)
        page = decide_page(collection, ConflictQuery(), developer, None)
        assert page.current.place != place
        assert page.left == 1
        html = markup(client_of(developer).get(at(place)))
        assert "you are a party: left to another" in html
        sent = {"rating": 4, "seen": 0, "uid": uuid4()}
        refused = client_of(developer).post(at(place), sent, headers=HTMX)
        assert refused.status_code == 422
        assert "Say why you decide it" in markup(refused)
        assert client_of(developer).post(at(place), sent | {"reason": "Line 2."}).status_code == 302

    def test_a_decision_is_undone_from_its_toast(self, at, campaign, place, client_of, developer):
        browser = client_of(developer)
        sent = {"rating": 4, "seen": 0, "uid": uuid4()}
        answer = browser.post(at(place), sent, headers=HTMX | {"HX-Target": "case"})
        assert answer.context["page"].current.place == place_of(campaign, 2)
        again = press_undo(browser, answer)
        assert again.context["page"].current.place == place
        assert Decision.objects.get().withdrawn_at is not None
        assert [event.is_withdrawn for event in HumanGrade.objects.filter(by=developer)] == [False, True]

    def test_a_decision_of_two_is_shown_as_a_merge(self, at, place, client_of, developer, owner):
        decide(place, rating=4, by=developer, seen=0, reason="because of line 2")
        decision = {"rating": 0, "seen": 0, "uid": uuid4(), "reason": "line 3 takes it back"}
        response = client_of(owner).post(at(place), decision, headers=HTMX)
        html = markup(response)
        assert response.status_code == 409
        for words in ("because of line 2", "line 3 takes it back", "Keep theirs", "Decide as I did"):
            assert words in html
        assert 'name="seen" value="1"' in html
        assert Decision.objects.get().rating == 4

    def test_withdraw_and_unanimous(self, at, collection, place, client_of, developer, owner):
        decision = decide(place, rating=4, by=developer, seen=0)
        client, slug = client_of(developer), collection.slug
        withdrawing = reverse("campaigns:decision-withdraw", args=[slug, decision.pk])
        assert client_of(owner).post(withdrawing).status_code == 302
        assert Decision.objects.get().withdrawn_at is None
        client.post(withdrawing)
        assert Decision.objects.get().withdrawn_at is not None
        assert "Accept 1 where people agree" in markup(client.get(at()))
        client.post(reverse("campaigns:accept-unanimous", args=[slug]))
        assert Decision.objects.count() == 2

    def test_bad_input_and_other_cells(self, at, place, client_of, developer):
        client = client_of(developer)
        assert client.post(at(place), {"rating": 9, "seen": 0, "uid": uuid4()}).status_code == 400
        assert client.post(at(), {"rating": 3, "seen": 0, "uid": uuid4()}).status_code == 400
        elsewhere = CellKey(place.topic, place.revision, 10**6)
        assert client.post(at(elsewhere), {"rating": 3, "seen": 0, "uid": uuid4()}).status_code == 404
        assert client.get(at(kept="distance=x&campaign=99&at=7")).status_code == 200

    def test_who_still_rates_a_cell_neither_sees_nor_decides_it(
        self, at, campaign_of, place, client_of, developer
    ):
        campaign_of(assignees=[developer])
        client = client_of(developer)
        page = client.get(at(place))
        assert page.context["page"].rows == ()
        assert "note of assessor" not in markup(page)
        assert client.post(at(place), {"rating": 3, "seen": 0, "uid": uuid4()}).status_code == 403

    def test_the_overruled_read_the_reason(self, at, place, client_of, developer, second):
        decide(place, rating=5, by=developer, seen=0, reason="<b>why</b>")
        assert "&lt;b&gt;why" in markup(client_of(second).get(at()))
        mine = markup(client_of(developer).get(at(kept="mine=1")))
        assert "None of your ratings" in mine
        assert ">Conflicts</a>" in mine
        assert ">Conflicts</a>" not in markup(client_of(second).get(at())), "assessors have no other view"

    def test_the_question_in_dispute_is_flagged_by_its_key(self, at, place, client_of, developer, collection):
        client = client_of(developer)
        item = Item.objects.get(topic=place.topic, revision=place.revision)
        address = reverse("review:subject-flags", args=[item.bank_id, item.topic_id], query={"item": item.pk})
        page = markup(client.get(at(place)))
        assert f'action="{address}"' in page
        assert 'data-key-action="spurious"' in page
        client.post(address, {"kind": "spurious", "text": "", "uid": uuid4()})
        assert f'data-flagged="spurious-{item.pk}"' in markup(client.get(at(place)))

    def test_queries(self, at, place, client_of, developer, django_assert_max_num_queries):
        client = client_of(developer)
        with django_assert_max_num_queries(32):
            client.get(at(place))
