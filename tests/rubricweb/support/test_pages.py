"""The pages: the board, asking a model, and labelling without knowing whose answer it is."""

import json
import re

import pytest
from django.test import Client
from django.urls import reverse

from grading.support import Support
from rubricweb.core.models import AuditEntry
from rubricweb.jobs.models import Job
from rubricweb.support import actions, labelling
from rubricweb.support.models import SupportEvent, SupportJob, SupportJudge, SupportLabel, SupportSettings
from tests.rubricweb.support.conftest import MOON, SUN

BOARD, LABEL = "/collections/autumn/support/", "/collections/autumn/support/label/"
ASK, JOBS = f"{BOARD}ask/", f"{BOARD}jobs/"
BACK = f"{LABEL}take-back/"
CHOSEN = {"backend": "openai_compatible", "llm": "m", "citations": "all", "longest_reply": 32}
START = CHOSEN | {"most_calls": 99}
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def judge(sea, cite):
    made = SupportJudge.objects.create(collection=sea, backend="x", llm="m", prompt_id="P@1")
    for place, label in {cite("s1", MOON, "d1"): 2, cite("s1", SUN, "d2"): 1}.items():
        SupportLabel.objects.create(judge=made, label=label, reply="r", **place._asdict())
    return made


def text_of(response) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def statement_of(collection, place) -> str:
    (card,) = labelling.cards(collection, [place], {})
    return card.statement.text


def decide(client: Client, place, label: int, **more):
    sent = {"topic": place.topic_id, "sentence": place.sentence_md5, "doc": place.doc_id, "label": label}
    return client.post(LABEL, sent | more.pop("fields", {}), **more)


def test_the_board_has_scores_and_what_is_missing(sea, judge, owner, client_of):
    answer = client_of(owner).get(BOARD)
    ids = re.findall(r'\bid="([^"]+)"', answer.text)
    assert len(ids) == len(set(ids)), "each label names its own field"
    page = text_of(answer)
    assert "m, P@1; the first citation of each sentence; missing topics count 0" in page
    assert "alpha \N{EN DASH} 0.750" in page
    assert "beta \N{EN DASH} 0.500" in page
    assert "People and models" not in page


def test_an_assessor_reads_pseudonyms_and_may_not_ask_a_model(sea, judge, assessor, client_of):
    client = client_of(assessor)
    page = client.get(BOARD).content.decode()
    assert "alpha" not in page
    assert "Label citations" in page
    assert "Ask a model" not in page
    for address in (ASK, f"{BOARD}labelling/"):
        assert client.post(address).status_code == 403


@pytest.mark.parametrize("address", [BOARD, ASK, LABEL, BACK])
def test_outsiders_find_nothing(sea, outsider, client_of, address):
    assert client_of(outsider).post(address).status_code in (404, 405)
    assert client_of(outsider).get(address).status_code in (404, 405)


def test_viewers_do_not_label(sea, viewer, client_of):
    assert client_of(viewer).get(LABEL).status_code == 403
    assert client_of(viewer).post(BACK).status_code == 403


def test_the_scores_are_drawn_with_their_intervals(sea, judge, owner, client_of):
    pictures = {one.name: one.plot.body for one in client_of(owner).get(BOARD).context["pictures"]}
    assert list(pictures) == ["precision", "recall"]
    assert "alpha: 0.750" in pictures["precision"]
    assert "beta: 0.500" in pictures["precision"]


def test_nothing_is_drawn_before_anything_is_labelled(sea, owner, client_of):
    page = client_of(owner).get(BOARD)
    assert page.context["pictures"] == []
    assert "Weighted precision" in text_of(page)


def test_the_form_for_asking_a_model_stands_folded_on_the_board(sea, owner, client_of):
    client = client_of(owner)
    assert '<details id="ask" >' in client.get(BOARD).content.decode()
    assert '<details id="ask" open>' in client.get(ASK).content.decode()
    preview = client.get(ASK, CHOSEN, **HTMX)
    assert "4, one per citation" in text_of(preview)
    assert preview.content.decode().strip().startswith("<details")


