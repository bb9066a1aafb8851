"""The bank editor's page, its live list, retire and restore, and the impact preview over HTTP."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import strip_tags

from grading.types import Purpose
from rubricweb.banks import actions
from rubricweb.banks.models import Item
from rubricweb.corpus.models import Subtopic
from rubricweb.grades.configs import imported_config
from rubricweb.grades.models import Grade
from tests.factories import BankFactory, ItemFactory, TopicFactory, grade, lexical_config, pooled, ranked
from tests.rubricweb.markup import markup

HTMX = {"HTTP_HX_REQUEST": "true"}
WORDS = "Which pigment makes leaves red?"


@pytest.fixture
def topic(collection):
    return TopicFactory(collection=collection, query_id="q1", text="why do leaves turn red")


@pytest.fixture
def passages(topic):
    ranked(topic, {"bm25": ["d0", "d1"], "tfidf": ["d2"]})
    return pooled(topic, 4)


@pytest.fixture
def bank(collection):
    return BankFactory(collection=collection)


@pytest.fixture
def item(bank, topic, passages):
    """Rated 5, 2, failed, and not graded."""
    made = ItemFactory(bank=bank, topic=topic, text=WORDS, position=0)
    config = lexical_config()
    grade(config, made, passages[0], 5)
    grade(config, made, passages[1], 2)
    grade(config, made, passages[2], None, "failed")
    return made


def editor(bank, topic, query=""):
    return reverse("review:topic", args=[bank.pk, topic.pk]) + query


def url_of(name, item):
    return reverse(f"editor:{name}", args=[item.bank_id, item.pk])


def test_the_page_is_for_members(client_of, viewer, outsider, item):
    url = editor(item.bank, item.topic)
    page = client_of(viewer).get(url)
    assert page.status_code == 200
    assert "why do leaves turn red</h1>" in markup(page)
    assert "Reword" not in markup(page)
    assert "new-item" not in markup(page)
    assert client_of(outsider).get(url).status_code == 404
    assert client_of(viewer).post(url).status_code == 405
    assert client_of(viewer).get(editor(item.bank, TopicFactory())).status_code == 404


def test_figures_say_share_spread_missing_and_failed(client_of, viewer, item):
    html = markup(client_of(viewer).get(editor(item.bank, item.topic)))
    assert "25\u202f%" in html
    assert "1 of 4 rated 4 or more" in html
    assert (
        "rated 0: 0, rated 1: 0, rated 2: 1, rated 3: 0, rated 4: 0, rated 5: 1, not graded: 1, failed: 1"
        in html
    )
    assert "1 not graded" in html
    assert "1 failed" in html
    assert "75\u202f% of 4 pairs are graded" in html
    lower = markup(client_of(viewer).get(editor(item.bank, item.topic, "?min_grade=2")))
    assert "2 of 4 rated 2 or more" in lower


def test_the_mean_grade_is_the_same_to_eyes_and_ears(client_of, viewer, bank, topic):
    """2.125 lies in the middle, which one rule rounds up and another down."""
    item = ItemFactory(bank=bank, topic=topic, text=WORDS, position=0)
    for passage, rating in zip(pooled(topic, 8), [*[2] * 7, 3], strict=True):
        grade(lexical_config(), item, passage, rating)
    html = markup(client_of(viewer).get(editor(bank, topic)))
    assert re.findall(r"mean grade ([\d.]+)", html) == ["2.12", "2.12"]


@pytest.mark.parametrize(
    "query", ["?min_grade=9", "?min_grade=x", "?grader=99999", "?grader=x", "?open=x&changed=x"]
)
def test_settings_that_cannot_be_read_leave_the_default(client_of, viewer, item, query):
    page = client_of(viewer).get(editor(item.bank, item.topic, query))
    assert page.status_code == 200
    assert "1 of 4 rated 4 or more" in markup(page)


def test_another_grader_by_its_id_in_the_address(client_of, viewer, item, passages):
    other = imported_config("flan", "QuestionSelfRatedUnanswerablePromptWithChoices", Purpose.RATE)
    for passage in passages:
        grade(other, item, passage, 4)
    html = markup(client_of(viewer).get(editor(item.bank, item.topic, f"?grader={other.pk}")))
    assert "4 of 4 rated 4 or more" in html
    assert f'<option value="{other.pk}" selected>' in html
    assert "pairs are graded" not in html
    assert "Look at the <a" in html


def test_items_stand_in_groups_by_subtopic_and_kind(client_of, viewer, item):
    Subtopic.objects.create(topic=item.topic, facet_id="trees", text="Kinds of trees", position=0)
    ItemFactory(bank=item.bank, topic=item.topic, kind="nugget", text="Anthocyanin", position=1)
    ItemFactory(bank=item.bank, topic=item.topic, facet_id="trees", text="Which maple?", position=2)
    html = markup(client_of(viewer).get(editor(item.bank, item.topic)))
    places = [
        html.index(f'aria-label="{name}"') for name in ("Questions", "Nuggets", "Kinds of trees: Questions")
    ]
    assert places == sorted(places)


def test_banks_and_topics_are_one_click_apart(client_of, viewer, item, collection):
    other = BankFactory(collection=collection, name="other")
    following = TopicFactory(collection=collection)
    html = markup(client_of(viewer).get(editor(item.bank, item.topic, "?min_grade=3")))
    assert f'{editor(other, item.topic)}?min_grade=3"' in html
    assert f'rel="next" href="{editor(item.bank, following)}?min_grade=3"' in html
    assert 'rel="prev"' not in html


def test_an_empty_topic_says_what_to_do(client_of, developer, bank, topic):
    html = markup(client_of(developer).get(editor(bank, topic)))
    assert "No questions or nuggets yet" in html
    assert re.search(
        r'<textarea[^>]* id="new-item-text"[^>]* autofocus|<textarea[^>]* autofocus[^>]* id="new-item-text"',
        html,
    )
    assert 'href="#new-item-text"' in html


def test_an_id_without_text_is_shown_and_can_be_supplied(client_of, developer, item):
    item.revision.text = ""
    item.revision.save()
    html = markup(client_of(developer).get(editor(item.bank, item.topic)))
    assert item.revision.uid in html
    assert url_of("item-supply", item) in html


def test_the_list_is_a_part_without_the_panel(client_of, developer, item):
    other = ItemFactory(bank=item.bank, topic=item.topic, text="Which tree?", position=1)
    actions.retire_item(other, seen=1, by=developer)
    client = client_of(developer)
    part = client.get(editor(item.bank, item.topic), **HTMX)
    assert markup(part).lstrip().startswith('<div id="items"')
    assert "HX-Request" in part["Vary"]
    assert 'id="item-panel"' not in markup(part), "what is written there stays when the list is fetched again"
    assert '<details id="retired">' in markup(part)
    assert '<details id="retired" open>' in markup(
        client.get(editor(item.bank, item.topic, "?retired=&retired=1"), **HTMX)
    )


def test_queries_do_not_grow_with_the_items(client_of, developer, item, passages):
    client, url = client_of(developer), editor(item.bank, item.topic)
    client.get(url)
    with CaptureQueriesContext(connection) as few:
        client.get(url)
    for n in range(20):
        added = ItemFactory(bank=item.bank, topic=item.topic, text=f"Question {n}?", position=n + 1)
        grade(lexical_config(), added, passages[n % 4], 3)
    client.get(url)
    with CaptureQueriesContext(connection) as many:
        client.get(url)
    assert len(many) == len(few) <= 20


def test_a_row_alone(client_of, viewer, outsider, item):
    url = url_of("item", item)
    row = markup(client_of(viewer).get(url, **HTMX))
    assert f'<li id="item-{item.pk}"' in row
    assert "1 of 4 rated 4 or more" in row
    assert client_of(viewer).get(url)["Location"].endswith(f"#item-{item.pk}")
    assert client_of(outsider).get(url, **HTMX).status_code == 404
    assert client_of(viewer).post(url).status_code == 405


def test_retiring_shows_before_what_would_change_and_after_what_did(client_of, developer, item):
    client, url = client_of(developer), url_of("item-retire", item)
    ItemFactory(bank=item.bank, topic=item.topic, text="Which tree?", position=1)
    for answer in (client.get(url), client.get(url, **HTMX)):
        html = markup(answer)
        assert "2 labels change</strong>;" in html
        assert "tfidf 2 → 1." in html
        assert "0.0000" in html
    item.refresh_from_db()
    assert not item.is_retired
    done = client.post(url, {"seen": 1}, **HTMX)
    html = markup(done)
    assert "Retired:" in html
    assert "tfidf 2 → 1." in html
    assert "items-changed" in done["HX-Trigger-After-Settle"]
    item.refresh_from_db()
    assert item.is_retired


def test_without_javascript_the_page_says_what_the_change_did(client_of, developer, item):
    client = client_of(developer)
    answer = client.post(url_of("item-retire", item), {"seen": 1})
    assert answer["Location"] == editor(item.bank, item.topic, f"?changed={item.pk}#changed")
    page = markup(client.get(answer["Location"]))
    assert "Question retired:</strong>" in page
    assert "2 labels change" in page
    back = client.post(url_of("item-restore", item), {"seen": 2})
    assert "Question back in the rubric:" in markup(client.get(back["Location"]))


def test_somebody_was_faster(client_of, developer, owner, item):
    actions.revise_item(Item.objects.get(pk=item.pk), text="Why red?", seen=1, by=owner)
    answer = client_of(developer).post(url_of("item-retire", item), {"seen": 1}, **HTMX)
    html = markup(answer)
    assert answer.status_code == 409
    assert f"It was reworded by {owner}" in html
    assert "Why red?" in html
    assert 'name="seen" value="2"' in html
    item.refresh_from_db()
    assert not item.is_retired


def test_restoring_what_is_asked_again_is_refused(client_of, developer, item):
    actions.retire_item(item, seen=1, by=developer)
    ItemFactory(bank=item.bank, topic=item.topic, revision=item.revision, position=1)
    answer = client_of(developer).post(url_of("item-restore", item), {"seen": 2}, **HTMX)
    assert answer.status_code == 422
    assert "This topic already asks exactly this." in markup(answer)


def test_a_change_without_a_version_is_refused(client_of, developer, item):
    assert client_of(developer).post(url_of("item-retire", item)).status_code == 422
    item.refresh_from_db()
    assert not item.is_retired


def preview(client, about, htmx=True, **fields):
    url = reverse("editor:impact", args=[about.bank_id, about.topic_id])
    return client.post(url, {"kind": "question"} | fields, **(HTMX if htmx else {}))


def test_the_preview_says_what_saving_would_do_and_writes_nothing(client_of, developer, item):
    revisions = item.topic.revisions.count()
    html = markup(preview(client_of(developer), item, text="Does frost make leaves red?"))
    words = strip_tags(html)
    assert "4 passages to grade" in words
    assert "0 already graded" in words
    assert "a guess: the grader has not run here yet" in words
    assert "up to 1 of 2 runs could move" in words
    assert 'data-announced="4 passages to grade, 0 already graded; up to 1 of 2 runs could move.' in html
    assert "<html" not in html
    assert (item.topic.revisions.count(), Grade.objects.count(), Item.objects.count()) == (revisions, 3, 1)
    page = markup(preview(client_of(developer), item, htmx=False, text="Does frost make leaves red?"))
    assert "Nothing has been saved" in page


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"text": WORDS}, "This topic already asks exactly this."),
        ({"text": "x" * 2001}, "Keep it under 2,000 characters; this has 2,001."),
        ({"text": "Why?", "kind": "riddle"}, "riddle is not one of the available choices"),
    ],
)
def test_what_the_preview_says_of_odd_words(client_of, developer, item, fields, said):
    assert said in markup(preview(client_of(developer), item, **fields))


def test_unchanged_and_known_words(client_of, developer, item):
    client = client_of(developer)
    for text in (WORDS, "  "):
        assert "The impact shows here" in markup(preview(client, item, text=text, item=item.pk))
    actions.revise_item(item, text="Why red?", seen=1, by=developer)
    words = strip_tags(markup(preview(client, item, text=WORDS, item=item.pk)))
    assert "1 passage to grade" in words
    assert "3 already graded" in words


def test_similar_items_show_while_one_is_written(client_of, developer, item):
    client = client_of(developer)
    html = markup(preview(client, item, text="Which pigment reddens the leaves?"))
    assert "Similar items" in html
    assert f"#item-{item.pk}" in html
    assert "Similar items" not in markup(preview(client, item, text="When do maples bloom?"))
    own = markup(preview(client, item, text="Which pigment reddens the leaves?", item=item.pk))
    assert "Similar items" not in own, "it is the item that is being reworded"


def test_the_preview_is_for_developers(client_of, viewer, outsider, developer, item):
    assert preview(client_of(viewer), item, text="Why?").status_code == 403
    assert preview(client_of(outsider), item, text="Why?").status_code == 404
    url = reverse("editor:impact", args=[item.bank_id, item.topic_id])
    assert client_of(developer).get(url).status_code == 405


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("item-edit", "Reword a question"),
        ("item-weigh", "Weigh a question"),
        ("item-answer-key", "Answer key"),
        ("item-history", "History of a question"),
        ("item-retire", "Retire a question?"),
    ],
)
def test_a_form_of_an_item_is_a_panel_or_alone_a_page_that_names_the_topic(
    client_of, developer, item, name, title
):
    client, address = client_of(developer), url_of(name, item)
    panel = markup(client.get(address, **HTMX)).lstrip()
    assert panel.startswith('<aside id="item-panel"')
    assert "<h1" not in panel
    page = client.get(address)
    assert page.templates[0].name == "editor/item.html"
    html = markup(page)
    assert f"<h1>{title}</h1>" in html
    assert f'href="{editor(item.bank, item.topic)}"' in html
    assert item.topic.text in html
    assert '<aside id="item-panel"' in html
