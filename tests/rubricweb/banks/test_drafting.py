"""From asking a model to items in the bank: actions, the job, and what the inbox holds."""

from __future__ import annotations

import pytest

from grading.errors import GraderUnavailable
from grading.graders.connection import CallProblem
from grading.graders.replies import NoReply
from grading.types import ErrorClass, ItemKind
from rubricweb.banks import drafting
from rubricweb.banks.actions import add_item, revise_item
from rubricweb.banks.changes import AlreadyDecided, CannotDraft, DuplicateItem, RequestUnderWay
from rubricweb.banks.draft_models import Draft, DraftRequest
from rubricweb.banks.drafting import DraftOptions
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Subtopic
from rubricweb.editor import draft_inbox as selectors
from rubricweb.jobs import leases, queue
from rubricweb.jobs.worker import work_on
from tests.factories import TopicFactory
from tests.rubricweb.jobs.workers import wait_until, workers
from tests.rubricweb.jobs.working import claim

PIGMENT = "Which pigment makes leaves red?"
REPLY = f'{{"questions": ["{PIGMENT}", "When does chlorophyll break down?", "Does frost dull colours?"]}}'
QUESTIONS = DraftOptions(ItemKind.QUESTION, "hf_seq2seq", "tiny")


@pytest.fixture
def asked(bank, topic, developer):
    return drafting.request_drafts(bank, topic, QUESTIONS, by=developer)


@pytest.fixture
def drafts(asked, says):
    says(REPLY)
    work_on("drafts", asked.pk)
    return list(Draft.objects.all())


def texts(bank, topic):
    return [row.draft.text for row in selectors.inbox(bank, topic).rows]


