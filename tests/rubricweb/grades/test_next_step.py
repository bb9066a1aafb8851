"""What a page without grades says, step by step, and to whom it offers the step."""

import re

import pytest
from django.urls import reverse

from rubricweb.grades.missing import next_step
from rubricweb.grades.models import GradingJob
from tests import factories
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable


def test_each_step_follows_the_one_before(collection, owner):
    def offered():
        step = next_step(owner, collection)
        return step.verb, step.address

    imports = reverse("imports:imports", args=[collection.slug])
    assert offered() == ("Import files", imports)
    topic = factories.TopicFactory(collection=collection)
    assert offered() == ("Draft, write or import questions", collection.get_absolute_url())
    bank = factories.BankFactory(collection=collection)
    assert offered() == ("Write the first ones", reverse("review:topic", args=[bank.pk, topic.pk]))
    item = factories.ItemFactory(bank=bank, topic=topic)
    assert offered() == ("Import files", imports)
    passage = factories.PassageFactory(collection=collection)
    assert offered() == ("Choose the passages", reverse("grades:pool", args=[collection.slug]))
    factories.PooledFactory(topic=topic, passage=passage)
    missing = f"{reverse('grades:jobs', args=[collection.slug])}?bank={bank.pk}"
    assert offered() == ("See what grading takes", missing)
    config = factories.lexical_config()
    GradingJob.objects.create(collection=collection, config=config, total=1, state=GradingJob.State.RUNNING)
    assert offered() == ("Watch the progress", reverse("grades:jobs", args=[collection.slug]))
    factories.grade(config, item, passage, 4)
    assert next_step(owner, collection) is None


@pytest.mark.parametrize(
    "address",
    ["/collections/{}/grades/jobs/", "/collections/{}/campaigns/new/"],
)
def test_where_nothing_can_be_graded_the_next_step_is_offered(collection, owner, client_of, address):
    address, client = address.format(collection.slug), client_of(owner)
    factories.TopicFactory(collection=collection)
    said = markup(client.get(address))
    assert "Draft, write or import questions" in said
    for misleading in ("No grade is missing", "Press Re-grade", "Open the campaign"):
        assert misleading not in said
    factories.gradable(collection)
    assert "Draft, write or import questions" not in markup(client.get(address))


def test_another_bank_has_its_own_next_step(collection, owner):
    bank = factories.gradable(collection)
    item = bank.items.first()
    factories.grade(factories.lexical_config(), item, item.topic.pool.first().passage, 4)
    empty = factories.BankFactory(collection=collection, name="empty")

    assert next_step(owner, collection) is None
    assert next_step(owner, collection, empty).lacks == "No topic has a question or nugget."


@pytest.mark.parametrize("route", ["review:problems", "review:verify"])
def test_screens_of_a_bank_without_grades_offer_the_step(collection, developer, viewer, client_of, route):
    bank = factories.gradable(collection)
    address = reverse(
        route, args=[collection.slug, bank.pk] if route == "review:verify" else [collection.slug]
    )
    missing = f'href="{reverse("grades:jobs", args=[collection.slug])}?bank={bank.pk}"'

    def empty_part(person):
        page = client_of(person).get(address).content.decode()
        return re.search(r'<section class="empty">.*?</section>', page, re.DOTALL).group()

    assert missing in empty_part(developer)
    assert "<a " not in empty_part(viewer)
    assert "a topic developer or an organizer does that" in empty_part(viewer)
