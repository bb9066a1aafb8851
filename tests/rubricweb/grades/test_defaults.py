"""Whose grades, and of which bank, are shown where nobody names any."""

import pytest
from django.urls import reverse

from grading.types import ItemKind, Purpose
from rubricweb.corpus.actions import choose_default_grader
from rubricweb.grades.actions import start_grading
from rubricweb.grades.configs import imported_config
from rubricweb.grades.engine import monitor
from rubricweb.grades.raters import raters
from rubricweb.grades.selectors import (
    default_bank,
    default_grader,
    graders_of,
    keep_default_grader,
    take_imported_default,
)
from tests.factories import BankFactory, ItemFactory, TopicFactory as Topics, grade, lexical_config, pooled
from tests.rubricweb.markup import markup

pytestmark = [pytest.mark.django_db, pytest.mark.portable]

RATES = "QuestionSelfRatedUnanswerablePromptWithChoices"

HTMX = {"HX-Request": "true"}


@pytest.fixture
def imported():
    return imported_config("google/flan-t5-large", RATES, Purpose.RATE)


@pytest.fixture
def topic(collection):
    return Topics(collection=collection, text="why do leaves turn red")


@pytest.fixture
def passages(topic):
    return pooled(topic, 3)


@pytest.fixture
def old(collection, topic, passages, imported):
    """A bank with two questions that only a file knows, fully graded by it, as after an import."""
    bank = BankFactory(collection=collection, name="imported")
    for number in range(2):
        item = ItemFactory(bank=bank, topic=topic, text=f"Which pigment is number {number}?")
        item.revision.text = ""
        item.revision.save()
        for passage in passages:
            grade(imported, item, passage, 4)
    take_imported_default(collection)
    return bank


@pytest.fixture
def new(collection, topic, old):
    """A second bank, larger, with texts and without grades; its name comes first."""
    bank = BankFactory(collection=collection, name="drafted")
    for number in range(4):
        ItemFactory(bank=bank, topic=topic, text=f"Which tree turns number {number}?")
    return bank


@pytest.fixture
def regraded(new, passages):
    """Somebody pressed Re-grade: the lexical baseline has more grades now than the file brought."""
    for item in new.items.all():
        for passage in passages:
            grade(lexical_config(), item, passage, 1)
    return new


def board(client, collection, **query):
    return client.get(reverse("leaderboards:board", args=[collection.slug]), query).context["form"]


def test_an_imported_collection_is_fully_graded_on_its_pages(client_of, viewer, collection, new, imported):
    client = client_of(viewer)
    card = client.get("/").context["rows"][0].card
    assert (card.cells, card.graded, card.is_imported) == (6, 6, True)
    page = client.get(collection.get_absolute_url())
    assert page.context["bank"].name == "imported"
    assert page.context["totals"].share == 1
    assert page.context["rater"].configs == (imported,)
    assert board(client, collection).spec.config == imported
    assert board(client, collection).spec.bank.name == "imported"


def test_re_grade_is_offered_calmly_and_names_grader_and_cells(client_of, owner, collection, new, imported):
    html = markup(client_of(owner).get(reverse("grades:missing", args=[collection.slug]), headers=HTMX))
    assert "banner-warn" not in html
    words = " ".join(html.split())
    assert f"The grades here are by <strong>{imported}</strong>." in words
    assert "The chosen grader, word overlap, has <strong>12</strong> to grade, about 1 s (guess)." in words
    assert "Grade 12 pairs <kbd" in words
    assert "2 items have only ids; nobody can rate them until the text is known." in words


def test_items_without_text_are_named_only_where_there_is_something_to_grade(
    client_of, owner, collection, regraded, imported
):
    address = reverse("grades:missing", args=[collection.slug])
    assert "have only ids" not in markup(client_of(owner).get(address, headers=HTMX))
    gap = monitor.gap(collection, monitor.Scope(None, None))
    assert (gap.cells, gap.wordless) == (0, 2)


def test_a_bank_that_nobody_graded_shows_no_grades_of_another(
    client_of, owner, collection, old, new, imported
):
    address = reverse("grades:missing", args=[collection.slug])
    of_new = client_of(owner).get(address, {"bank": new.pk}, headers=HTMX)
    assert "The grades here are by" not in markup(of_new)
    assert "<strong>12</strong> grades missing" in markup(of_new)
    assert monitor.gap(collection, monitor.Scope(old, None)).displayed == imported


def test_grading_with_another_does_not_change_what_an_address_shows(
    client_of, viewer, collection, old, regraded, imported
):
    client = client_of(viewer)
    assert default_grader(collection) == imported
    assert board(client, collection).spec.config == imported
    assert client.get(collection.get_absolute_url()).context["rater"].configs == (imported,)
    assert client.get("/").context["rows"][0].card.share == 1