def test_a_collection_without_answers_says_so(collection, owner, client_of):
    board = text_of(client_of(owner).get(BOARD))
    assert ("No answer cites anything" in board, "Import answers" in board) == (True, True)
    assert not any(offered in board for offered in ("Label citations", "Ask a model", "Labelling by people"))
    assert "Nothing to label" in text_of(client_of(owner).get(LABEL))


def test_the_board_asks_a_bounded_number_of_queries(
    sea, judge, owner, client_of, django_assert_max_num_queries
):
    client = client_of(owner)
    client.get(BOARD)
    with django_assert_max_num_queries(28):
        client.get(BOARD)


def test_the_form_starts_with_a_model_that_can_be_asked(sea, owner, client_of):
    client = client_of(owner)
    assert sea.grader_backend == "lexical"
    assert client.get(ASK).context["form"].initial == {"backend": "hf_seq2seq", "llm": "google/flan-t5-large"}
    sea.grader_backend, sea.grader_llm = "openai_compatible", "m"
    sea.save()
    assert client.get(ASK).context["form"].initial == {"backend": "openai_compatible", "llm": "m"}


def test_a_model_is_asked_only_after_its_price_was_shown(sea, owner, client_of, settings):
    settings.PRICES = {"m": 2}
    client = client_of(owner)
    page = client.get(ASK, CHOSEN)
    assert "4, one per citation" in text_of(page)
    assert "unknown: this model has done nothing of the kind" in text_of(page)
    assert "less than $0.01" in text_of(page)
    assert page.context["limits"].initial == {"most_calls": 8, "most_dollars": 0.01}
    assert not SupportJob.objects.exists()

    assert client.post(ASK, CHOSEN | {"most_calls": "3", "most_dollars": "2.5"}).status_code == 302
    job = SupportJob.objects.get()
    assert (job.total, job.most_calls, job.most_dollars, job.citations) == (4, 3, 2.5, "all")
    assert "0 of 4 citations" in text_of(client.get(BOARD))


def test_without_a_price_the_limit_on_calls_is_demanded(sea, owner, client_of):
    client = client_of(owner)
    assert "No price is set for this model. Expected: 4." in text_of(client.get(ASK, CHOSEN))
    refused = client.post(ASK, CHOSEN)
    assert refused.status_code == 422
    assert "most_calls" in refused.context["limits"].errors
    assert not SupportJob.objects.exists()


def test_a_form_without_a_model_is_refused(sea, owner, client_of):
    assert client_of(owner).post(ASK, START | {"llm": " "}).status_code == 422


def test_a_job_is_steered_on_the_list_of_jobs(sea, owner, developer, client_of):
    client = client_of(owner)
    client.post(ASK, START)
    job = SupportJob.objects.get()
    states = []
    for act in ("pause", "resume", "cancel", "resume"):
        said = client.post(f"/collections/autumn/grades/jobs/support/{job.pk}/{act}/", **HTMX)
        job.refresh_from_db()
        states.append(job.state)
    assert states == [Job.State.PAUSED, Job.State.QUEUED, *[Job.State.CANCELLED] * 2]
    entries = AuditEntry.objects.filter(verb__startswith="support job", kind="collection", object_id=sea.pk)
    assert list(entries.order_by("pk").values_list("verb", "detail")) == [
        (f"support job {done}", f"support by {job.judge}") for done in ("paused", "resumed", "cancelled")
    ]
    assert "Label support with m m, SupportOfStatement@1" in text_of(said)
    assert "Cancelled" in text_of(said)
    assert client.post(f"/collections/autumn/grades/jobs/support/{job.pk}/explode/").status_code == 404
    assert client.post(f"/collections/autumn/grades/jobs/poems/{job.pk}/pause/").status_code == 404
    assert (
        client_of(developer).post(f"/collections/autumn/grades/jobs/support/{job.pk}/pause/").status_code
        == 403
    )


