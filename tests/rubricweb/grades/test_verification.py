"""Answers against answer keys: what graders are given, what is graded, and what a changed key does."""

from dataclasses import replace

import pytest
from django.urls import reverse

from grading.graders import registry
from grading.types import ANSWERED, Grade as Graded, ItemKind, Outcome, Purpose
from rubricweb.banks.actions import set_answer_keys
from rubricweb.banks.models import AnswerKey, Item
from rubricweb.corpus.pools import collection_pool
from rubricweb.editor import impact
from rubricweb.editor.items import _saved
from rubricweb.grades import actions, verification
from rubricweb.grades.configs import active_configs, config_for, imported_config
from rubricweb.grades.engine import chunks, progress
from rubricweb.grades.engine.missing import missing_cells
from rubricweb.grades.matrices import topic_grades
from rubricweb.grades.models import Grade, JobChunk
from rubricweb.grades.store import GradeRow, save_grades
from rubricweb.jobs.worker import work_on
from tests.factories import gradable
from tests.rubricweb.grades import scripted
from tests.rubricweb.import_files import Folder
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db

BY_KEY = "QuestionCompleteConcisePromptWithAnswerKey2"
ANSWERS = ("Anthocyanins", "the carotene", "unanswerable", "Red pigment.", "apple pie")
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def config(monkeypatch):
    monkeypatch.setitem(
        registry.BACKENDS,
        "scripted",
        replace(
            registry.BACKENDS["hf_seq2seq"],
            name="scripted",
            target=f"{scripted.__name__}:ScriptedGrader",
            first_cells=5,
        ),
    )
    monkeypatch.setattr(scripted, "SCRIPT", [])
    chunks.close_until(0)
    return config_for("scripted", "paper", BY_KEY)


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=1, passages=5, items=2)


@pytest.fixture
def item(bank):
    return bank.items.first()


@pytest.fixture
def stored(config, item):
    """One stored answer a passage, saved as the worker of a first key saved it."""
    change(item, "anthocyanin")
    rows = [
        GradeRow(item.topic_id, item.revision_id, pooled.passage_id, None, "extracted", answer, answer)
        for pooled, answer in zip(item.topic.pool.all(), ANSWERS, strict=True)
    ]
    save_grades(config, verification.with_present_keys(config, rows, keys_read={}))
    return item


def change(item, *texts, by=None):
    return verification.change_answer_key(item, texts=texts, seen=item.version, by=by)


def column(config, item):
    """The ratings of the item's wording over the pool, as boards read them; -1 is missing."""
    pool = collection_pool(item.bank.collection)
    matrix = topic_grades(config, pool, item.topic_id).matrix
    return matrix.columns((item.revision.uid,)).ratings[:, 0].tolist()


def test_stored_answers_get_the_verdict_of_the_changed_key(config, stored, django_assert_max_num_queries):
    """By hand: anthocyanin accepts the plural (stemmed); then carotene and red pigment are right too."""
    assert column(config, stored) == [1, 0, 0, 0, 0]
    with django_assert_max_num_queries(30):
        verified = change(stored, "anthocyanin", "carotene", "red pigments")
    assert (verified.answers, verified.changed) == (5, 2)
    assert column(config, stored) == [1, 1, 0, 1, 0]
    assert scripted.SCRIPT == []
    outcomes = Grade.objects.order_by("pk").values_list("outcome", flat=True)
    assert list(outcomes) == ["numeric", "numeric", "unanswerable", "numeric", "numeric"]


def test_without_a_key_answers_wait_unrated_and_a_new_key_finds_them(config, stored, bank):
    change(stored)
    assert column(config, stored) == [ANSWERED] * 5
    assert set(Grade.objects.values_list("rating", "outcome")) == {(None, "extracted")}
    change(stored, "carotene")
    assert column(config, stored) == [0, 1, 0, 0, 0]
    assert not missing_cells(bank.collection, [config])[0].cells
    assert list(Grade.objects.order_by("pk").values_list("answer", flat=True)) == list(ANSWERS)


def test_other_wordings_graders_and_failures_stay(config, stored, bank):
    other = bank.items.last()
    passage = stored.topic.pool.first().passage_id
    imported = imported_config("t5", BY_KEY, Purpose.VERIFY)
    rating = config_for("scripted", "paper", "QuestionSelfRatedUnanswerablePromptWithChoices")
    cell = (stored.topic_id, stored.revision_id, passage)
    save_grades(imported, [GradeRow(*cell, 0, "numeric", "carotene")])
    save_grades(rating, [GradeRow(*cell, 4, "numeric", "carotene")])
    save_grades(config, [GradeRow(stored.topic_id, other.revision_id, passage, 0, "numeric", "carotene")])
    Grade.objects.filter(config=config, answer="the carotene").update(outcome="failed", rating=None)
    untouched = Grade.objects.exclude(config=config, revision=stored.revision).order_by("pk")
    before = list(untouched.values())
    assert change(stored, "carotene").answers == 4
    assert list(untouched.values()) == before
    assert column(config, stored) == [0, -2, 0, 0, 0]


