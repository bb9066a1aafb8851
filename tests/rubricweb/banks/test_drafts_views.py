"""The inbox of drafts over HTTP, with htmx and without."""

import pytest
from django.urls import reverse

from grading.types import ItemKind
from rubricweb.banks import actions as banks, drafting
from rubricweb.banks.draft_models import Draft, DraftRequest
from rubricweb.banks.drafting import DraftOptions
from rubricweb.corpus.models import Subtopic
from rubricweb.editor.forms import MAX_WORDING
from rubricweb.jobs import leases
from tests.factories import BankFactory, TopicFactory
from tests.rubricweb.jobs.working import claim
from tests.rubricweb.markup import markup

HTMX = {"HTTP_HX_REQUEST": "true"}
PIGMENT = "Which pigment makes leaves red?"
TEXTS = (PIGMENT, "When does chlorophyll break down?", "When did the chlorophyll break down?")
TRAIT = "<script>alert(1)</script>"


@pytest.fixture
def asked(bank, topic, owner):
    return drafting.request_drafts(
        bank, topic, DraftOptions(ItemKind.QUESTION, "hf_seq2seq", "tiny"), by=owner
    )


@pytest.fixture
def drafts(asked):
    """Three; the last one is much like the second."""
    claimed = claim(asked)
    drafting.keep_drafts(claimed, drafting.generation.Drafts(TEXTS, "reply", asked.prompt_id, 1))
    return list(Draft.objects.all())


def place(name, bank, topic):
    room = "review" if name == "topic" else "editor"
    return reverse(f"{room}:{name}", args=[bank.pk, topic.pk])


def of(name, bank, row):
    return reverse(f"editor:{name}", args=[bank.pk, row.pk])


def fail(asked, reply="I would rather not."):
    leases.fail(claim(asked), error="no question in 3 replies", reply=reply)


def everything(bank, topic, asked, draft):
    names = ("drafts-request", "drafts-accept", "drafts-reject", "drafts-reopen")
    return [
        *(place(name, bank, topic) for name in names),
        *(of(name, bank, draft) for name in ("draft-accept", "draft-reject")),
        *(of(name, bank, asked) for name in ("request-again", "request-dismiss")),
    ]


def test_changes_are_for_developers(client_of, bank, topic, asked, drafts, viewer, assessor, outsider):
    fields = {"kind": "question", "backend": "hf_seq2seq", "seen": [draft.pk for draft in drafts]}
    for url in everything(bank, topic, asked, drafts[0]):
        assert client_of(viewer).post(url, fields).status_code == 403
        assert client_of(assessor).post(url, fields).status_code == 403
        assert client_of(outsider).post(url, fields).status_code == 404
    assert set(Draft.objects.values_list("state", flat=True)) == {"waiting"}
    assert DraftRequest.objects.count() == 1


def test_wrong_methods(client_of, bank, topic, asked, drafts, developer):
    client = client_of(developer)
    first, *rest = everything(bank, topic, asked, drafts[0])
    assert client.put(first).status_code == 405
    assert {client.get(url).status_code for url in rest} == {405}
    assert client.post(place("drafts", bank, topic)).status_code == 405
    assert client.head(place("drafts", bank, topic)).status_code == 200
    review = reverse("editor:review-drafts", args=[bank.collection.slug])
    assert client.head(review).status_code == 302
    assert client.post(review).status_code == 405


def test_nothing_of_another_bank_is_found(client_of, collection, asked, drafts, developer):
    other = BankFactory(collection=collection, name="other")
    client = client_of(developer)
    assert client.post(of("draft-accept", other, drafts[0])).status_code == 404
    assert client.post(of("request-again", other, asked)).status_code == 404


def test_outsiders_see_no_inbox_and_viewers_cannot_decide(client_of, bank, topic, drafts, viewer, outsider):
    url = place("drafts", bank, topic)
    assert client_of(outsider).get(url).status_code == 404
    review = reverse("editor:review-drafts", args=[bank.collection.slug])
    assert client_of(outsider).get(review).status_code == 404
    html = markup(client_of(viewer).get(url, follow=True))
    assert PIGMENT in html
    assert of("draft-accept", bank, drafts[0]) not in html
    assert "Ask a model" not in html


