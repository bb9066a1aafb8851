"""The page of near-duplicates, and what a cell and influence say of them."""

import html
import re

import pytest
from django.urls import reverse

from grading.types import ItemKind
from rubricweb.corpus.derived_models import DuplicateSearch
from rubricweb.corpus.duplicates import search_now
from rubricweb.grades.models import Grade
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards.board import BoardSpec
from rubricweb.leaderboards.board.certainty import scored_board
from rubricweb.leaderboards.influence.duplicates import duplicates
from tests.rubricweb.markup import markup
from tests.worked import worked

pytestmark = pytest.mark.portable

PAGE = "/collections/autumn/review/problems/?kind=copies"
SEARCH = "/collections/autumn/review/problems/near-duplicates/"
TEXT = "Maple leaves turn red in autumn because chlorophyll breaks down and anthocyanins remain"


@pytest.fixture
def made(collection):
    """The worked collection, in which d2 and d3 of t1 have the same text."""
    made = worked(collection)
    for doc_id, passage in made.passages.items():
        passage.text = TEXT if doc_id in ("d2", "d3") else f"The text of {doc_id}"
        passage.save()
    return made


@pytest.fixture
def searched(made):
    search_now(made.collection, threshold=0.8, by=None)
    return made


def cell_address(made, doc_id):
    item = made.items["t1"][0]
    place = (made.bank.pk, item.topic_id, made.passages[doc_id].pk, item.pk)
    return reverse("review:cell", args=place)


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


def test_grades_stand_side_by_side(searched, viewer, client_of):
    page = client_of(viewer).get(PAGE)
    shown = text(page)

    assert "2 passages in pools have a near-duplicate in the same pool, in 1 group, from a" in shown
    assert "grades 1 of 1 item differently for one of them, 1 by 2 or more" in shown, "the other grade failed"
    assert "2 passages, 1 item graded differently" in shown
    assert "100 % alike" in shown.replace("\u202f", " ")
    assert "Which pigment makes leaves red? differ by 3" in shown
    assert "the deduplicated file keeps d2 ." in shown
    assert markup(page).count(">kept</span>") == 1


def test_before_the_first_search_there_is_one_next_step(made, owner, viewer, client_of):
    assert "Find near-duplicates" in text(client_of(owner).get(PAGE))
    assert "An organizer of the collection can start one." in text(client_of(viewer).get(PAGE))


def test_the_button_starts_one_search(made, owner, viewer, outsider, client_of):
    client = client_of(owner)
    assert client.get(SEARCH).status_code == 405
    assert client_of(viewer).post(SEARCH, {"threshold": 0.8}).status_code == 403
    assert client_of(outsider).post(SEARCH, {"threshold": 0.8}).status_code == 404
    assert client.post(SEARCH, {"threshold": 2}).status_code == 422
    assert not DuplicateSearch.objects.exists()
    assert client.post(SEARCH, {"threshold": 0.7}).url == PAGE
    assert DuplicateSearch.objects.get().threshold == 0.7
    assert "Looking for near-duplicates among the passages." in text(client.get(PAGE))


def test_a_search_that_failed_says_why(made, owner, client_of):
    DuplicateSearch.objects.create(collection=made.collection, state="failed", error="out of memory")
    shown = text(client_of(owner).get(PAGE))
    assert "The last search failed: out of memory" in shown
    assert "Find near-duplicates" in shown


def test_roles_and_parts(searched, viewer, outsider, client_of):
    assert client_of(outsider).get(PAGE).status_code == 404
    part = client_of(viewer).get(PAGE, headers={"HX-Request": "true"})
    assert markup(part).lstrip().startswith('<div id="problems"')


def test_a_cell_names_its_near_duplicates(searched, viewer, client_of):
    client = client_of(viewer)
    shown = [text(client.get(cell_address(searched, doc_id))) for doc_id in ("d2", "d1")]
    assert "1 near-duplicate in this pool, 1 graded differently, by up to 3: d3" in shown[0]
    assert "near-duplicate in this pool" not in shown[1]
    Grade.objects.filter(passage=searched.passages["d3"]).delete()
    assert "1 near-duplicate in this pool: d3" in text(client.get(cell_address(searched, "d2")))


def test_what_they_do_to_runs(searched):
    """`both` returns d1 d2, `stray` zz d3; now a run returns d3 d2 d1 for t1."""
    run = searched.collection.runs.get(run_tag="first")
    run.rankings.filter(topic=searched.topics["t1"]).update(doc_ids=["d3", "d2", "d1"], scores=[3, 2, 1])
    searched.collection.stamp += 1
    searched.collection.save()
    spec = BoardSpec(
        searched.collection,
        searched.config,
        searched.bank,
        frozenset({ItemKind.QUESTION}),
        MeasureSpec(cutoff=2),
    )
    rows = {row.run_tag: row for row in duplicates(scored_board(spec))}

    first = rows["first"]
    assert (first.repeats, first.marked, first.share) == (1, 2, pytest.approx(1 / 3))
    assert (first.score, first.score_once) == (0.25, 0.25), "d2 answers When?, d1 answers Which pigment?"
    assert (rows["both"].repeats, rows["both"].score, rows["both"].score_once) == (0, 1, 1)


@pytest.mark.parametrize("measure", ["rubric_cover", "P_20"])
def test_their_effect_on_runs_is_a_table_behind_the_board(searched, viewer, client_of, measure):
    page = "/collections/autumn/leaderboards/sure/"
    response = client_of(viewer).get(page, {"table": "copies", "measure": measure})
    assert [cells[3].text for cells in response.context["sheet"].rows] == ["0"] * 4
    assert response.context["sheet"].columns[3] == "Repeats@20"