def test_the_same_key_again_checks_nothing(config, stored):
    assert change(stored, "anthocyanin") == verification.VerificationCounts(0, 0)


def test_only_questions_with_a_key_are_graded(config, bank, item):
    assert missing_cells(bank.collection, [config])[0].cells == 0
    change(item, "anthocyanin", "carotene")
    (gap,) = missing_cells(bank.collection, [config])
    assert (gap.cells, gap.scope) == (5, "1 item of 1 topic")
    item.refresh_from_db()
    change(item)
    assert missing_cells(bank.collection, [config])[0].cells == 0


def test_a_job_hands_the_key_to_the_grader_and_saves_by_the_key_of_then(config, bank, item, redis_server):
    """While the model answers, somebody accepts carotene too."""
    change(item, "anthocyanin", "anthocyan")
    keys = []

    def answered(number, pair):
        keys.append(pair.item.answers)
        if number == 0:
            change(Item.objects.get(pk=item.pk), "carotene")
        yield Graded(pair.item.item_id, pair.passage.passage_id, 0, Outcome.NUMERIC, ANSWERS[number])

    scripted.SCRIPT.append(answered)
    (job,) = actions.start_grading(bank.collection, by=None, configs=[config])
    work_on("chunk", JobChunk.objects.get().pk)
    job.refresh_from_db()
    assert job.state == "done"
    assert keys == [("anthocyanin", "anthocyan")] * 5
    assert column(config, item) == [0, 1, 0, 0, 0]


def test_an_import_that_adds_to_a_key_checks_stored_answers_too(config, stored, tmp_path):
    AnswerKey.objects.all().delete()  # as if the first key had come from a file too
    stored.changes.filter(verb="keyed").delete()
    line = {
        "query_id": stored.topic.query_id,
        "query_text": stored.topic.text,
        "items": [
            {
                "question_id": stored.revision.uid,
                "question_text": stored.revision.text,
                "gold_answers": ["carotene"],
            }
        ],
    }
    folder = Folder(tmp_path)
    folder.load("--bank", folder.lines("bank.jsonl", line))
    assert column(config, stored) == [0, 1, 0, 0, 0]


def test_active_configs_are_those_that_an_organizer_chose(collection):
    collection.grader_backend, collection.grader_llm = "hf_seq2seq", "flan"
    default = [config.prompt_class for config in active_configs(collection)]
    assert default == list(registry.BACKENDS["hf_seq2seq"].prompt_classes)
    collection.grader_prompts = ["FagB", BY_KEY, "NuggetSelfRatedPrompt", "NoSuchPrompt"]
    assert [(config.prompt_class, config.purpose) for config in active_configs(collection)] == [
        ("NuggetSelfRatedPrompt", "rate"),
        ("FagB", "direct"),
        (BY_KEY, "verify"),
    ]
    collection.grader_backend, collection.grader_llm = "lexical", "lexical"
    assert [config.prompt_class for config in active_configs(collection)] == ["LexicalBaseline"]


def test_the_price_of_a_draft_counts_verifying_only_where_its_words_have_a_key(
    config, bank, item, monkeypatch
):
    """5 passages at 10 cells a second: half a second a prompt."""
    monkeypatch.setattr(progress, "measured_rate", lambda config: 10.0)
    collection = bank.collection
    collection.grader_backend, collection.grader_llm = "scripted", "paper"
    collection.grader_prompts = ["QuestionSelfRatedPrompt", BY_KEY]
    draft = impact.UnsavedItem(bank, item.topic, ItemKind.QUESTION, item.revision.text)
    assert impact.impact_of(draft).seconds == pytest.approx(0.5)
    change(item, "anthocyanin")
    assert impact.impact_of(draft).seconds == pytest.approx(1.0)


# The form


def url_of(item):
    return reverse("editor:item-answer-key", args=[item.bank_id, item.pk])


def test_the_row_counts_accepted_answers_and_links_to_them(client_of, viewer, item):
    set_answer_keys(item, texts=["anthocyanin", "carotene"], seen=1, by=None)
    page = markup(client_of(viewer).get(reverse("review:topic", args=[item.bank_id, item.topic_id])))
    assert f'href="{url_of(item)}"' in page
    assert page.count("Answer key (2)") == 1
    assert page.count("Answer key (0)") == 1