def test_the_bank_page_shows_the_inbox_and_the_form(client_of, bank, topic, drafts, developer, viewer):
    html = markup(client_of(developer).get(place("topic", bank, topic)))
    assert "3 waiting for a decision" in html
    assert "similar to: When does chlorophyll break down?" in html
    assert "by tiny, prompt TrecDlQuestions@1" in html
    assert "Accept all (2)" in html
    assert "and the marked one" in html
    assert 'href="#drafting">Draft with a model</a>' in html[html.index("item-finder") :], "no menu hides it"
    assert "This collection's grader, Word overlap (no model), cannot write drafts." in html
    assert "Draft with a model" not in markup(client_of(viewer).get(place("topic", bank, topic)))


def test_an_empty_inbox_says_nothing(client_of, bank, topic, viewer):
    html = markup(client_of(viewer).get(place("drafts", bank, topic), **HTMX))
    assert html.lstrip().startswith('<section id="drafts"')
    assert "waiting" not in html


def test_the_live_part_keeps_rows_that_somebody_edits(client_of, bank, topic, drafts, developer):
    url = f"{place('drafts', bank, topic)}?editing={drafts[1].pk}&editing=x"
    html = markup(client_of(developer).get(url, **HTMX))
    assert html.count("hx-preserve") == 1
    assert f'id="draft-{drafts[1].pk}" class="item draft" hx-preserve="true"' in html


def test_asking_without_javascript(client_of, bank, topic, developer):
    fields = {"kind": "nugget", "backend": "hf_seq2seq", "llm": " tiny ", "facet_id": ""}
    answer = client_of(developer).post(place("drafts-request", bank, topic), fields)
    assert (answer.status_code, answer["Location"]) == (302, place("drafts", bank, topic))
    made = DraftRequest.objects.get()
    assert (made.kind, made.llm, made.by) == ("nugget", "tiny", developer)
    html = markup(client_of(developer).get(place("topic", bank, topic)))
    assert "tiny for nuggets" in html


def test_asking_by_htmx_brings_the_form_as_it_was(client_of, bank, topic, developer):
    fields = {"kind": "nugget", "backend": "hf_seq2seq", "llm": "tiny", "facet_id": ""}
    answer = client_of(developer).post(place("drafts-request", bank, topic), fields, **HTMX)
    html = markup(answer)
    assert "drafts-changed" in answer["HX-Trigger-After-Settle"]
    assert html.lstrip().startswith('<form id="drafting-form"')
    assert '<option value="nugget" selected>' in html
    assert "tiny was asked for nuggets" in html


@pytest.mark.parametrize("htmx", [True, False])
def test_what_cannot_be_asked_is_said(client_of, bank, collection, developer, htmx):
    silent = TopicFactory(collection=collection, text="")
    url, more = place("drafts-request", bank, silent), HTMX if htmx else {}
    fields = {"kind": "question", "backend": "hf_seq2seq", "facet_id": ""}
    answer = client_of(developer).post(url, fields, **more)
    assert answer.status_code == 422
    assert "This topic has no text to draft from" in markup(answer)
    fields["backend"] = "lexical"
    assert client_of(developer).post(url, fields, **more).status_code == 422


def test_the_collections_grader_writes_by_default(client_of, bank, topic, collection, developer):
    collection.grader_backend, collection.grader_llm = "hf_seq2seq", "google/flan-t5-small"
    collection.save()
    html = markup(client_of(developer).get(place("drafts-request", bank, topic)))
    assert "cannot write" not in html
    assert 'value="google/flan-t5-small"' in html


def test_where_the_grader_cannot_write_the_model_that_was_asked_last_does(
    client_of, bank, topic, asked, developer
):
    drafting.request_drafts(
        bank, topic, DraftOptions(ItemKind.NUGGET, "hf_causal", "models/small"), by=developer
    )
    elsewhere = TopicFactory(collection=topic.collection, text="how do magnets work")
    html = markup(client_of(developer).get(place("drafts", bank, elsewhere)))
    assert '<option value="hf_causal" selected>' in html
    assert 'name="llm" value="models/small"' in html