def test_a_request_waits_in_the_queue_of_people(
    bank, topic, developer, redis_server, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        asked = drafting.request_drafts(bank, topic, QUESTIONS, by=developer)
    assert (asked.state, asked.prompt_id, asked.by) == ("queued", "TrecDlQuestions@1", developer)
    assert queue.get_queue("high-hf_seq2seq").job_ids == [f"drafts-{asked.pk}-0"]
    assert AuditEntry.objects.filter(verb="drafts requested", object_id=asked.pk, by=developer).exists()


def test_a_request_without_redis_is_kept(
    bank, topic, redis_server, django_capture_on_commit_callbacks, caplog
):
    redis_server.stop()
    with django_capture_on_commit_callbacks(execute=True):
        asked = drafting.request_drafts(bank, topic, QUESTIONS, by=None)
    assert DraftRequest.objects.get() == asked
    assert "were not enqueued" in caplog.text


def test_the_default_model_of_a_back_end(bank, topic):
    wanted = DraftOptions(ItemKind.NUGGET, "hf_seq2seq")
    made = drafting.request_drafts(bank, topic, wanted, by=None)
    assert (made.llm, made.prompt_id) == ("google/flan-t5-large", "TrecDlNuggets@1")


def test_what_cannot_be_asked(bank, topic, collection):
    with pytest.raises(CannotDraft, match=r"lexical cannot write .* these can: hf_seq2seq"):
        drafting.request_drafts(bank, topic, DraftOptions(ItemKind.QUESTION, "lexical"), by=None)
    silent = TopicFactory(collection=collection, text="")
    with pytest.raises(CannotDraft, match="no text"):
        drafting.request_drafts(bank, silent, QUESTIONS, by=None)
    assert not DraftRequest.objects.exists()


def test_the_job_brings_drafts_with_their_provenance(drafts, asked, bank, topic):
    asked.refresh_from_db()
    assert (asked.state, asked.reply, asked.attempts) == ("done", REPLY, 1)
    assert texts(bank, topic) == [PIGMENT, "When does chlorophyll break down?", "Does frost dull colours?"]
    assert not selectors.inbox(bank, topic).requests
    assert not bank.items.exists()


def test_a_model_that_only_thinks_says_so_and_what_it_thought_is_kept(asked, says):
    says(NoReply(CallProblem(ErrorClass.PARSE, "the model did not stop thinking"), raw="<think>1. Which"))
    work_on("drafts", asked.pk)
    asked.refresh_from_db()
    assert (asked.state, asked.error) == ("failed", "the model did not stop thinking")
    assert asked.reply == "<think>1. Which"


def test_the_job_is_safe_to_run_twice(drafts, asked, says):
    llm = says(REPLY)
    work_on("drafts", asked.pk)
    assert (Draft.objects.count(), llm.asked) == (3, [])


def test_a_subtopic_is_asked_with_its_own_words(bank, topic, says):
    Subtopic.objects.create(topic=topic, facet_id="f1", text="Pigments", position=0)
    wanted = DraftOptions(ItemKind.QUESTION, "hf_seq2seq", "tiny", "f1")
    asked = drafting.request_drafts(bank, topic, wanted, by=None)
    llm = says(REPLY)
    work_on("drafts", asked.pk)
    assert asked.prompt_id == "TrecCarQuestions@1"
    assert "the subtopic 'Pigments'" in llm.asked[0]
    item = drafting.accept_draft(Draft.objects.first(), by=None)
    assert item.facet_id == "f1"
    assert selectors.inbox(bank, topic).rows[0].subtopic == "Pigments"


def test_a_reply_without_a_list_is_kept_word_for_word(asked, says, bank, topic):
    llm = says("I would rather not.", "No.")
    work_on("drafts", asked.pk)
    [row] = selectors.inbox(bank, topic).requests
    assert (row.request.state, row.request.reply) == ("failed", "No.")
    assert "no question in 3 replies" in row.request.error
    assert len(llm.asked) == 3


@pytest.mark.parametrize(
    ("error", "said"),
    [(GraderUnavailable("install torch"), "install torch"), (KeyError("x"), "KeyError: 'x'")],
)
def test_a_model_that_breaks_fails_the_request(asked, says, error, said):
    says(error)
    work_on("drafts", asked.pk)
    asked.refresh_from_db()
    assert (asked.state, asked.error, asked.reply) == ("failed", said, "")


def test_asking_again(asked, says, bank, topic, developer):
    says("No.")
    work_on("drafts", asked.pk)
    drafting.ask_again(asked, by=developer)
    says(REPLY)
    work_on("drafts", asked.pk)
    asked.refresh_from_db()
    assert (asked.state, asked.error, asked.attempts) == ("done", "", 1)
    assert len(texts(bank, topic)) == 3
    with pytest.raises(RequestUnderWay):
        drafting.ask_again(asked, by=developer)


def test_a_cancelled_request_can_be_asked_again_and_its_late_worker_adds_nothing(
    asked, bank, topic, says, developer
):
    mine = claim(asked)
    with pytest.raises(RequestUnderWay):
        drafting.ask_again(asked, by=None)
    drafting.cancel_request(asked, by=developer)
    [row] = selectors.inbox(bank, topic).requests
    assert (row.request.state, row.request.error) == ("cancelled", "")
    assert AuditEntry.objects.filter(verb="drafts cancelled", object_id=asked.pk, by=developer).exists()
    drafting.ask_again(asked, by=None)
    says(REPLY)
    work_on("drafts", asked.pk)
    assert not leases.fail(mine, error="late")
    asked.refresh_from_db()
    assert (asked.state, Draft.objects.count()) == ("done", 3)
    drafting.cancel_request(asked, by=developer)
    asked.refresh_from_db()
    assert asked.state == "done"


def test_what_is_being_asked_is_not_asked_a_second_time(asked, bank, topic, developer):
    with pytest.raises(CannotDraft, match="tiny is already being asked for that"):
        drafting.request_drafts(bank, topic, QUESTIONS, by=developer)
    drafting.request_drafts(bank, topic, DraftOptions(ItemKind.NUGGET, "hf_seq2seq", "tiny"), by=developer)
    drafting.cancel_request(asked, by=developer)
    drafting.request_drafts(bank, topic, QUESTIONS, by=developer)
    assert DraftRequest.objects.count() == 3


def test_dismissing_a_failure_keeps_it(asked, says, bank, topic, developer):
    says("No.")
    work_on("drafts", asked.pk)
    drafting.dismiss_request(asked, by=developer)
    assert not selectors.inbox(bank, topic).requests
    assert DraftRequest.objects.get().reply == "No."


def test_an_accepted_draft_becomes_an_item_that_knows_where_it_came_from(drafts, bank, topic, owner):
    item = drafting.accept_draft(drafts[0], by=owner)
    assert (item.revision.text, item.kind, item.changes.get().verb) == (PIGMENT, "question", "added")
    assert item.changes.get().by == owner
    draft = selectors.draft_of(item)
    assert (draft.pk, draft.decided_by, draft.request.llm) == (drafts[0].pk, owner, "tiny")
    assert PIGMENT not in texts(bank, topic)
    with pytest.raises(AlreadyDecided):
        drafting.reject_draft(drafts[0], by=owner)
    verbs = AuditEntry.objects.filter(by=owner).values_list("verb", flat=True)
    assert set(verbs) == {"draft accepted", "item added"}


def test_an_edited_draft_keeps_the_models_words(drafts, owner):
    item = drafting.accept_draft(drafts[0], text="Which pigments redden leaves?", by=owner)
    assert item.revision.text == "Which pigments redden leaves?"
    assert selectors.draft_of(item).text == PIGMENT
    revise_item(item, text="Why red?", seen=1, by=owner)
    assert selectors.draft_of(item).text == PIGMENT


def test_a_twin_is_refused_and_the_draft_waits_on(drafts, bank, topic, owner):
    add_item(bank, topic, kind=ItemKind.QUESTION, text=PIGMENT, by=owner)
    with pytest.raises(DuplicateItem):
        drafting.accept_draft(drafts[0], by=owner)
    assert Draft.objects.get(pk=drafts[0].pk).state == "waiting"
    accepted = drafting.accept_drafts(drafts, by=owner)
    assert ([str(item) for item in accepted.items], accepted.left) == ([str(d) for d in drafts[1:]], 1)


def test_rejecting(drafts, bank, topic, owner):
    assert drafting.reject_drafts(drafts[:2], by=owner) == drafts[:2]
    assert drafting.reject_drafts(drafts, by=owner) == drafts[2:]
    assert texts(bank, topic) == []
    assert not bank.items.exists()
    decided = Draft.objects.values_list("state", "decided_by")
    assert set(decided) == {("rejected", owner.pk)}


def test_a_decided_draft_can_wait_again_and_its_item_is_retired(drafts, owner):
    item = drafting.accept_draft(drafts[0], by=owner)
    drafting.reject_draft(drafts[1], by=owner)
    assert drafting.reopen_drafts(Draft.objects.all(), by=owner) == 2
    states = list(Draft.objects.values_list("state", "decided_by", "item"))
    assert states == [("waiting", None, None)] * 3
    item.refresh_from_db()
    assert item.is_retired
    assert AuditEntry.objects.filter(kind="draft", verb="draft reopened", by=owner).count() == 2
    assert str(drafting.accept_draft(Draft.objects.get(pk=drafts[0].pk), by=owner)) == drafts[0].text


def test_near_duplicates_of_items_and_of_earlier_drafts_are_marked(asked, says, bank, topic, owner):
    add_item(bank, topic, kind=ItemKind.QUESTION, text="Which pigments make a leaf red?", by=owner)
    says('["Which pigment makes leaves red?", "Does frost dull colours?", "Does the frost dull colour?"]')
    work_on("drafts", asked.pk)
    inbox = selectors.inbox(bank, topic)
    assert [row.near.other if row.near else None for row in inbox.rows] == [
        "Which pigments make a leaf red?",
        None,
        "Does frost dull colours?",
    ]
    assert [row.draft.text for row in inbox.plain] == ["Does frost dull colours?"]
    drafting.reject_draft(inbox.rows[1].draft, by=owner)
    assert [bool(row.near) for row in selectors.inbox(bank, topic).rows] == [True, False]


def test_the_same_words_twice_mark_the_second(asked, says, bank, topic):
    says('["Does frost dull colours?"]')
    work_on("drafts", asked.pk)
    again = drafting.request_drafts(bank, topic, QUESTIONS, by=None)
    work_on("drafts", again.pk)
    assert [row.near.score if row.near else 0 for row in selectors.inbox(bank, topic).rows] == [0, 1.0]


def test_a_nugget_is_no_duplicate_of_a_question(asked, says, bank, topic):
    add_item(bank, topic, kind=ItemKind.NUGGET, text=PIGMENT, by=None)
    says(f'["{PIGMENT}"]')
    work_on("drafts", asked.pk)
    assert selectors.inbox(bank, topic).marked == []


def test_the_inbox_asks_few_queries(drafts, bank, topic, django_assert_num_queries):
    with django_assert_num_queries(5):
        selectors.inbox(bank, topic)


def test_a_request_that_is_gone_is_nothing(db, says):
    llm = says(REPLY)
    work_on("drafts", 987654)
    assert (llm.asked, Draft.objects.count()) == ([], 0)


def test_a_real_worker_says_in_the_inbox_why_nothing_came(
    transactional_db, database_url, redis_server, tmp_path, bank, topic
):
    with workers(database_url, redis_server.url, tmp_path) as start:
        start().wait_until_heard()
        nowhere = DraftOptions(ItemKind.QUESTION, "openai_compatible", "none")
        asked = drafting.request_drafts(bank, topic, nowhere, by=None)
        wait_until(lambda: not DraftRequest.objects.filter(state__in=DraftRequest.LIVE), what="its end")
    asked.refresh_from_db()
    assert (asked.state, asked.attempts) == ("failed", 1)
    assert "no model server is configured" in asked.error


@pytest.mark.models
def test_a_real_t5_fills_the_inbox(bank, topic, tmp_path):
    pytest.importorskip("torch")
    from tests.grading import tiny_writers

    wanted = DraftOptions(ItemKind.NUGGET, "hf_seq2seq", str(tmp_path))
    asked = drafting.request_drafts(bank, topic, wanted, by=None)
    [(_, words)] = drafting.request_of(asked).messages
    tiny_writers.build_t5(tmp_path, words, '["red pigment", "short days"]')
    work_on("drafts", asked.pk)
    assert texts(bank, topic) == ["red pigment", "short days"]
    item = drafting.accept_draft(Draft.objects.first(), by=None)
    assert (item.kind, str(item), item.draft.request.llm) == ("nugget", "red pigment", str(tmp_path))
