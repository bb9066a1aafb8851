"""What contradicts an item is an outcome of its own in the grid, in people's ratings and in the queue."""

import uuid
from pathlib import Path

import pytest
from django.core.management import call_command

from grading.types import CONTRADICTS, MISSING
from rubricweb.banks.models import Item
from rubricweb.campaigns.adjudication import CellKey
from rubricweb.campaigns.conflicts import scales
from rubricweb.campaigns.models import Campaign
from rubricweb.campaigns.ratable import OF_WHOLE_SCALE, meanings_of
from rubricweb.corpus.models import Collection, Passage
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.human_matrices import RatingSource, ratings_by
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.matrices import matrices
from rubricweb.grades.models import GraderConfig
from tests.rubricweb.markup import markup

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
TOPIC = "msmarco_v2.1_doc_9_77"


@pytest.fixture
def bank(collection):
    """DRAGUN's rubric with a judge's assessments, in which `pear` contradicts na-2."""
    files = ("--bank", FORMATS / "banks" / "dragun.json", "--assignments", FORMATS / "assessments.csv")
    call_command("import_collection", collection.slug, *map(str, files), "--by", "judge", verbosity=0)
    return collection.banks.get(name="main")


def brother(bank):
    return bank.items.get(revision__text__startswith="The author's brother")


def passage_of(run):
    return Passage.objects.get(doc_id=f"{run}.{TOPIC}")


def cell_address(item, run, end=""):
    return f"/review/banks/{item.bank_id}/topics/{item.topic_id}/cells/{passage_of(run).pk}/{item.pk}/{end}"


def rate(client, item, run, rating):
    fields = {"rating": rating, "seen": 0, "uid": str(uuid.uuid4()), "revision": item.revision_id}
    return client.post(cell_address(item, run, "rate/"), fields, headers={"hx-request": "true"})


def test_the_grid_shows_it_apart_from_0_and_from_failures(client_of, owner, bank):
    item = brother(bank)
    page = markup(client_of(owner).get(f"/review/banks/{bank.pk}/topics/{item.topic_id}/?view=grid"))
    assert page.count(', contradicts the item"') == 2
    assert page.count('data-grade="contradicts"') >= 2
    assert "or - for contradicts," in page
    assert "below 0, and no credit" in page


def test_matrices_have_a_0_there_and_say_which(bank):
    pool = collection_pool(bank.collection)
    (grades,) = matrices(GraderConfig.objects.get(), pool).values()
    matrix = grades.matrix.columns([brother(bank).revision.uid])
    row = grades.pool.doc_ids.index(f"pear.{TOPIC}")
    assert (matrix.ratings[row, 0], matrix.outcomes[row, 0], matrix.contradicted[row, 0]) == (0, -5, True)
    assert matrix.columns(["unknown"]).outcomes[row, 0] == MISSING


def test_people_rate_it_and_the_corrected_grades_have_it(client_of, owner, bank):
    item = brother(bank)
    answer = rate(client_of(owner), item, "quince", CONTRADICTS)
    assert answer.status_code == 200
    assert 'aria-pressed="true"' in markup(answer)
    assert HumanGrade.objects.get().rating == CONTRADICTS
    pool, config = collection_pool(bank.collection), GraderConfig.objects.get()
    for source in (RatingSource.HUMANS, RatingSource.CORRECTED):
        (grades,) = ratings_by(source, config, pool).values()
        row = grades.pool.doc_ids.index(f"quince.{TOPIC}")
        assert grades.matrix.columns([item.revision.uid]).outcomes[row, 0] == CONTRADICTS


@pytest.mark.parametrize("rating", [-1, -4, -6, 6])
def test_other_numbers_below_0_are_refused(client_of, owner, bank, rating):
    assert rate(client_of(owner), brother(bank), "quince", rating).status_code == 422
    assert not HumanGrade.objects.exists()


def test_a_grader_without_it_offers_no_key_for_it(client_of, owner, collection, bank):
    other = Collection.objects.get(pk=collection.pk)
    item = Item.objects.filter(bank__collection=other).first()
    GraderConfig.objects.update(prompt_class="NuggetAssignment")
    client = client_of(owner)
    assert 'value="-5"' not in markup(client.get(cell_address(item, "pear")))
    assert rate(client, item, "pear", CONTRADICTS).status_code == 422


def test_the_queue_has_a_key_for_it_where_the_grader_knows_it(client_of, owner, bank):
    config = GraderConfig.objects.get()
    assert meanings_of(config) == ((2, "supports"), (1, "partial"), (0, "none"), (-5, "contradicts"))
    grader = str(config.pk)
    Passage.objects.update(text="His brother owns the mill.")  # assessments come without the answers' texts
    call_command(
        "open_campaign", bank.collection.slug, "check", "--grader", grader, "--mode", "assisted",
        "--assignee", owner.username, verbosity=0,
    )  # fmt: skip
    campaign, client = Campaign.objects.get(), client_of(owner)
    page = f"/collections/{bank.collection.slug}/campaigns/rate/{campaign.pk}/"
    shown = markup(client.post(f"{page}next/", follow=True))
    assert 'data-key-action="rate--5"' in shown
    assert 'title="contradicts"' in shown
    cell = campaign.cells.order_by("order").first()
    fields = {"rating": CONTRADICTS, "seen": 0, "uid": str(uuid.uuid4())}
    assert client.post(f"{page}cells/{cell.pk}/", fields, follow=True).status_code == 200
    assert HumanGrade.objects.get().rating == CONTRADICTS


def test_adjudicators_decide_on_the_whole_scale_with_it_where_somebody_rated_it(bank):
    item = brother(bank)
    place = CellKey(item.topic_id, item.revision_id, passage_of("pear").pk)
    assert scales([place], {place: {1: 3, 2: 0}})[place] == OF_WHOLE_SCALE
    assert scales([place], {place: {1: 3, 2: CONTRADICTS}})[place][-1] == (CONTRADICTS, "contradicts")
