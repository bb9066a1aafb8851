"""Runs that the workbench makes itself, by workers."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from grading.graders import completions
from grading.graders.connection import CallProblem
from grading.graders.replies import NoReply, ReplyText
from grading.systems.pipeline import Answering
from grading.types import ErrorClass, text_md5
from rubricweb.archives.removal import delete_collection
from rubricweb.corpus.actions import is_empty, withdraw_run
from rubricweb.corpus.models import Run
from rubricweb.jobs import limits, steering
from rubricweb.jobs.limits import Limits, change_limits
from rubricweb.jobs.models import Job
from rubricweb.jobs.steering import steer
from rubricweb.jobs.worker import work_on
from rubricweb.systems import actions, retrieval
from rubricweb.systems.models import SystemChunk, SystemJob
from tests import factories
from tests.rubricweb.systems.conftest import MOON, TEXTS, start, work


def ragnarok(**more):
    return {"answering": Answering.RAGNAROK, "backend": "openai_compatible", "llm": "m"} | more


def test_a_ranking_by_bm25_counts_when_all_topics_are_done(sea, owner):
    job = start(sea, owner, answering=Answering.NONE)
    first, second = job.chunks.all()
    work_on("system", first.pk)
    assert Run.objects.get(run_tag="own").state == Run.State.SUBMITTED
    assert not job.run.rankings.exists()

    work_on("system", second.pk)
    run = Run.objects.get(run_tag="own")
    assert run.state == Run.State.ACCEPTED
    assert {one.topic.query_id: one.doc_ids for one in run.rankings.all()} == {
        "s1": ["d2", "d1"],
        "s2": ["d2", "d1"],
    }
    assert (run.description, run.tags) == ("BM25", ["baseline"])
    job.refresh_from_db()
    assert job.state == Job.State.DONE


def test_an_answer_without_a_model_is_a_response_with_citations(sea, owner):
    job = work(start(sea, owner, answering=Answering.SENTENCES))
    response = job.run.responses.get(topic__query_id="s1")
    assert response.references == ["d2", "d1"]
    assert [sentence["text"] for sentence in response.sentences] == [TEXTS["d2"], MOON]
    assert [sentence["citations"][0][0] for sentence in response.sentences] == ["d2", "d1"]
    assert sea.topics.get(query_id="s1").pool.filter(passage__text=MOON).exists()


def test_every_reply_of_a_model_is_kept(sea, owner, writer):
    job = work(start(sea, owner, **ragnarok()))
    assert (job.state, job.calls, writer.calls) == (Job.State.DONE, 2, 2)
    (step,) = job.chunks.first().result["steps"]
    assert step["prompt_id"] == "ChatQa@1"
    assert MOON in step["prompt"]
    assert step["reply"].endswith("Answer 1 knows no more.")


def test_a_job_pauses_before_it_asks_more_often_than_it_may(sea, owner, writer):
    job = work(start(sea, owner, most_calls=1, **ragnarok()))
    assert (job.state, job.calls, writer.calls) == (Job.State.PAUSED, 1, 1)
    assert job.pause_reason == "It has asked the model once, as often as it may."
    assert job.run.state == Run.State.SUBMITTED

    change_limits(job, Limits(5), by=owner)
    assert (work(job).state, writer.calls) == (Job.State.DONE, 2)


def test_a_job_pauses_before_it_spends_more_than_it_may(sea, owner, writer, settings):
    settings.PRICES, settings.REPLY_PRICES = {"m": 100}, {"m": 1000}
    job = start(sea, owner, most_dollars=1.1, **ragnarok())
    first, second = job.chunks.all()
    work_on("system", first.pk)
    job.refresh_from_db()
    assert 0.02 < job.dollars < 0.1
    assert 150 < job.tokens < 400

    SystemJob.objects.filter(pk=job.pk).update(dollars=0.5)
    work_on("system", second.pk)
    job.refresh_from_db()
    assert (job.state, writer.calls) == (Job.State.PAUSED, 1)
    assert job.pause_reason == (
        "It has spent about $0.50 of $1.10, and the next call could cost more than is left."
    )
    change_limits(job, Limits(99, 5.0), by=owner)
    assert (work(job).state, writer.calls) == (Job.State.DONE, 2)
    assert 0.5 < job.dollars < 0.6


def test_money_for_a_call_that_failed_is_given_back(sea, owner, writer, settings, monkeypatch):
    settings.PRICES = {"m": 100}
    job = start(sea, owner, most_dollars=9.0, **ragnarok())
    monkeypatch.setattr(writer, "complete", lambda messages: 1 / 0)
    work_on("system", job.chunks.first().pk)
    job.refresh_from_db()
    assert job.dollars == pytest.approx(0)


def test_the_rest_of_a_cancelled_run_is_made_without_asking_again(sea, owner, writer):
    job = start(sea, owner, **ragnarok())
    work_on("system", job.chunks.first().pk)
    assert steer(job, "cancel", by=owner).state == Job.State.CANCELLED
    assert work(actions.make_rest(job, by=owner)).state == Job.State.DONE
    assert writer.calls == 2
    assert job.run.responses.count() == 2


def test_a_run_that_is_withdrawn_while_it_is_made_does_not_count(sea, owner, writer):
    job = start(sea, owner, **ragnarok())
    withdraw_run(job.run, by=owner)
    assert work(job).state == Job.State.DONE
    job.run.refresh_from_db()
    assert (job.run.state, is_empty(job.run)) == ("withdrawn", False), "it may be restored"


def test_a_run_says_which_model_wrote_it(sea, owner, writer):
    written = start(sea, owner, run_tag="ragnarok", **ragnarok()).run
    article = start(sea, owner, run_tag="wiki", **ragnarok(answering=Answering.WIKI)).run
    quoted = start(sea, owner, run_tag="sentences", answering=Answering.SENTENCES).run
    assert [(one.llm, one.is_closed_book, one.is_made_here) for one in (written, article, quoted)] == [
        ("m", False, True),
        ("m", True, True),
        ("", False, True),
    ]


def test_what_was_paid_for_is_not_asked_again(sea, owner, writer, monkeypatch):
    job = start(sea, owner, **ragnarok())
    chunk = job.chunks.first()
    monkeypatch.setattr(actions, "made_as_json", lambda made: 1 / 0)
    work_on("system", chunk.pk)
    chunk.refresh_from_db()
    assert (chunk.state, writer.calls) == (SystemChunk.State.QUEUED, 1)

    monkeypatch.undo()
    monkeypatch.setattr(limits, "text_model", lambda *_, **__: writer)
    work_on("system", chunk.pk)
    chunk.refresh_from_db()
    assert (chunk.state, writer.calls) == (SystemChunk.State.DONE, 1)


def test_a_kept_text_that_is_no_answer_is_asked_for_again(sea, owner, writer, monkeypatch):
    """As workers of earlier versions kept it, thinking and all."""
    job = start(sea, owner, **ragnarok())
    first, second = job.chunks.all()
    monkeypatch.setattr(actions, "made_as_json", lambda made: 1 / 0)
    for chunk in (first, second):
        work_on("system", chunk.pk)
    monkeypatch.undo()
    monkeypatch.setattr(limits, "text_model", lambda *_, **__: writer)
    for chunk, text in ((first, "<think>The moon [1]."), (second, "<think>No.</think>The sun helps [1].")):
        chunk.refresh_from_db()
        chunk.replies = {digest: [text] for digest in chunk.replies}
        chunk.save()
    work(job)
    assert writer.calls == 3
    assert [chunk.result["sentences"] for chunk in job.chunks.all()] == [
        [[MOON, [0]], ["Answer 3 knows no more.", []]],
        [["The sun helps.", [0]]],
    ]


def test_a_topic_without_an_answer_fails_and_the_others_are_made(sea, owner, writer, monkeypatch):
    def complete(messages):
        if "What lifts" in messages[-1][1]:
            raise NoReply(CallProblem(ErrorClass.OTHER, "the model refused: No."), raw="No.")
        return f"{MOON[:-1]} [1]."

    monkeypatch.setattr(writer, "complete", complete)
    job = start(sea, owner, **ragnarok())
    for _ in range(3):
        work(job)
    assert sorted(job.chunks.values_list("state", flat=True)) == ["done", "failed"]
    assert job.error == "the model refused: No."


def test_thinking_is_paid_for(sea, owner, writer, settings, monkeypatch):
    settings.PRICES = settings.REPLY_PRICES = {"m": 100}
    spent = {}
    for name, thought in (("short", ""), ("long", "Hm, the moon. " * 400)):
        answer = f"<think>{thought}</think>{MOON[:-1]} [1]."
        reply = ReplyText.of(completions.read({"choices": [{"message": {"content": answer}}]}))
        monkeypatch.setattr(writer, "complete", lambda messages, reply=reply: reply)
        spent[name] = work(start(sea, owner, run_tag=name, **ragnarok())).dollars
    assert spent["long"] > 2 * spent["short"] > 0


def test_a_run_records_how_its_model_thinks(sea, owner, writer):
    sea.grader_backend, sea.grader_llm = "openai_compatible", "m"
    sea.grader_options = {"thinking": "off", "max_new_tokens": 3000, "json_mode": True}
    sea.save()
    job = start(sea, owner, **ragnarok())
    assert job.system.model_options == {"thinking": "off", "max_new_tokens": 3000}
    assert job.system.longest_reply == 3000
    assert job.run.description.endswith("by m with thinking off and max_new_tokens 3000")
    other = start(sea, owner, run_tag="other", **{**ragnarok(), "llm": "n"})
    assert "model_options" not in other.spec


def test_a_cancelled_job_makes_no_run_that_counts(sea, owner):
    job = start(sea, owner, answering=Answering.NONE)
    work_on("system", job.chunks.first().pk)
    steering.cancel(job)
    job.refresh_from_db()
    assert job.state == Job.State.CANCELLED
    assert (job.run.state, job.run.rankings.count()) == (Run.State.SUBMITTED, 0)


def test_several_runs_are_fused(sea, owner):
    for tag, doc_ids in (("a", ["d3", "d1"]), ("b", ["d1", "d2"])):
        run = factories.RunFactory(collection=sea, run_tag=tag)
        topic = sea.topics.get(query_id="s1")
        factories.RankingFactory(run=run, topic=topic, doc_ids=doc_ids, scores=[2.0, 1.0])
    job = work(start(sea, owner, answering=Answering.NONE, runs=("a", "b")))
    assert job.run.rankings.get().doc_ids == ["d1", "d3", "d2"]


def test_the_index_follows_the_passages(sea, monkeypatch):
    index = retrieval.index_of(sea)
    assert retrieval.index_of(sea) is index
    factories.PassageFactory(collection=sea, doc_id="d4", text="Whales sing.")
    sea.stamp += 1
    sea.save()
    assert "d4" in retrieval.index_of(sea).ids
    monkeypatch.setattr(retrieval, "_opened", {})
    assert retrieval.index_of(sea).ids == ["d1", "d2", "d3", "d4"]
    assert [path.name for path in (retrieval.index_folder(sea.pk)).parent.iterdir()] == [str(sea.pk)]


def test_a_name_is_taken_once(sea, owner):
    start(sea, owner, answering=Answering.NONE)
    with pytest.raises(actions.TagTaken, match="a run own already"):
        start(sea, owner, answering=Answering.NONE)
    assert SystemJob.objects.count() == 1


def test_the_command_says_what_a_run_takes_and_starts_it(sea, settings):
    settings.PRICES = {"m": 2}
    out = StringIO()
    arguments = ["autumn", "rifer", "--answer", "rifer", "--backend", "openai_compatible", "--llm", "m"]
    call_command("make_run", *arguments, "--price-only", stdout=out)
    assert "RIFER over the first 5, by m: 2 topics, about 34 calls of the model" in out.getvalue()
    assert "$0." in out.getvalue()
    assert not SystemJob.objects.exists()

    with pytest.raises(CommandError, match="say --most-calls"):
        call_command("make_run", *arguments[:-1], "unpriced")
    call_command("make_run", *arguments, stdout=out)
    assert SystemJob.objects.get().most_calls == 68
    with pytest.raises(CommandError, match="RIFER needs a model"):
        call_command("make_run", "autumn", "other", "--answer", "rifer")


def test_the_index_goes_with_its_collection(sea, django_capture_on_commit_callbacks):
    retrieval.index_of(sea)
    folder = retrieval.index_folder(sea.pk)
    assert folder.exists()
    with django_capture_on_commit_callbacks(execute=True):
        delete_collection(sea, by=None)
    assert not folder.exists()


def test_generated_texts_are_no_sources_where_there_are_others(sea):
    text = "Tides rise because tides rise."
    factories.PassageFactory(collection=sea, doc_id=text_md5(text), text=text)
    assert retrieval.index_of(sea).ids == ["d1", "d2", "d3"]
    sea.passages.filter(doc_id__in=TEXTS).delete()
    sea.stamp += 1
    sea.save()
    assert retrieval.index_of(sea).ids == [text_md5(text)]
