"""Oversight of answer verification: the grid, the queue, the list, verdicts, and a key that grows."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest

from grading.types import MISSING, Purpose
from rubricweb.accounts.roles import Role
from rubricweb.banks.models import AnswerKey
from rubricweb.campaigns.actions import CampaignPlan, open_campaign
from rubricweb.campaigns.models import Campaign
from rubricweb.campaigns.population import CellChoice
from rubricweb.core.reader import Reader, reading_as
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.configs import config_for, imported_config, saved_config
from rubricweb.grades.human_matrices import RatingSource, ratings_by
from rubricweb.grades.human_models import AnswerVerdict, HumanGrade
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import KINDS, active_raters, raters
from rubricweb.grades.store import save_grades
from rubricweb.grades.verification import change_answer_key, judge_answer
from tests.factories import MembershipFactory, UserFactory, grade
from tests.rubricweb.markup import markup
from tests.rubricweb.toasts import press_undo

pytestmark = pytest.mark.portable

HTMX = {"HX-Request": "true"}
BY_RULE = "QuestionCompleteConcisePromptWithAnswerKey2"
BY_MODEL = "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2"
EXTRACTS = "QuestionCompleteConciseUnanswerablePromptWithChoices"
ANSWERS = {
    "d1": "Anthocyanins",
    "d2": "unanswerable",
    "d3": "anthocyanin pigments",
    "d4": "carotene",
    "d6": "anthocyanin and carotene",
}
"""To the first question, whose key has "anthocyanins"; the second question has no key."""


@pytest.fixture
def verified(autumn):
    """A collection whose Settings ask for verdicts only, with answers compared with the key by rule."""
    Grade.objects.all().delete()
    collection = autumn.collection
    collection.grader_backend, collection.grader_llm = "openai_compatible", "a-model"
    collection.grader_prompts = [BY_RULE]
    collection.save()
    autumn.config = config_for("openai_compatible", "a-model", BY_RULE)
    for item in autumn.items[:2]:
        answered(autumn, autumn.config, item, ANSWERS if item is autumn.items[0] else {"d1": "Nothing much"})
    change_answer_key(autumn.items[0], texts=["anthocyanins"], seen=1, by=None)
    return autumn


def answered(autumn, config, item, answers) -> None:
    rows = [
        Grade(
            config=config,
            topic=autumn.topic,
            revision=item.revision,
            passage=autumn.passages[doc_id],
            answer=answer,
            outcome="extracted",
        )
        for doc_id, answer in answers.items()
    ]
    save_grades(config, rows)


def address(autumn, part="", **query):
    at = f"/collections/{autumn.collection.slug}/review/verify/{autumn.bank.pk}/{part}"
    return at + ("?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else "")


def verdict_of(context, verdict, **changes):
    card = context["card"]
    now, cell = card.now, card.cell
    return {
        "topic": now.topic_id,
        "passage": now.passage.pk,
        "item": now.item.pk,
        "revision": cell.item.revision_id,
        "shown_rating": now.rating,
        "answer": cell.answer_digest,
        "seen": card.seen,
        "verdict": verdict,
    } | changes


def acceptance(autumn, doc_id, answer, **changes):
    item = autumn.items[0]
    item.refresh_from_db()
    passage = autumn.passages[doc_id].pk
    return {"passage": passage, "item": item.pk, "seen": item.version, "answer": answer} | changes


def column(autumn, source=RatingSource.GRADER):
    """By passage: the verdict on the answer to the first question."""
    pool = collection_pool(autumn.collection)
    grades = ratings_by(source, autumn.config, pool)[autumn.topic.pk]
    uid = (autumn.items[0].revision.uid,)
    return dict(zip(grades.pool.doc_ids, grades.matrix.columns(uid).ratings[:, 0].tolist(), strict=True))


def keys(autumn):
    return list(AnswerKey.objects.filter(revision=autumn.items[0].revision).values_list("text", flat=True))


def queued(context):
    return [(one.passage.doc_id, one.rating) for one in (context["card"].now, *context["ahead"])]


def test_grid_shows_verdicts_and_answers(verified, assessor, client_of):
    """Right, none, wrong, and an answer whose question has no key: in signs and in words."""
    client = client_of(assessor)
    page = client.get(verified.grid)
    cells = {(row.doc_id, at): cell for row in page.context["grid"].rows for at, cell in enumerate(row.cells)}
    assert [cells[doc_id, 0].state for doc_id in ("d1", "d2", "d3", "d4", "<b>d5")] == [
        "right",
        "none",
        "wrong",
        "wrong",
        "missing",
    ]
    assert (cells["d1", 1].state, cells["d1", 2].state) == ("answered", "missing")
    assert cells["d3", 0].description == "answer judged wrong"
    assert page.context["grid"].counts.missing == 1  # d5, of the one question with a key
    html = markup(page)
    assert "answer judged right" in html
    assert "rate-3" not in html.partition('data-key-handles="')[2].partition('"')[0]


def test_panel_shows_answer_key_and_where_to_check(verified, assessor, client_of):
    html = markup(client_of(assessor).get(verified.cell("d3", 0), headers=HTMX))
    words = " ".join(html.split())
    assert "Answer judged wrong, a-model, verifying answers" in words
    assert "Answer key anthocyanins" in " ".join(re.sub("<[^>]*>", " ", html).split())
    at = f"at={verified.topic.pk}-{verified.passages['d3'].pk}-{verified.items[0].pk}"
    assert f"/verify/{verified.bank.pk}/?{at}" in html
    assert 'name="rating"' not in html


def test_verify_brings_near_misses_first(verified, assessor, client_of):
    """Wrong verdicts on near answers, the nearest first, then those that nothing is said against."""
    client = client_of(assessor)
    context = client.get(address(verified, order="worst")).context
    assert queued(context) == [("d3", 0), ("d6", 0), ("d1", 1), ("d4", 0)]
    assert context["card"].now.reasons == ("judged wrong, but near an accepted answer",)
    page = markup(client.get(address(verified, order="worst")))
    assert "Is the verdict on the answer right?" in page
    assert page.index('aria-label="Passage"') < page.index('class="verdict"')


def test_verdict_is_saved_apart_from_ratings_and_taken_back(verified, assessor, client_of):
    """A rating of 4 that the assessor gave the cell before stays what it is."""
    client, at = client_of(assessor), address(verified, order="worst")
    rate_cell(Cell.of(verified.items[0], verified.passages["d3"]), rating=4, by=assessor, seen=0)
    first = client.get(at).context
    second = client.post(at, verdict_of(first, "wrong"), headers=HTMX)
    assert second.context["saving"].message == "Saved: the answer is right."
    assert queued(second.context)[0] == ("d6", 0)
    event = AnswerVerdict.objects.get()
    assert (event.is_right, event.seen_rating, event.verdict, event.answer) == (
        True,
        0,
        "wrong",
        ANSWERS["d3"],
    )
    assert list(HumanGrade.objects.values_list("rating", "number")) == [(4, 1)]
    assert (column(verified)["d3"], column(verified, RatingSource.CORRECTED)["d3"]) == (0, 1)
    undo = {"verdict": event.pk, "uid": uuid4()}
    for _ in ("sent", "sent again after a lost connection"):
        undone = client.post(address(verified, "undo/", order="worst"), undo, headers=HTMX)
        assert queued(undone.context)[0] == ("d3", 0)
        assert undone.status_code == 200
    assert column(verified, RatingSource.CORRECTED)["d3"] == 0
    assert AnswerVerdict.objects.count() == 2
    assert AnswerVerdict.objects.latest("number").is_withdrawn


def test_verdict_of_a_stale_page_is_refused(verified, assessor, client_of):
    """In another window; and on an answer that the grader has replaced."""
    client, at = client_of(assessor), address(verified, order="worst")
    first = client.get(at).context
    client.post(at, verdict_of(first, "wrong"), headers=HTMX)
    again = client.post(at, verdict_of(first, "right"), headers=HTMX)
    assert again.status_code == 409
    second = client.get(at).context
    Grade.objects.filter(passage=verified.passages["d6"]).update(answer="something else")
    assert client.post(at, verdict_of(second, "right"), headers=HTMX).status_code == 409
    assert AnswerVerdict.objects.count() == 1


def test_verdict_holds_for_no_other_answer(verified, assessor):
    item, passage = verified.items[0], verified.passages["d4"]
    graded = Grade.objects.select_related("config").get(revision=item.revision, passage=passage)
    judge_answer(Cell.of(item, passage), graded, is_right=True, by=assessor, seen=0)
    assert column(verified, RatingSource.CORRECTED)["d4"] == 1
    answered(verified, verified.config, item, {})
    Grade.objects.filter(pk=graded.pk).delete()
    row = Grade(topic=verified.topic, revision=item.revision, passage=passage, rating=0, outcome="numeric")
    row.answer = "chlorophyll"
    save_grades(verified.config, [row])
    assert column(verified, RatingSource.CORRECTED)["d4"] == 0


def test_accepted_answer_joins_the_key_and_can_be_undone(verified, owner, client_of):
    """The verdicts on it and on equal answers follow, and the cell counts as checked."""
    client, at = client_of(owner), address(verified, "accept/", order="worst")
    assert "Add the answer to the key" in markup(client.get(address(verified, order="worst")))
    response = client.post(at, acceptance(verified, "d3", "anthocyanin pigments"), headers=HTMX)
    assert response.status_code == 200
    assert "“anthocyanin pigments” is an accepted answer now. 1 verdict changed." in markup(response)
    assert keys(verified) == ["anthocyanins", "anthocyanin pigments"]
    assert column(verified)["d3"] == 1
    assert queued(response.context)[0] == ("d6", 0)
    rows = {row.rating: row for row in response.context["estimates"].rows}
    assert (rows[1].cells, rows[1].checked, rows[0].cells) == (2, 1, 2)
    undone = press_undo(client, response)
    assert queued(undone.context)[0] == ("d3", 0)
    assert (keys(verified), column(verified)["d3"]) == (["anthocyanins"], 0)
    assert AnswerVerdict.objects.latest("number").is_withdrawn


def test_accept_works_without_scripts(verified, owner, client_of):
    client, at = client_of(owner), address(verified, "accept/", order="worst")
    page = client.post(at, acceptance(verified, "d3", "anthocyanin pigments"), follow=True)
    assert queued(page.context)[0] == ("d6", 0)
    press_undo(client, page)
    assert keys(verified) == ["anthocyanins"]


def test_accept_is_refused_with_what_to_do(verified, owner, client_of):
    """Another answer by now, another version of the item, and an answer that is too long for a key."""
    client, at = client_of(owner), address(verified, "accept/")
    stale = client.post(at, acceptance(verified, "d3", "what it said before"), headers=HTMX)
    assert "The grader has another answer now" in markup(stale)
    assert "Not saved." in markup(
        client.post(at, acceptance(verified, "d3", ANSWERS["d3"], seen=0), headers=HTMX)
    )
    Grade.objects.filter(passage=verified.passages["d3"]).update(answer="red " * 200)
    long = client.post(at, acceptance(verified, "d3", "red " * 200), headers=HTMX)
    assert "Keep each answer under" in markup(long)
    assert client.post(at, {"item": verified.items[0].pk}, headers=HTMX).status_code == 400
    assert keys(verified) == ["anthocyanins"]
    assert not AnswerVerdict.objects.exists()


@pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 403), (Role.ASSESSOR, 403), (None, 404)])
def test_accept_is_for_those_who_may_edit(verified, client_of, developers_only, role, status):
    person = UserFactory(username="somebody")
    if role:
        MembershipFactory(user=person, collection=verified.collection, role=role)
    client = client_of(person)
    sent = acceptance(verified, "d3", ANSWERS["d3"])
    assert client.post(address(verified, "accept/"), sent).status_code == status
    assert client.post(address(verified, "accept/undo/"), sent).status_code == status
    assert client.get(address(verified, "accept/")).status_code == 405
    if role:
        assert "Add the answer to the key" not in markup(client.get(address(verified, order="worst")))


def test_verdicts_of_models_are_asked_again(verified, owner, client_of):
    """A model that had read the old key has to read the new one."""
    verified.collection.grader_prompts = [EXTRACTS, BY_MODEL]
    verified.collection.save()
    extracting = config_for("openai_compatible", "a-model", EXTRACTS)
    answered(verified, extracting, verified.items[0], ANSWERS)
    config = config_for("openai_compatible", "a-model", BY_MODEL)
    for doc_id, answer in ANSWERS.items():
        row = Grade(
            topic=verified.topic, revision=verified.items[0].revision, passage=verified.passages[doc_id]
        )
        row.rating, row.outcome, row.answer = int(doc_id == "d1"), "numeric", answer
        save_grades(config, [row])
    client, at = client_of(owner), address(verified, "accept/", grader=config.pk)
    page = client.post(at, acceptance(verified, "d3", ANSWERS["d3"]), headers=HTMX)
    assert "5 verdicts of models that had read the old key are to be asked again" in markup(page)
    assert not Grade.objects.by(config).exists()


def test_list_has_question_answer_key_and_verdict(verified, assessor, client_of):
    client = client_of(assessor)
    page = client.get(address(verified, view="list"))
    rows = page.context["listed"].object_list
    assert [(row.doc_id, row.state, row.is_near) for row in rows] == [
        ("d3", "wrong", True),
        ("d6", "wrong", True),
        ("d1", "right", False),
        ("d4", "wrong", False),
    ]
    assert {row.keys for row in rows} == {("anthocyanins",)}
    html = markup(page)
    assert "anthocyanin pigments" in html
    assert "near the key" in html
    near = client.get(address(verified, view="list", rating="near")).context["listed"].object_list
    assert [row.doc_id for row in near] == ["d3", "d6"]
    right = client.get(address(verified, view="list", rating="1"), headers=HTMX).context["listed"].object_list
    assert [row.answer for row in right] == ["Anthocyanins"]
    item = verified.items[0]
    item.refresh_from_db()
    change_answer_key(item, texts=["frost"], seen=item.version, by=None)
    assert "No answers match" in markup(client.get(address(verified, view="list", rating="near")))


def test_list_accepts_an_answer_in_place(verified, owner, client_of):
    client = client_of(owner)
    at = address(verified, "accept/", view="list", rating="near")
    page = client.post(at, acceptance(verified, "d3", ANSWERS["d3"]), headers=HTMX)
    assert [row.doc_id for row in page.context["listed"].object_list] == ["d6"]
    press_undo(client, page)
    assert keys(verified) == ["anthocyanins"]


def test_rating_card_shows_the_answer_and_extends_the_key(autumn, owner, client_of):
    """The click where a miss is seen, also where a grader rates: the card stays, with the longer key."""
    Grade.objects.filter(rating=5).update(answer="the anthocyanin")
    AnswerKey.objects.create(revision=autumn.items[0].revision, text="anthocyanins")
    client, at = client_of(owner), address(autumn, order="worst")
    assert client.get(at).context["card"].cell.keys == ("anthocyanins",)
    sent = acceptance(autumn, "d1", "the anthocyanin")
    page = client.post(address(autumn, "accept/", order="worst"), sent, headers=HTMX)
    assert (page.context["card"].now.passage.doc_id, page.context["card"].cell.keys) == (
        "d1",
        ("anthocyanins", "the anthocyanin"),
    )
    assert "Add the answer to the key" not in markup(page)
    assert not AnswerVerdict.objects.exists()


def test_answer_of_another_grader_is_shown_beside_the_verdict(verified, assessor, client_of):
    """A model verifies answers of a file: the panel has the answer, whoever extracted it."""
    source = imported_config("flan-t5", EXTRACTS, Purpose.EXTRACT)
    answered(verified, source, verified.items[0], ANSWERS)
    verified.collection.answers_by = source.fingerprint
    verified.collection.grader_prompts = [BY_MODEL]
    verified.collection.save()
    (rater,) = active_raters(verified.collection)
    config = saved_config(rater.configs[0])
    row = Grade(topic=verified.topic, revision=verified.items[0].revision, passage=verified.passages["d4"])
    row.rating, row.outcome = 0, "numeric"
    save_grades(config, [row])
    page = client_of(assessor).get(f"{verified.cell('d4', 0)}?grader={config.pk}", headers=HTMX)
    assert page.context["cell"].answer == "carotene"


def test_bulk_offers_no_verdicts_at_once(verified, owner, client_of):
    at = f"/review/banks/{verified.bank.pk}/topics/{verified.topic.pk}/bulk/"
    plan = client_of(owner).get(at).context["plan"]
    assert (plan.unchecked, plan.to_grade) == ((), 1)


def test_ratings_and_verdicts_are_chosen_by_the_grader(verified, assessor, client_of):
    """A rater of the same bank keeps its own screens."""
    rater = imported_config("flan-t5", "QuestionSelfRatedUnanswerablePromptWithChoices", Purpose.RATE)
    grade(rater, verified.items[0], verified.passages["d3"], 5)
    client = client_of(assessor)
    by_rating = client.get(address(verified, grader=rater.pk, order="worst"))
    assert "Does the rating fit what the passage says?" in markup(by_rating)
    by_verdict = client.get(address(verified, grader=verified.config.pk, order="worst")).context
    assert queued(by_verdict)[0] == ("d3", 0)
    assert by_verdict["card"].now.reasons == (
        "judged wrong, but near an accepted answer",
        f"{rater}: covered",
    )


def test_verdicts_on_cells_to_rate_blind_are_hidden(verified, owner, assessor, client_of):
    """Neither in the queue, nor in the list, nor in the grid, nor in what people say of them."""
    item, passage = verified.items[0], verified.passages["d3"]
    graded = Grade.objects.select_related("config").get(revision=item.revision, passage=passage)
    judge_answer(Cell.of(item, passage), graded, is_right=True, by=owner, seen=0)
    topics, kinds = (verified.topic,), frozenset(KINDS)
    choice = CellChoice(verified.bank, topics, kinds, raters(verified.bank)[0])
    open_campaign(choice, CampaignPlan("Blind", Campaign.Mode.BLIND, 1, (assessor.pk,)), by=owner, seed=3)
    client = client_of(assessor)
    assert client.get(address(verified, order="worst")).context["card"] is None
    assert client.get(address(verified, view="list")).context["listed"].object_list == []
    panel = markup(client.get(verified.cell("d3", 0), headers=HTMX))
    assert "anthocyanin pigments" not in panel
    assert "owner" not in panel
    with reading_as(Reader(assessor)):
        assert set(column(verified, RatingSource.CORRECTED).values()) == {MISSING}
