"""The start of a bank: topics at once, three ways to begin, and a model that drafts for all topics."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from rubricweb.banks.draft_jobs import live_job, seconds_a_place
from rubricweb.banks.draft_models import Draft, DraftChunk, DraftJob, DraftRequest
from rubricweb.corpus.models import OfficialScore
from rubricweb.editor.start import start_of
from rubricweb.jobs import limits
from rubricweb.jobs.worker import work_on
from tests.factories import BankFactory, ItemFactory, TopicFactory
from tests.rubricweb.banks.conftest import Scripted
from tests.rubricweb.markup import markup

MODEL = "hf_seq2seq|google/flan-t5-large"


@pytest.fixture
def topics(collection):
    texts = {"t1": "why do leaves turn red", "t2": "how does bread rise", "t3": "what is a leap year"}
    return [
        TopicFactory(
            collection=collection, query_id=query_id, text=text, position=place, narrative=f"About {text}."
        )
        for place, (query_id, text) in enumerate(texts.items())
    ]


def page_of(client, collection) -> str:
    return " ".join(markup(client.get(collection.get_absolute_url())).split())


def begin(client, collection, **more):
    address = reverse("editor:draft-all", args=[collection.slug])
    return client.post(address, {"kind": "question", "model": MODEL, "most_calls": "99"} | more)


@pytest.fixture
def work(monkeypatch):
    """`work(n)`: a worker does the first n chunks that wait, by a model that writes one question."""
    llm = Scripted('["Which pigment?"]')
    monkeypatch.setattr(limits, "text_model", lambda *_, **__: llm)

    def do(count: int = 99) -> None:
        for chunk in DraftChunk.objects.filter(state="queued").order_by("pk")[:count]:
            work_on("drafting", chunk.pk)

    return do


def test_topics_without_a_bank_are_seen_at_once(client_of, developer, viewer, collection, topics):
    html = page_of(client_of(developer), collection)
    assert "3 of 3 topics have no questions yet" in html
    for topic in topics:
        assert topic.text in html
        assert f"About {topic.text}." in html
    assert "Draft 10 questions for each of 3 topics" in html
    assert "Try it on t1 first" in html
    assert "Write for t1" in html
    seen = page_of(client_of(viewer), collection)
    assert topics[2].text in seen
    assert "Draft 10 questions" not in seen
    assert "a topic developer or an organizer does that." in seen


def test_official_scores_are_seen_by_who_may_see_runs(client_of, developer, viewer, collection, topics):
    collection.shows_run_tags = True
    collection.save()
    OfficialScore.objects.create(
        collection=collection, board="track", run_tag="bm25", value=0.5, is_rank=False
    )
    assert "bm25" in page_of(client_of(developer), collection)
    assert "bm25" not in page_of(client_of(viewer), collection)


def test_drafting_for_all_topics_begins_a_bank(client_of, developer, collection, topics):
    answer = begin(client_of(developer), collection)
    bank = collection.banks.get()
    assert answer.url == f"/collections/{collection.slug}/editor/drafts/?bank={bank.pk}"
    job = DraftJob.objects.get()
    assert [chunk.topic for chunk in job.chunks.all()] == topics
    assert (job.backend, job.llm, job.by, job.most_calls) == (*MODEL.split("|"), developer, 99)
    html = " ".join(markup(client_of(developer).get(answer.url, follow=True)).split())
    assert "<strong>0 of 3 topics.</strong>" in html
    assert "Cancel" in html
    begin(client_of(developer), collection)
    assert DraftJob.objects.count() == 1, "topics that are being asked about are not asked about again"


def test_one_topic_is_tried_first_and_measured(client_of, developer, collection, topics, work):
    begin(client_of(developer), collection, only="1", most_calls="")
    work()
    now = timezone.now()
    DraftRequest.objects.update(queued_at=now - timedelta(seconds=60), ended_at=now)
    assert seconds_a_place(*MODEL.split("|")) == 60
    start = start_of(collection, collection.banks.get(), {"kind": "question", "model": MODEL})
    assert [place.topic.query_id for place in start.lacking.places] == ["t2", "t3"]
    assert (start.lacking.without_items, start.lacking.total) == (3, 3)
    assert start.price.seconds == pytest.approx((84, 180))


def test_a_job_says_how_far_it_is_and_is_steered(client_of, developer, collection, topics, work):
    begin(client_of(developer), collection)
    work(1)
    client, bank, job = client_of(developer), collection.banks.get(), DraftJob.objects.get()
    parts = {"HX-Request": "true", "HX-Target": "start"}
    page = reverse("editor:review-drafts", args=[collection.slug])
    part = " ".join(markup(client.get(page, headers=parts)).split())
    assert part.startswith('<section id="start"')
    assert "<strong>1 of 3 topics.</strong>" in part
    assert client.post(reverse("editor:draft-steer", args=[bank.pk, job.pk, "pause"])).status_code == 302
    assert "Change limits" in markup(client.get(page, headers=parts))
    limits = reverse("editor:draft-limits", args=[bank.pk, job.pk])
    client.post(limits, {"most_calls": "7"})
    assert DraftJob.objects.get().most_calls == 7
    client.post(reverse("editor:draft-steer", args=[bank.pk, job.pk, "cancel"]))
    assert live_job(bank) is None
    assert Draft.objects.count() == 1


def test_drafts_of_an_ended_job_are_what_comes_next(client_of, developer, viewer, collection, topics, work):
    begin(client_of(developer), collection)
    work()
    bank = collection.banks.get()
    html = " ".join(page_of(client_of(developer), collection).split())
    assert "3 drafts to accept or reject" in html
    assert f"/collections/{collection.slug}/editor/drafts/?bank={bank.pk}" in html
    assert "Write for t1" in html
    assert "with a model" not in html
    assert "accept or reject" not in page_of(client_of(viewer), collection)
    inbox = client_of(developer).get(reverse("editor:drafts", args=[bank.pk, topics[0].pk]))
    assert "no questions yet" not in markup(inbox)


def test_limits_are_asked_for_and_another_model_has_its_own_price(
    client_of, developer, collection, topics, settings
):
    settings.OPENAI_BASE_URL, settings.PRICES = "http://127.0.0.1:9/v1", {}
    client, parts = client_of(developer), {"HX-Request": "true", "HX-Target": "start"}
    page = reverse("editor:review-drafts", args=[collection.slug])
    served = next(
        name for name in start_of(collection, None).form.fields["model"].choices if "openai" in name[0]
    )
    part = markup(client.get(page, {"kind": "nugget", "model": served[0]}, headers=parts))
    assert "Draft 10 nuggets for" in " ".join(part.split())
    assert "No price is set for this model." in part
    refused = client.post(
        reverse("editor:draft-all", args=[collection.slug]),
        {"kind": "nugget", "model": served[0], "most_calls": "0"},
        headers=parts,
    )
    assert refused.status_code == 422
    assert "greater than or equal to 1" in markup(refused)
    assert not DraftJob.objects.exists()


def test_only_editors_of_the_bank_may_ask(client_of, viewer, assessor, outsider, collection, topics):
    for person, status in ((viewer, 403), (assessor, 403), (outsider, 404)):
        assert begin(client_of(person), collection).status_code == status
    assert not collection.banks.exists()


def test_a_model_that_is_not_offered_is_refused(client_of, developer, collection, topics):
    begin(client_of(developer), collection, model="hf_causal|https://elsewhere")
    assert not DraftJob.objects.exists()


def test_a_bank_with_items_for_each_topic_has_no_start(client_of, developer, collection, topics):
    bank = BankFactory(collection=collection)
    for topic in topics:
        ItemFactory(bank=bank, topic=topic, text=f"What of {topic.text}?")
    assert start_of(collection, bank) is None
    assert "no questions yet" not in page_of(client_of(developer), collection)


def test_review_goes_from_topic_to_topic(client_of, developer, collection, topics, work):
    begin(client_of(developer), collection)
    work()
    client, bank = client_of(developer), collection.banks.get()
    page = client.get(reverse("editor:review-drafts", args=[collection.slug]), follow=True)
    html = " ".join(markup(page).split())
    assert page.context["topic"] == topics[0]
    assert "2 more topics to review" in html
    assert f"/topics/{topics[1].pk}/drafts/" in html[html.index('data-key="KeyN"') :][:200]
    accept = reverse("editor:draft-accept", args=[bank.pk, Draft.objects.get(request__topic=topics[0]).pk])
    fresh = " ".join(markup(client.post(accept, headers={"HX-Request": "true"})).split())
    assert "No drafts left on this topic." in fresh
    assert "Next topic: t2" in fresh
    for draft in Draft.objects.filter(state=Draft.State.WAITING):
        accept = reverse("editor:draft-accept", args=[bank.pk, draft.pk])
        last = markup(client.post(accept, headers={"HX-Request": "true"}))
    assert "No draft waits for a decision." in last
    assert f'href="{collection.get_absolute_url()}"' in last


def test_an_accepted_draft_can_be_taken_back(client_of, developer, collection, topics, work):
    begin(client_of(developer), collection, only="1")
    work()
    request = DraftRequest.objects.get()
    client, draft = client_of(developer), Draft.objects.get()
    client.post(reverse("editor:draft-accept", args=[request.bank_id, draft.pk]))
    reopen = reverse("editor:drafts-reopen", args=[request.bank_id, request.topic_id])
    assert client.post(reopen, {"drafts": draft.pk}).status_code == 302
    draft.refresh_from_db()
    assert (draft.state, draft.item) == ("waiting", None)
    assert not request.bank.items.active().exists()