def test_a_topic_with_subtopics_starts_at_the_first(client_of, bank, topic, developer):
    Subtopic.objects.create(topic=topic, facet_id="f1", text="Pigments", position=0)
    url = place("drafts-request", bank, topic)
    assert '<option value="f1" selected>Pigments</option>' in markup(client_of(developer).get(url))
    fields = {"kind": "question", "backend": "hf_seq2seq", "facet_id": "f1"}
    assert client_of(developer).post(url, fields).status_code == 302
    assert DraftRequest.objects.get().prompt_id == "TrecCarQuestions@1"
    assert client_of(developer).post(url, fields | {"facet_id": "f2"}).status_code == 422


def test_accepting_as_it_is(client_of, bank, topic, drafts, developer):
    answer = client_of(developer).post(of("draft-accept", bank, drafts[0]))
    assert answer["Location"] == place("drafts", bank, topic)
    item = bank.items.get()
    assert (str(item), item.draft) == (PIGMENT, drafts[0])
    history = markup(client_of(developer).get(of("item-history", bank, item)))
    assert "Drafted by tiny with TrecDlQuestions@1 on" in history
    assert f"accepted by {developer}</p>" in history


def test_accepting_by_htmx_goes_on_to_the_next(client_of, bank, drafts, developer):
    answer = client_of(developer).post(of("draft-accept", bank, drafts[0]), **HTMX)
    html = markup(answer)
    assert html.lstrip().startswith('<section id="drafts"')
    assert "items-changed" in answer["HX-Trigger-After-Settle"]
    assert f'id="draft-{drafts[1].pk}-accept" autofocus' in html
    assert "Question added from a draft." in html


def test_accepting_with_other_words(client_of, bank, drafts, developer):
    words = "Which pigments redden leaves?"
    client_of(developer).post(of("draft-accept", bank, drafts[0]), {"text": words})
    item = bank.items.get()
    assert str(item) == words
    history = markup(client_of(developer).get(of("item-history", bank, item)))
    assert f"after editing; the model wrote: {PIGMENT}" in history


@pytest.mark.parametrize("htmx", [True, False])
def test_a_twin_is_refused_beside_the_words(client_of, bank, topic, drafts, developer, htmx):
    banks.add_item(bank, topic, kind=ItemKind.QUESTION, text="Why red?", by=developer)
    url, more = of("draft-accept", bank, drafts[0]), HTMX if htmx else {}
    fields = {"text": "Why red?", "editing": [drafts[0].pk, drafts[1].pk]}
    answer = client_of(developer).post(url, fields, **more)
    html = markup(answer)
    assert answer.status_code == 422
    assert f'id="draft-{drafts[0].pk}-text_error">This topic already asks exactly this.' in html
    assert ">Why red?</textarea>" in html
    assert html.count("hx-preserve") == 1
    assert html.lstrip().startswith("<section") is htmx


def test_words_that_are_too_long_are_refused(client_of, bank, drafts, developer):
    answer = client_of(developer).post(of("draft-accept", bank, drafts[0]), {"text": "x" * (MAX_WORDING + 1)})
    assert answer.status_code == 422
    assert "Keep it under 2,000 characters; this has 2001." in markup(answer)


@pytest.mark.parametrize("name", ["draft-accept", "draft-reject"])
def test_a_draft_that_another_decided(client_of, bank, drafts, developer, owner, name):
    drafting.reject_draft(drafts[0], by=owner)
    answer = client_of(developer).post(of(name, bank, drafts[0]), **HTMX)
    html = markup(answer)
    assert "Somebody has already decided about this draft." in html
    assert PIGMENT not in html
    assert not bank.items.exists()


def test_rejecting(client_of, bank, topic, drafts, developer):
    assert client_of(developer).post(of("draft-reject", bank, drafts[0])).status_code == 302
    drafts[0].refresh_from_db()
    assert (drafts[0].state, drafts[0].decided_by) == ("rejected", developer)


