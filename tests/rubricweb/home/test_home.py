"""Home by role: the way to the release, the next passages to rate, three ways to begin."""

from __future__ import annotations

from django.db import connection
from django.test.utils import CaptureQueriesContext

from rubricweb.accounts.invitations import Joining, invite
from rubricweb.accounts.roles import Role
from rubricweb.banks.actions import revise_item
from rubricweb.banks.models import ItemRevision
from rubricweb.corpus.models import Passage, Pooled
from rubricweb.grades.human_ratings import Cell, rate_cell, undo
from rubricweb.grades.models import Grade, GradingJob, MatrixStamp
from tests.factories import BankFactory, CollectionFactory, ItemFactory, MembershipFactory, TopicFactory
from tests.rubricweb.markup import markup


def card(client):
    return client.get("/").context["rows"][0].card


def test_a_member_sees_size_role_and_progress(autumn, assessor, client_of):
    shown = card(client_of(assessor))
    assert (shown.role, shown.topics, shown.passages, shown.runs) == (Role.ASSESSOR, 1, 6, 2)
    assert [(bank.name, bank.items) for bank in shown.banks] == [("main", 3)]
    # 6 passages x 3 items; 7 cells of the example are blank.
    assert (shown.cells, shown.graded, shown.missing) == (18, 11, 7)
    html = markup(client_of(assessor).get("/"))
    assert "61\u202f% graded: 11 of 18 pairs, by Word overlap (no model)" in html
    assert "grade the 7 missing pairs" in html


def test_new_words_make_cells_missing_and_nothing_else(autumn, owner, client_of):
    item = autumn.items[0]
    revise_item(item, text="Which pigments make leaves red?", seen=item.version, by=owner)
    shown = card(client_of(owner))
    assert (shown.cells, shown.graded) == (18, 11 - 4)


def test_items_without_text_have_no_missing_cells(autumn, owner, client_of):
    revision = autumn.items[0].revision
    revision.text = ""
    revision.save()
    shown = card(client_of(owner))
    assert (shown.cells, shown.graded) == (12 + 4, 7 + 4)


def test_without_a_pool_the_next_step_is_passages_and_not_texts_of_items(autumn, owner, client_of):
    Grade.objects.all().delete()
    MatrixStamp.objects.all().delete()
    Pooled.objects.all().delete()
    html = markup(client_of(owner).get("/"))
    assert "choose the passages" in html
    assert "texts of the" not in html
    Passage.objects.all().delete()
    assert "import passages" in markup(client_of(owner).get("/"))


def test_running_jobs_are_named(autumn, owner, client_of):
    GradingJob.objects.create(collection=autumn.collection, config=autumn.config, scope="1 item", total=3)
    assert "1 job grading" in markup(client_of(owner).get("/"))


def test_others_collections_stay_hidden(autumn, outsider, client_of):
    CollectionFactory(slug="secret", name="Secret track")
    html = markup(client_of(outsider).get("/"))
    assert "Secret track" not in html
    assert autumn.collection.name not in html
    assert "You are in no collection yet." in html
    assert "import_collection" not in html, "who may create none is offered none"


def test_a_superuser_organizes_every_collection(autumn, outsider, client_of):
    outsider.is_superuser = True
    outsider.save()
    assert card(client_of(outsider)).role == Role.ORGANIZER


def test_htmx_gets_the_part(autumn, owner, client_of):
    html = markup(client_of(owner).get("/", headers={"HX-Request": "true"}))
    assert "<html" not in html
    assert 'id="collections"' in html


def test_only_looking_is_allowed(autumn, owner, client_of, client):
    assert client_of(owner).post("/").status_code == 405
    assert client_of(owner).head("/").status_code == 200
    assert client.get("/").status_code == 302


def test_more_collections_take_no_more_queries(autumn, owner, client_of):
    """With grades or without any."""
    client = client_of(owner)
    MembershipFactory(user=owner, collection=TopicFactory().collection)
    client.get("/")
    with CaptureQueriesContext(connection) as two:
        client.get("/")
    for _ in range(4):
        MembershipFactory(user=owner, collection=TopicFactory().collection)
    with CaptureQueriesContext(connection) as six:
        assert len(client.get("/").context["rows"]) == 6
    assert len(six) == len(two) <= 34


def test_who_may_create_has_three_doors(outsider, client_of):
    outsider.is_staff = True
    outsider.save()
    html = markup(client_of(outsider).get("/"))
    for door in ("Try the demo track", "Bring your files", "Restore a collection", "Paste your link"):
        assert door in html


def test_a_pasted_link_opens_its_invitation_and_nothing_else(collection, owner, outsider, client_of):
    _, path = invite(collection, Joining(Role.ASSESSOR, "", days=7, max_uses=1), by=owner)
    client = client_of(outsider)
    assert client.post("/join/", {"link": f"https://rubric.example.org{path}"}).url == path
    for other in ("https://elsewhere.example.org/", "/accounts/keys/", "", "//elsewhere.example.org/x"):
        assert client.post("/join/", {"link": other}).url == "/"
    assert client.get("/join/").status_code == 405


def test_an_organizer_sees_the_first_station_that_is_not_done(autumn, owner, client_of):
    row = client_of(owner).get("/").context["only"]
    names = ["Topics", "Rubric", "Runs", "Grades", "Checked", "Board", "Release"]
    assert [step.name for step in row.checklist.steps] == names
    assert (row.checklist.next.name, row.checklist.next.verb) == ("Grades", "Grade")
    html = markup(client_of(owner).get("/"))
    assert html.count('aria-current="step"') == 1
    assert "Activity" in html


def test_grades_that_nobody_looked_at_are_to_be_checked(autumn, owner, assessor, client_of):
    def checked():
        return client_of(owner).get("/").context["only"].checklist.steps[4]

    assert (checked().state, checked().verb) == ("open", "Check 400 random pairs")
    item = autumn.items[0]
    passage = item.topic.pool.first().passage
    rate_cell(Cell.of(item, passage), rating=3, by=assessor, seen=0)
    assert (checked().state, checked().detail) == ("done", "people rated 1 of 18 pairs")
    undo(Cell.of(item, passage), by=assessor, seen=1)
    assert (checked().state, checked().detail) == ("open", "people rated 0 of 18 pairs")
    rate_cell(Cell.of(item, passage), rating=3, by=assessor, seen=2)
    assert checked().detail == "people rated 1 of 18 pairs"
    revise_item(item, text="Another wording?", seen=item.version, by=owner)
    assert checked().detail.startswith("people rated 0 of ")


def test_a_check_is_proposed_only_for_a_rubric_that_can_be_rated(autumn, owner, client_of):
    def verb():
        step = client_of(owner).get("/").context["only"].checklist.steps[4]
        return step.verb, step.address.partition("?")[2]

    ItemRevision.including_secret.update(text="")
    assert verb() == ("Import the texts", "")
    old = autumn.items[0]
    item = ItemFactory(topic=old.topic, bank=BankFactory(collection=old.bank.collection, name="worded"))
    assert verb() == ("Check 400 random pairs of worded", f"bank={item.bank_id}")


def test_an_assessor_of_one_collection_finds_their_work(autumn, assessor, client_of):
    response = client_of(assessor).get("/")
    assert response.context["work"].rows
    assert "stations" not in markup(response)
    assert "Activity" not in markup(response)


def test_several_collections_are_a_list_with_what_is_next(autumn, owner, client_of):
    MembershipFactory(user=owner, collection=TopicFactory().collection, role=Role.ORGANIZER)
    response = client_of(owner).get("/")
    assert "only" not in response.context
    assert "of 7 steps" in markup(response)