def test_the_list_of_items_takes_no_query_an_item_for_keys(
    client_of, viewer, bank, django_assert_max_num_queries
):
    url = reverse("review:topic", args=[bank.pk, bank.items.first().topic_id])
    client = client_of(viewer)
    client.get(url)
    with django_assert_max_num_queries(60) as few:
        client.get(url)
    for number in range(5):
        item = Item.objects.create(
            bank=bank,
            topic=bank.items.first().topic,
            kind="question",
            position=10 + number,
            revision=bank.items.first().topic.revisions.create(uid=f"u{number}", text=f"Why {number}?"),
        )
        set_answer_keys(item, texts=[f"because {number}"], seen=1, by=None)
    with django_assert_max_num_queries(len(few)):
        assert markup(client.get(url)).count("Answer key (1)") == 5


def test_changing_a_key_without_javascript(client_of, developer, config, stored):
    client = client_of(developer)
    page = markup(client.get(url_of(stored)))
    assert "<title>Answer key" in page
    assert ">\nanthocyanin</textarea>" in page
    answer = client.post(url_of(stored), {"texts": "anthocyanin\r\n\r\ncarotene\r\n", "seen": stored.version})
    assert answer.status_code == 302
    assert answer["Location"].endswith(f"#item-{stored.pk}")
    assert list(stored.revision.answer_keys.values_list("text", "by__username")) == [
        ("anthocyanin", None),
        ("carotene", "developer"),
    ]
    assert column(config, stored) == [1, 1, 0, 0, 0]
    page = markup(client.get(answer["Location"]))
    assert "5 stored answers checked again, 1 with another verdict." in page


def test_by_htmx_the_row_comes_back_and_the_list_fetches_itself(client_of, developer, item):
    answer = client_of(developer).post(url_of(item), {"texts": "carotene", "seen": 1}, **HTMX)
    html = markup(answer)
    assert html.lstrip().startswith(f'<li id="item-{item.pk}"')
    assert "Answer key (1)" in html
    assert "Answer key saved." in html
    assert "items-changed" in answer["HX-Trigger-After-Settle"]


def test_a_conflict_shows_both_and_saves_neither_over_the_other(client_of, developer, owner, item):
    change(Item.objects.get(pk=item.pk), "anthocyanin", by=owner)
    answer = client_of(developer).post(url_of(item), {"texts": "carotene", "seen": 1})
    assert answer.status_code == 409
    html = markup(answer)
    assert ">\ncarotene</textarea>" in html
    assert '<li class="prose">anthocyanin</li>' in html
    assert 'name="seen" value="2"' in html
    assert "Save mine over it" in html
    assert [key.text for key in item.revision.answer_keys.all()] == ["anthocyanin"]
    assert client_of(developer).post(url_of(item), {"texts": "carotene", "seen": 2}).status_code == 302


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ("\n".join(f"answer {n}" for n in range(21)), "Keep it to 20 answers; these are 21."),
        ("x" * 301, "Keep each answer under 300 characters"),
    ],
)
def test_what_does_not_fit_is_said_at_the_field(client_of, developer, item, texts, said):
    answer = client_of(developer).post(url_of(item), {"texts": texts, "seen": 1}, **HTMX)
    assert answer.status_code == 422
    assert said in markup(answer)
    assert not AnswerKey.objects.exists()


@pytest.mark.usefixtures("developers_only")
@pytest.mark.parametrize(
    ("role", "reads", "changes"), [("viewer", 200, 403), ("assessor", 200, 403), ("outsider", 404, 404)]
)
def test_others_read_at_most(request, client_of, item, role, reads, changes):
    client = client_of(request.getfixturevalue(role))
    change(item, "anthocyanin")
    page = client.get(url_of(item))
    assert page.status_code == reads
    assert client.post(url_of(item), {"texts": "carotene", "seen": 2}).status_code == changes
    assert AnswerKey.objects.get().text == "anthocyanin"
    if reads == 200:
        assert '<li class="prose">anthocyanin</li>' in markup(page)
        assert "<textarea" not in markup(page)


def test_wrong_methods_and_items_without_a_key(client_of, developer, item):
    client = client_of(developer)
    assert client.put(url_of(item)).status_code == 405
    assert client.head(url_of(item)).status_code == 200
    Item.objects.filter(pk=item.pk).update(kind="nugget")
    assert client.get(url_of(item)).status_code == 404


def test_what_is_said_after_saving():
    assert _saved(verification.VerificationCounts(0, 0)) == "Answer key saved."
    assert "1 stored answer checked" in _saved(verification.VerificationCounts(1, 1))
