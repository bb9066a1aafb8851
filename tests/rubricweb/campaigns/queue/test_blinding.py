"""Ratings by others stay hidden from whoever shall rate a cell independently."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from rubricweb.campaigns.actions import assign_cells, close_campaign, rate, undo
from rubricweb.campaigns.blinding import held_by_rating
from rubricweb.campaigns.leases import LEASE
from rubricweb.campaigns.models import Turn
from rubricweb.corpus.models import Judgment
from rubricweb.grades import visibility
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.raters import raters
from rubricweb.review.cells import cell_ratings
from tests.factories import take
from tests.rubricweb.campaigns.conftest import rate_next
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db


def places(campaign):
    return {(cell.revision_id, cell.passage_id) for cell in campaign.cells.all()}


def place_of(turn):
    return (turn.cell.revision_id, turn.cell.passage_id)


def hidden_places(person, collection):
    return {
        place for hidden in visibility.hidden_from(person, collection.pk).values() for place in hidden.ratings
    }


def test_cells_are_hidden_from_assessors_until_they_rate(campaign_of, assessor, second, collection):
    campaign = campaign_of(mode="blind", assessors=2)
    assert hidden_places(assessor, collection) == places(campaign)
    turn = rate_next(campaign, assessor)
    assert hidden_places(assessor, collection) == places(campaign) - {
        (turn.cell.revision_id, turn.cell.passage_id)
    }
    assert hidden_places(second, collection) == places(campaign)
    topic = collection.topics.first()
    assert visibility.hidden_in_topic(second, topic).ratings == {
        (cell.revision_id, cell.passage_id) for cell in campaign.cells.filter(topic=topic)
    }


def test_developers_are_hidden_places_what_they_began_or_were_named_for(campaign_of, developer, collection):
    campaign = campaign_of(mode="blind")
    assert hidden_places(developer, collection) == set()
    first, *rest = take(campaign, developer, count=3)
    assert hidden_places(developer, collection) == set(), "an open page only reserves"
    rate(first.cell, rating=2, by=developer, seen=0, uid=uuid4())
    assert hidden_places(developer, collection) == {place_of(turn) for turn in rest}
    undo(campaign, by=developer, uid=uuid4())
    assert hidden_places(developer, collection) == {place_of(turn) for turn in rest}, "undoing frees nothing"


def test_developers_are_hidden_places_that_they_were_named_for(campaign_of, developer, collection):
    named = campaign_of(assignees=[developer])
    assert hidden_places(developer, collection) == places(named)


def test_cells_leased_while_a_page_goes_on_are_hidden_at_once(campaign_of, developer, collection):
    campaign = campaign_of(mode="blind")
    rate_next(campaign, developer)
    (later,) = take(campaign, developer, count=1)
    assert hidden_places(developer, collection) == {place_of(later)}


def test_opening_the_queue_again_later_reserves_only(campaign_of, developer, collection):
    campaign = campaign_of(mode="blind")
    turn = rate_next(campaign, developer)
    Turn.objects.filter(pk=turn.pk).update(done_at=timezone.now() - 2 * LEASE)
    (later,) = take(campaign, developer, count=1)
    assert hidden_places(developer, collection) == set()
    assert held_by_rating(developer, later.cell.item) is None
    rate(later.cell, rating=2, by=developer, seen=0, uid=uuid4())
    (another,) = take(campaign, developer, count=1)
    assert hidden_places(developer, collection) == {place_of(another)}
    held = held_by_rating(developer, another.cell.item)
    assert "You are rating this question blind." in str(held)
    assert held.release_at


def test_a_reserved_cell_goes_to_nobody_else(campaign_of, developer, second, collection):
    campaign = campaign_of(mode="blind")
    reserved = {turn.cell_id for turn in take(campaign, developer, count=3)}
    assert hidden_places(developer, collection) == set()
    assert reserved.isdisjoint(turn.cell_id for turn in take(campaign, second, count=5))


def test_a_closed_campaign_and_one_of_others_hide_nothing(campaign_of, assessor, second, owner, collection):
    close_campaign(campaign_of(), by=owner)
    campaign_of(assignees=[second])
    assert hidden_places(assessor, collection) == set()


def test_assigned_cells_are_hidden_places_that_person_only(
    bank, campaign_of, assessor, second, developer, owner
):
    campaign = campaign_of(size=1)
    assign_cells(bank, [cell.human_cell for cell in campaign.cells.all()], to=assessor, by=developer)
    close_campaign(campaign, by=owner)
    assert hidden_places(assessor, bank.collection) == places(campaign)
    assert hidden_places(second, bank.collection) == set()


class TestGrid:
    """What others said shows in the grid only once one has rated oneself."""

    @pytest.fixture(params=["assisted"])
    def cell(self, request, campaign_of, second):
        """Rated 0 by another; the grader says 4."""
        return rate_next(campaign_of(mode=request.param, assessors=2), second, 0).cell

    def grid(self, cell, client, source: str = "corrected") -> str:
        place = [cell.campaign.bank_id, cell.topic_id]
        return markup(client.get(f"{reverse('review:topic', args=place)}?view=grid&source={source}"))

    def grade_in(self, html: str, cell) -> str:
        return re.search(rf'<a id="c{cell.passage_id}-{cell.item_id}" [^>]*data-grade="(\w+)"', html)[1]

    def digit_in(self, html: str, cell) -> str:
        """The grader's, whatever people's rating makes of its colour."""
        return re.search(rf'<a id="c{cell.passage_id}-{cell.item_id}" [^>]*>(\d)', html)[1]

    def test_the_cell_is_hidden_until_rated(self, cell, client_of, assessor, developer):
        client = client_of(assessor)
        assert self.grade_in(self.grid(cell, client), cell) == "4"
        assert self.grade_in(self.grid(cell, client, "humans"), cell) == "missing"
        assert self.grade_in(self.grid(cell, client_of(developer)), cell) == "0"
        rate(cell, rating=0, by=assessor, seen=0, uid=uuid4())
        assert self.grade_in(self.grid(cell, client), cell) == "0"

    def test_so_is_its_panel(self, cell, assessor, developer):
        rater = raters(cell.item.bank)[0]
        assert cell_ratings(cell.item, cell.passage, assessor, rater).others == ()
        assert [one.rating for one in cell_ratings(cell.item, cell.passage, developer, rater).others] == [0]
        rate(cell, rating=5, by=assessor, seen=0, uid=uuid4())
        assert [one.rating for one in cell_ratings(cell.item, cell.passage, assessor, rater).others] == [0]

    @pytest.mark.parametrize("cell", ["blind", "mixed"], indirect=True)
    @pytest.mark.parametrize("source", ["", "corrected", "humans"])
    def test_who_rates_blind_sees_no_grade_before(self, cell, client_of, assessor, developer, source):
        client = client_of(assessor)
        html = self.grid(cell, client, source)
        assert self.grade_in(html, cell) == "hidden"
        assert f"{cell.passage.doc_id}, question 1, hidden until you rate it" in html
        assert self.grade_in(self.grid(cell, client_of(developer)), cell) == "0"
        rate(cell, rating=1, by=assessor, seen=0, uid=uuid4())
        assert self.digit_in(self.grid(cell, client, ""), cell) == "4"

    @pytest.mark.parametrize("cell", ["blind"], indirect=True)
    def test_nor_in_the_panel_and_rating_there_shows_it(self, cell, client_of, assessor, developer):
        place = [cell.campaign.bank_id, cell.topic_id, cell.passage_id, cell.item_id]
        panel, sending = reverse("review:cell", args=place), reverse("review:rate", args=place)
        client, reply = client_of(assessor), "<h3>Raw reply</h3>"
        before = markup(client.get(panel))
        assert "Hidden: you still have to rate this passage blind." in before
        assert cell.passage.text in before
        assert reply not in before
        assert 'data-grade="4"' not in before
        assert reply in markup(client_of(developer).get(panel))

        sent = {"rating": 1, "seen": 0, "revision": cell.revision_id, "uid": uuid4(), "part": "cell"}
        answer = markup(client.post(sending, sent, headers={"HX-Request": "true"}))
        assert self.digit_in(answer, cell) == "4"
        assert (said := HumanGrade.objects.get(by=assessor)).rating == 1
        assert (said.config, said.seen_rating) == (None, None)
        assert reply in markup(client.get(panel))
        undoing = reverse("review:undo", args=place)
        sent = {"seen": 1, "revision": cell.revision_id, "uid": uuid4(), "part": "cell"}
        answer = markup(client.post(undoing, sent, headers={"HX-Request": "true"}))
        assert self.digit_in(answer, cell) == "4", "what was seen is not unseen"


class TestScreens:
    """Screens of what graders say leave out what the reader is to rate blind, and say how much."""

    @pytest.fixture
    def cell(self, campaign_of):
        """The only cell of a blind campaign; the grader says 4 of all twelve cells of the bank."""
        return campaign_of(mode="blind", size=1).cells.get()

    @pytest.fixture
    def judged(self, bank):
        """`judged(0)`: all passages, each in one topic's pool."""

        def judge(relevance: int) -> None:
            for topic in bank.collection.topics.all():
                for pooled in topic.pool.select_related("passage"):
                    doc_id = pooled.passage.doc_id
                    Judgment.objects.create(topic=topic, doc_id=doc_id, relevance=relevance)
            bank.collection.stamp += 1
            bank.collection.save()

        return judge

    def told(self, client, address: str, **query):
        """The page's context, and what it says is hidden."""
        page = client.get(address, query)
        found = re.search(r"(\d+ \w+) (?:is|are) hidden from you until", markup(page))
        return page.context, found and found[1]

    def test_verify_grading(self, cell, bank, client_of, assessor, developer):
        address = reverse("review:verify", args=[bank.collection.slug, bank.pk])
        hidden = f"{cell.topic_id}-{cell.passage_id}-{cell.item_id}"
        for query in ({"order": "random"}, {"order": "worst"}, {"at": hidden}):
            query |= {"topic": cell.topic_id, "item": cell.item_id}
            context, left_out = self.told(client_of(assessor), address, **query)
            assert hidden not in [one.at for one in (context["card"].now, *context["ahead"])]
            assert left_out == "1 pair"
            assert context["estimates"].cells == 11
        context, left_out = self.told(client_of(developer), address, at=hidden)
        assert (context["card"].now.at, left_out) == (hidden, None)
        rate(cell, rating=3, by=assessor, seen=0, uid=uuid4())
        assert self.told(client_of(assessor), address)[1] is None

    def test_misleading_items(self, cell, bank, judged, client_of, assessor, developer):
        judged(0)
        address = reverse("review:problems", args=[bank.collection.slug])
        for person, count, left_out in ((developer, 3, None), (assessor, 2, "1 passage")):
            query = {"bank": bank.pk, "topic": cell.topic_id, "kind": "misleading"}
            context, note = self.told(client_of(person), address, **query)
            assert [row.problem.finding.spurious.count for row in context["rows"]] == [count, count]
            assert note == left_out
            query = {"bank": bank.pk, "problem": f"item-{cell.item_id}"}
            context, note = self.told(client_of(person), address, **query)
            assert (cell.passage in [row.passage for row in context["passages"]]) == (left_out is None)
            assert (len(context["passages"]), note) == (count, left_out)

    def test_uncovered_passages(self, cell, bank, judged, client_of, assessor, developer):
        judged(3)
        address = reverse("review:problems", args=[bank.collection.slug])
        key = f"passage-{cell.topic_id}-{cell.passage_id}"
        for person, count, left_out in ((developer, 6, None), (assessor, 5, "1 passage")):
            query = {"bank": bank.pk, "min_grade": 5, "kind": "uncovered"}
            context, note = self.told(client_of(person), address, **query)
            assert (context["page"].paginator.count, note) == (count, left_out)
            assert (key in [row.problem.key for row in context["rows"]]) == (left_out is None)
            html = markup(client_of(person).get(address, query | {"problem": key}))
            assert ("you see whether it is covered once" in html) == (person == assessor)

    def test_by_people_passages_of_assisted_campaigns_too(
        self, bank, campaign_of, second, client_of, assessor
    ):
        """Otherwise the list would say what others rated."""
        cell = rate_next(campaign_of(assessors=2, size=1), second, 0).cell
        address = reverse("review:problems", args=[bank.collection.slug])
        query = {"bank": bank.pk, "kind": "misleading"}
        context, note = self.told(client_of(second), address, source="people", **query)
        assert [row.problem.finding.spurious.count for row in context["rows"]] == [1, 1]
        assert note is None
        context, note = self.told(client_of(assessor), address, source="people", **query)
        assert (list(context["rows"]), note) == ([], "1 passage")
        assert self.told(client_of(assessor), address, source="judgments", **query)[1] is None
        assert cell.campaign.mode == "assisted"

    def test_the_bank_tells_hidden_grades_from_missing_ones(self, cell, bank, client_of, assessor, developer):
        address = reverse("review:topic", args=[bank.pk, cell.topic_id])
        for person, hidden in ((developer, []), (assessor, ["1 hidden until you rate it"])):
            html = " ".join(markup(client_of(person).get(address)).split())
            assert re.findall(r"(\d+ hidden until you rate \w+|\d+ not graded)", html) == hidden

    def test_the_card_of_an_item_counts_hidden_cells_apart(self, cell, bank, client_of, assessor, developer):
        at = {"view": "both", "card": cell.item_id}
        for person, hidden in ((developer, 0), (assessor, 1)):
            response = client_of(person).get(reverse("review:topic", args=[bank.pk, cell.topic_id]), at)
            column = response.context["card"].column
            assert (column.hidden, column.missing) == (hidden, 0)
            assert ("1 hidden until you rate it" in " ".join(markup(response).split())) == bool(hidden)

    def test_many_at_once(self, cell, bank, client_of, assessor, developer):
        """Nobody finds a rating right unseen."""
        address = reverse("review:bulk", args=[bank.pk, cell.topic_id])
        for person, count in ((developer, 6), (assessor, 5)):
            plan = client_of(person).get(address).context["plan"]
            assert (len(plan.cells), len(plan.unchecked)) == (6, count)