def test_missing_leads_whoever_may_grade_to_the_grades_of_a_re_grade(
    client_of, owner, viewer, collection, old, new, passages, imported
):
    """On the page where it was pressed; not where the address names a grader, nor before it has grades."""
    address = reverse("grades:missing", args=[collection.slug])
    grid = reverse("review:topic", args=[old.pk, old.items.first().topic_id], query={"view": "grid"})

    def shown(user, page):
        headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{page}"}
        return client_of(user).get(address, {"bank": old.pk}, headers=headers)

    assert "this page shows another grader" not in markup(shown(owner, grid))
    old.items.first().revision.topic.revisions.update(text="Which pigment?")
    grade(lexical_config(), old.items.first(), passages[0], 2)
    page = shown(owner, f"{grid}&page=2&show=failed")
    assert page.context["look_at"] == f"{grid}&show=failed&grader={lexical_config().pk}"
    assert "this page shows another grader" in markup(page)
    assert client_of(owner).get(page.context["look_at"]).context["rater"].configs == (lexical_config(),)
    assert "this page shows another grader" not in markup(shown(owner, f"{grid}&grader={imported.pk}"))
    assert "this page shows another grader" not in markup(shown(viewer, grid))


def test_a_re_grade_is_shown_by_default_to_whoever_pressed_it(
    client_of, owner, viewer, collection, old, new, passages, imported
):
    """Until somebody chooses the default anew."""
    grid = reverse("review:topic", args=[old.pk, old.items.first().topic_id], query={"view": "grid"})

    def shown(user):
        return client_of(user).get(grid).context["rater"].configs

    old.items.first().revision.topic.revisions.update(text="Which pigment?")
    start_grading(collection, by=owner)
    assert shown(owner) == (imported,), "it has no grade yet"
    grade(lexical_config(), old.items.first(), passages[0], 2)
    assert (shown(owner), shown(viewer)) == ((lexical_config(),), (imported,))
    address = reverse("grades:missing", args=[collection.slug])
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{grid}"}
    assert not client_of(owner).get(address, {"bank": old.pk}, headers=headers).context["look_at"]
    collection.refresh_from_db()
    choose_default_grader(collection, "", by=owner)
    choose_default_grader(collection, imported.fingerprint, by=owner)
    assert shown(owner) == (imported,)


def test_starting_another_grader_keeps_the_default_that_nobody_chose(collection, old, new, imported):
    collection.default_grader = ""
    collection.save()
    start_grading(collection, by=None)
    collection.refresh_from_db()
    assert collection.default_grader == imported.fingerprint


def test_the_first_grader_is_not_stored_before_it_has_grades(collection, topic):
    keep_default_grader(collection)
    assert (collection.default_grader, default_grader(collection)) == ("", None)


def test_an_organizer_chooses_the_default(client_of, owner, assessor, collection, regraded):
    address = reverse("graders:default-grader", args=[collection.slug])
    assert client_of(assessor).post(address).status_code == 403
    client_of(owner).post(address, {"default_grader": "f" * 64})
    collection.refresh_from_db()
    assert collection.default_grader != "f" * 64
    client_of(owner).post(address, {"default_grader": lexical_config().fingerprint})
    collection.refresh_from_db()
    assert default_grader(collection) == lexical_config()
    form = board(client_of(owner), collection)
    assert (form.spec.config, form.spec.bank) == (lexical_config(), regraded)


def test_an_import_takes_over_only_with_more_grades(collection, topic, passages, imported):
    item = ItemFactory(bank=BankFactory(collection=collection), topic=topic)
    for passage in passages[:2]:
        grade(lexical_config(), item, passage, 3)
    keep_default_grader(collection)
    grade(imported, item, passages[0], 4)
    take_imported_default(collection)
    assert default_grader(collection) == lexical_config()
    for passage in passages[1:]:
        grade(imported, item, passage, 4)
    take_imported_default(collection)
    assert default_grader(collection) == imported


def test_another_bank_is_shown_by_who_graded_it(client_of, viewer, collection, old, regraded, imported):
    """The grader of the bank that was left has no grades there, and is not kept."""
    assert graders_of(old) == [imported]
    assert graders_of(regraded) == [lexical_config()]
    client = client_of(viewer)
    query = {"bank": regraded.pk, "grader": imported.pk}
    assert board(client, collection, **query).spec.config == lexical_config()
    assert board(client, collection, bank=regraded.pk).spec.config == lexical_config()
    assert board(client, collection, bank=old.pk, grader=lexical_config().pk).spec.config == imported
    topics = client.get(collection.get_absolute_url(), {"bank": old.pk, "grader": lexical_config().pk})
    assert topics.context["rater"].configs == (imported,)


def test_a_bank_without_grades_is_shown_by_what_re_grade_runs(client_of, viewer, collection, new):
    config = lexical_config()
    assert [rater.configs for rater in raters(new)] == [(config,)]
    page = client_of(viewer).get(collection.get_absolute_url(), {"bank": new.pk})
    assert page.context["totals"].share == 0


def test_the_default_bank_is_one_that_the_grader_graded(collection, old, new, imported):
    assert default_bank(collection, imported) == old
    assert default_bank(collection, None) == new


def test_direct_labels_come_after_ratings(collection, topic, passages, old, imported):
    direct = imported_config("labeller", "FagB", Purpose.DIRECT)
    item = ItemFactory(bank=BankFactory(collection=collection), topic=topic)
    for passage in passages:
        grade(direct, item, passage, 1)
    collection.default_grader = ""
    assert default_grader(collection) == imported


def test_the_editor_shows_the_default_grader(client_of, viewer, old, topic, imported):
    page = client_of(viewer).get(reverse("review:topic", args=[old.pk, topic.pk]))
    assert page.context["figures"].graders[ItemKind.QUESTION] == imported