@pytest.mark.parametrize("chosen", [1, 2])
def test_a_rejection_can_be_undone(client_of, bank, topic, drafts, developer, chosen):
    client, seen = client_of(developer), [draft.pk for draft in drafts[:chosen]]
    if chosen == 1:
        answer = client.post(of("draft-reject", bank, drafts[0]), **HTMX)
    else:
        answer = client.post(place("drafts-reject", bank, topic), {"seen": seen}, **HTMX)
    assert f'name="drafts" value="{",".join(map(str, seen))}"' in markup(answer)
    back = client.post(place("drafts-reopen", bank, topic), {"drafts": ",".join(map(str, seen))}, **HTMX)
    assert f"{chosen} draft{'s' * (chosen > 1)} brought back." in markup(back)
    assert f'id="draft-{seen[0]}-accept" autofocus' in " ".join(markup(back).split())
    assert set(Draft.objects.values_list("state", flat=True)) == {"waiting"}


def test_a_refreshed_inbox_says_what_came(client_of, bank, topic, asked, drafts, developer):
    client = client_of(developer)
    asked_again = drafting.request_drafts(
        bank, topic, DraftOptions(ItemKind.NUGGET, "hf_seq2seq", "tiny"), by=developer
    )
    waiting = "3 drafts wait for a decision."
    assert f'data-announced="{waiting}"' in markup(client.get(place("drafts", bank, topic), **HTMX))
    fail(asked_again)
    news = f'data-announced="tiny failed: no question in 3 replies {waiting}"'
    assert news in markup(client.get(place("drafts", bank, topic), **HTMX))
    decided = markup(client.post(of("draft-accept", bank, drafts[0]), **HTMX))
    assert "data-announced" not in decided  # the toast says it


@pytest.mark.parametrize(("more", "accepted"), [({}, TEXTS[:2]), ({"marked": "1"}, TEXTS)])
def test_accepting_all_leaves_near_duplicates_unless_chosen(
    client_of, bank, topic, drafts, developer, more, accepted
):
    fields = {"seen": [draft.pk for draft in drafts], **more}
    html = markup(client_of(developer).post(place("drafts-accept", bank, topic), fields, **HTMX))
    assert tuple(map(str, bank.items.order_by("position"))) == accepted
    assert f"{len(accepted)} drafts accepted." in html


def test_together_decides_only_about_what_was_seen(client_of, bank, topic, drafts, developer):
    client, seen = client_of(developer), {"seen": [drafts[0].pk]}
    banks.add_item(bank, topic, kind=ItemKind.QUESTION, text=PIGMENT, by=developer)
    html = markup(client.post(place("drafts-accept", bank, topic), seen | {"marked": "1"}, **HTMX))
    assert "0 drafts accepted." in html
    assert "1 draft not accepted: the rubric already asks this, or somebody else decided." in html
    assert client.post(place("drafts-reject", bank, topic), seen).status_code == 302
    assert list(Draft.objects.values_list("state", flat=True)) == ["rejected", "waiting", "waiting"]


def test_a_failure_shows_why_with_the_reply_as_text(client_of, bank, topic, asked, developer):
    fail(asked, TRAIT)
    html = markup(client_of(developer).get(place("topic", bank, topic)))
    assert "</time>: no question in 3 replies" in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;</pre>" in html
    client_of(developer).post(of("request-again", bank, asked))
    again = markup(client_of(developer).post(of("request-again", bank, asked), **HTMX))
    assert "This request is finished, or a worker is still working on it." in again
    assert DraftRequest.objects.get().state == "queued"


def test_dismissing_a_failure(client_of, bank, topic, asked, developer):
    fail(asked)
    answer = client_of(developer).post(of("request-dismiss", bank, asked), **HTMX)
    assert "No drafts:" not in markup(answer)


def test_the_inbox_asks_a_bounded_number_of_queries(
    client_of, bank, topic, drafts, developer, django_assert_max_num_queries
):
    client, url = client_of(developer), place("drafts", bank, topic)
    client.get(url)
    with django_assert_max_num_queries(12):
        client.get(url, **HTMX)
