"""Items of which only the id is known: nobody can rate them, and each page says so."""

import re
import uuid

import pytest
from django.urls import reverse

from grading.types import Purpose
from rubricweb.grades.configs import imported_config
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import GradingJob
from tests.factories import BankFactory, ItemFactory, TopicFactory, grade, pooled
from tests.rubricweb.markup import markup

pytestmark = [pytest.mark.django_db, pytest.mark.portable]

NO_TEXT = "This item has no text yet"
RATES = "QuestionSelfRatedUnanswerablePromptWithChoices"


@pytest.fixture
def item(collection):
    """The only item of its bank; a file rated it 5 on one of two passages, and misses the other."""
    topic = TopicFactory(collection=collection, query_id="q1", text="why do leaves turn red")
    item = ItemFactory(bank=BankFactory(collection=collection), topic=topic, text="Which pigment is red?")
    item.revision.text = ""
    item.revision.save()
    first, _ = pooled(topic, 2)
    grade(imported_config("google/flan-t5-large", RATES, Purpose.RATE), item, first, 5)
    return item


@pytest.fixture
def passage(item):
    return item.topic.pool.order_by("position").first().passage


def where(item, passage):
    return [item.bank_id, item.topic_id, passage.pk, item.pk]


def test_the_panel_offers_no_rating_and_says_why(client_of, assessor, item, passage):
    html = markup(client_of(assessor).get(reverse("review:cell", args=where(item, passage))))
    assert NO_TEXT in html
    assert 'id="own-5"' not in html


def test_the_grid_says_why_its_cells_cannot_be_rated(client_of, assessor, item):
    page = client_of(assessor).get(
        reverse("review:topic", args=[item.bank_id, item.topic_id], query={"view": "grid"})
    )
    cells = [cell for row in page.context["grid"].rows for cell in row.cells]
    why = "the item has no text yet: supply it before you rate it"
    assert [(cell.state, cell.marks) for cell in cells] == [("5", "wordless"), ("missing", "wordless")]
    assert [cell.description for cell in cells] == [f"grade 5, {why}", f"not graded, {why}"]
    html = markup(page)
    assert html.count(f'{why}"') == html.count('data-marks="wordless">') == 2
    assert re.search(rf'<span class="mono">{item.revision.uid[-6:]}</span>\s*no text yet', html)


def test_the_rubric_tells_it_by_the_end_of_its_id(client_of, viewer, item):
    html = markup(client_of(viewer).get(reverse("review:topic", args=[item.bank_id, item.topic_id])))
    uid = item.revision.uid
    assert f'<code title="{uid}">{uid[-6:]}</code>' in html


def test_a_rating_that_is_sent_nonetheless_is_refused(client_of, assessor, item, passage):
    sent = {"rating": 4, "seen": 0, "revision": item.revision_id, "uid": uuid.uuid4()}
    address = reverse("review:rate", args=where(item, passage))
    refused = client_of(assessor).post(address, sent, headers={"HX-Request": "true"})
    assert refused.status_code == 422
    assert f"{NO_TEXT}: supply it before you rate it." in markup(refused)
    assert not HumanGrade.objects.exists()


def test_nothing_of_it_is_to_be_verified(client_of, assessor, item, passage):
    address = reverse("review:verify", args=[item.bank.collection.slug, item.bank_id])
    page = client_of(assessor).get(address)
    assert page.context["card"] is None
    assert "1 item has no text yet; a topic developer can add it." in markup(page)
    for named in (
        {"at": f"{item.topic_id}-{passage.pk}-{item.pk}"},
        {"topic": item.topic_id, "item": item.pk},
    ):
        assert client_of(assessor).get(address, named).context["card"] is None


def test_a_bank_that_can_be_verified_is_one_click_away(client_of, assessor, item):
    worded = ItemFactory(
        bank=BankFactory(collection=item.bank.collection, name="worded"), topic=item.topic
    ).bank
    BankFactory(collection=item.bank.collection, name="empty")
    html = markup(
        client_of(assessor).get(reverse("review:verify", args=[worded.collection.slug, item.bank_id]))
    )
    address = reverse("review:verify", args=[worded.collection.slug, worded.pk])
    assert re.findall(r'href="([^"]+)">\s*Verify the rubric', html) == [address]


def test_in_bulk_it_is_left_out(client_of, owner, item):
    address = reverse("review:bulk", args=[item.bank_id, item.topic_id])
    plan = client_of(owner).get(address).context["plan"]
    assert (len(plan.cells), len(plan.unchecked), plan.to_grade, plan.wordless) == (0, 0, 0, 1)


def test_its_missing_cells_are_counted_nowhere(client_of, owner, collection, item):
    """One graded cell stays; the other is neither missing nor graded."""
    client = client_of(owner)
    (row,) = client.get(collection.get_absolute_url()).context["page"].object_list
    assert (row.facts.cells, row.facts.missing, row.facts.unknown) == (1, 0, 1)
    counts = (
        client.get(reverse("review:topic", args=[item.bank_id, item.topic_id], query={"view": "grid"}))
        .context["grid"]
        .counts
    )
    assert (counts.cells, counts.missing) == (1, 0)
    (row,) = client.get("/").context["rows"]
    card = row.card
    assert (card.cells, card.graded) == (1, 1)
    missing = client.get(reverse("grades:missing", args=[collection.slug]), follow=True)
    assert (missing.context["gap"].cells, missing.context["gap"].wordless) == (0, 1)
    client.post(reverse("grades:start", args=[collection.slug]))
    assert not GradingJob.objects.exists()