def test_a_job_opens_on_the_board_with_its_limits(sea, owner, client_of, developer, assessor):
    client = client_of(owner)
    client.post(ASK, START)
    job = SupportJob.objects.get()
    page, limits = job.get_absolute_url(), reverse("grades:limits", args=[sea.slug, "support", job.pk])
    assert "0, at most 99" in text_of(client.get(page))
    assert "Maximum number of model calls: " in text_of(client.post(limits, {"most_calls": 0}, follow=True))
    job.refresh_from_db()
    assert job.most_calls == 99
    assert client.post(limits, {"most_calls": 17}).url == page
    part = client.get(page, **HTMX, HTTP_HX_TARGET="job")
    assert "0, at most 17" in text_of(part)
    assert part.content.decode().strip().startswith('<div id="job"')
    assert "Change limits" not in text_of(client_of(developer).get(page))
    assert client_of(assessor).get(page).status_code == 403
    assert client_of(developer).post(limits, {"most_calls": 3}).status_code == 403


def test_failed_labels_are_shown_and_asked_for_again(sea, judge, owner, client_of, cite):
    sun = cite("s1", SUN, "d2")
    SupportLabel.objects.filter(judge=judge, sentence_md5=sun.sentence_md5).update(
        label=None, reply="Hm <b>."
    )
    job = SupportJob.objects.create(judge=judge, citations="all", most_calls=9, total=2, state=Job.State.DONE)
    client, retry = client_of(owner), f"{JOBS}{job.pk}/retry/"
    said = client.get(job.get_absolute_url()).content.decode()
    assert "1 reply of this model without a label" in said
    assert "Hm &lt;b&gt;." in said
    assert client.post(retry).status_code == 422
    assert client.post(retry, {"most_calls": 4}).status_code == 302
    again = SupportJob.objects.get(is_retry=True)
    assert (again.total, again.most_calls) == (1, 4)


def test_labelling_goes_on_with_the_next_citation_and_takes_back(sea, assessor, client_of):
    client = client_of(assessor)
    asked = labelling.to_label(sea)
    assert len(asked) == 3
    for number, place in enumerate(asked):
        page = text_of(client.get(LABEL))
        assert f"{number} of 3 labelled by you" in page
        assert statement_of(sea, place) in page
        response = decide(client, place, 1, **HTMX)
        assert f"{number + 1} of 3 labelled by you" in text_of(response)
    assert "Nothing is left to label" in text_of(response)

    back = text_of(client.post(BACK, **HTMX))
    assert statement_of(sea, asked[2]) in back
    assert [event.label for event in SupportEvent.objects.order_by("pk")] == [1, 1, 1, None]
    assert client.post(BACK).url == LABEL  # without htmx


def test_the_sentence_before_and_the_passage_stand_beside_the_sentence(sea, assessor, client_of, cite):
    sun = cite("s1", SUN, "d2")
    actions.label_citation(sun, label=Support.FULL, by=assessor)
    page = text_of(client_of(assessor).post(BACK, **HTMX))
    assert MOON in page
    assert "The sun lifts them a little." in page


def test_a_request_that_comes_twice_is_done_once(sea, assessor, client_of, cite):
    client, sun, moon = client_of(assessor), cite("s1", SUN, "d2"), cite("s1", MOON, "d1")
    decide(client, moon, 1)
    for _ in range(2):
        assert decide(client, sun, 2, fields={"uid": "a" * 32}, **HTMX).status_code == 200
    for _ in range(2):
        assert statement_of(sea, sun) in text_of(client.post(BACK, {"uid": "b" * 32}, **HTMX))
    assert [event.label for event in SupportEvent.objects.order_by("pk")] == [1, 2, None]


def test_the_next_citations_are_in_the_page(sea, assessor, client_of):
    page = client_of(assessor).get(LABEL).content.decode()
    assert page.count('<section\n  class="support-card"') == 3
    first, *others = labelling.to_label(sea)
    assert page.index(first.sentence_md5) < page.index("data-cards-ahead")
    assert all(page.index(one.doc_id, page.index("data-cards-ahead")) for one in others)


