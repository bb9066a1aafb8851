"""Home: the collections of a member with their progress."""

from __future__ import annotations

from django.db import connection
from django.test.utils import CaptureQueriesContext

from rubricweb.accounts.roles import Role
from rubricweb.banks.actions import revise_item
from rubricweb.corpus.models import Passage, Pooled
from rubricweb.grades.models import Grade, GradingJob, MatrixStamp
from tests.factories import CollectionFactory, MembershipFactory, TopicFactory
from tests.rubricweb.markup import markup


def card(client):
    return client.get("/").context["cards"][0]


def test_a_member_sees_size_role_and_progress(autumn, assessor, client_of):
    shown = card(client_of(assessor))
    assert (shown.role, shown.topics, shown.passages, shown.runs) == (Role.ASSESSOR, 1, 6, 2)
    assert [(bank.name, bank.items) for bank in shown.banks] == [("main", 3)]
    # 6 passages x 3 items; 7 cells of the example are blank.
    assert (shown.cells, shown.graded, shown.missing) == (18, 11, 7)
    html = markup(client_of(assessor).get("/"))
    assert "61\u202f% graded: 11 of 18 cells, by Lexical baseline (no model)" in html
    assert "grade the 7 missing cells" in html


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
    assert "No collections yet" in html
    assert "import_collection" in html


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
        assert len(client.get("/").context["cards"]) == 6
    assert len(six) == len(two) <= 31