class TestEditing:
    """Whoever rates an item blind may read it, and edits it once they have finished or released it."""

    @pytest.fixture
    def cell(self, campaign_of, developer):
        """The second of two: what is held hides and blocks from the first rating on."""
        rated, kept, *_ = take(campaign_of(mode="blind", size=2), developer, count=2)
        rate(rated.cell, rating=2, by=developer, seen=0, uid=uuid4())
        return kept.cell

    def test_the_panel_of_the_item_releases_it(self, cell, bank, client_of, developer):
        client, at = client_of(developer), reverse("editor:item-edit", args=[bank.pk, cell.item_id])
        before = client.get(at)
        assert "You are rating this question blind. Finish or release it to edit." in markup(before)
        assert cell.item.revision.text in markup(before)
        assert client.post(at, {"text": "Another?", "seen": 1}).status_code == 403
        after = client.post(before.context["held"].release_at, {"next": at}, follow=True)
        assert after.redirect_chain == [(at, 302)]
        assert "form" in after.context
        assert 'name="text"' in markup(after)

    def test_the_bank_opens_the_item_of_its_address(self, cell, bank, client_of, developer):
        page = reverse("review:topic", args=[bank.pk, cell.topic_id])
        html = markup(client_of(developer).get(page, {"item": cell.item_id}))
        assert "Finish or release it to edit." in html
        assert 'name="text" ' not in html.split('id="new-item"')[0]

    def test_nobody_is_released_from_what_was_given_to_them(self, cell, bank, client_of, developer, owner):
        cell.turns.filter(person=developer).update(assigned_by=owner)
        html = markup(client_of(developer).get(reverse("editor:item-edit", args=[bank.pk, cell.item_id])))
        assert "You are rating this question blind. Finish it to edit." in html
        assert ">Release<" not in html