def test_the_labelling_page_asks_a_bounded_number_of_queries(
    sea, assessor, client_of, django_assert_max_num_queries
):
    client = client_of(assessor)
    client.get(LABEL)
    with django_assert_max_num_queries(25):
        client.get(LABEL)


@pytest.mark.parametrize("field", [{"label": 3}, {"sentence": "0" * 32}, {"doc": "d9"}, {"topic": 0}])
def test_what_nobody_is_asked_about_is_not_labelled(sea, assessor, client_of, cite, field):
    place = cite("s1", SUN, "d2")
    assert decide(client_of(assessor), place, 1, fields=field).status_code == 404
    assert not SupportEvent.objects.exists()


def test_no_route_of_the_screen_names_a_run(sea, judge, assessor, client_of, cite):
    """Also not by pseudonym, key, or an address, headers included."""
    sea.shows_run_tags = True
    sea.save()
    actions.choose(sea, citations="all", sample=None, shown_judge=judge, by=assessor)
    client = client_of(assessor)
    told = [client.get(LABEL), client.get(LABEL, **HTMX), client.head(LABEL)]
    for place in labelling.to_label(sea):
        told += [decide(client, place, 2, **HTMX), client.post(BACK, **HTMX), decide(client, place, 0)]
    said = "".join(f"{dict(response.items())}{response.content.decode()}" for response in told)
    assert len(told) > 10
    for run in sea.runs.all():
        assert run.run_tag not in said
        assert f"/runs/{run.pk}/" not in said
        assert str(run.pk) not in re.findall(r'value="(\d+)"', said)


def test_labels_are_made_from_scratch_unless_organizers_show_one_first(
    sea, judge, owner, assessor, client_of, cite
):
    moon, client = cite("s1", MOON, "d1"), client_of(assessor)
    assert "m says" not in text_of(client.get(LABEL))
    decide(client, moon, 2)
    chosen = {"citations": "first", "shown_judge": judge.pk}
    assert client_of(owner).post(f"{BOARD}labelling/", chosen).status_code == 302
    assert SupportSettings.objects.get().shown_judge == judge

    page = text_of(client.post(BACK, **HTMX))
    assert "m says: full." in page
    decide(client, moon, 1, fields={"seen": judge.pk})
    seen = [(event.label, event.seen_label) for event in SupportEvent.objects.order_by("pk")]
    assert seen == [(2, None), (None, None), (1, 2)]
    page = text_of(client_of(owner).get(BOARD)).replace("0 %", "0%")
    assert "after its label 1 0%" in page
    assert "Model: full partial none Full 0 0 0 Partial 1 0 0 None 0 0 0" in page


def test_files_of_support(sea, judge, owner, assessor, client_of, cite):
    actions.label_citation(cite("s1", MOON, "d1"), label=Support.FULL, by=assessor)
    client = client_of(owner)

    def file(name, **query):
        response = client.get(f"/collections/autumn/exports/support/{name}/", query)
        return b"".join(response.streaming_content).decode()

    sun, moon = cite("s1", SUN, "d2"), cite("s1", MOON, "d1")
    labels = file("qrels").splitlines()
    assert sorted(labels) == sorted(
        f"s1\t{place.sentence_md5}\t{place.doc_id}\t{label}" for place, label in ((sun, 1), (moon, 2))
    )
    assert file("qrels", rater="people").split("\t")[3] == "2\n"
    scores = file("scores", citations="first", format="jsonl").splitlines()
    rows = {tuple(json.loads(line).values()) for line in scores}
    assert ("alpha", "s1", "support_precision", 0.75) in rows
    assert ("alpha", "all", "support_recall", 0.5) in rows
    told = [json.loads(line) for line in file("jsonl").splitlines()]
    assert [one["by"] for one in told] == ["model", "model", "person"]
    assert told[0]["sentence"] == MOON
    assert "assessor" not in told[2]["person"].removeprefix("assessor-")
    assert client.get("/collections/autumn/exports/support/poem/").status_code == 404
