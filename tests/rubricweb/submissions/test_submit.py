"""Teams send runs in: what is taken, what is refused, and what replaces what."""

from __future__ import annotations

import gzip
import html
import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from grading.submissions import rules_as_json, rules_of
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.actions import accept_run
from rubricweb.corpus.models import Pooled, Response, Run, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.jobs.worker import work_on
from rubricweb.submissions import actions, files
from rubricweb.submissions.models import Call, Submission
from tests.factories import PassageFactory, RunFactory
from tests.rubricweb.import_files import database, response
from tests.rubricweb.imports.conftest import zipped
from tests.rubricweb.markup import markup
from tests.rubricweb.submissions.conftest import answers, groups, lines, post

pytestmark = pytest.mark.django_db

TREC = b"t1 Q0 msmarco_v2.1_doc_00_1#1_2 1 2.5 bm25\nt2 Q0 msmarco_v2.1_doc_00_2#3_4 1 1.5 bm25\n"


def words(answer) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", markup(answer))))


def test_a_clean_file_becomes_a_run_that_waits_to_be_accepted(send, call, collection, participant, client_of):
    sent = send(answers("m1"), type="automatic", description="A reader.")
    run = Run.objects.get(run_tag="m1")
    assert (sent.outcome, sent.run, sent.run_tag, sent.topics, sent.errors) == ("taken", run, "m1", 2, 0)
    assert (run.state, run.team, run.task, run.type) == ("submitted", "maple", "generation", "automatic")
    assert (run.description, run.submitted_by, run.submitted_at) == (
        "A reader.",
        participant,
        sent.received_at,
    )
    assert run.responses.count() == run.rankings.count() == 2
    assert collection_pool(collection).run_tags == ()
    assert AuditEntry.objects.filter(verb="run submitted", by=participant, collection=collection).exists()
    assert "The run m1 is in, with 2 topics" in words(client_of(participant).get(sent.get_absolute_url()))


def test_what_breaks_a_rule_is_reported_and_nothing_is_imported(send, call, participant, client_of):
    wrong = response("m1", "t1", ("Leaves turn red.", [0, 7]), team_id="maple")
    before = database()
    sent = send(lines(wrong, response("m1", "t9", "Red.", team_id="maple")))
    assert sent.outcome == "refused"
    assert groups(sent)["reference_index"] == ("error", 1)
    assert {"new_topics", "missing_topics"} < set(groups(sent))
    after = database()
    for table in ("submissions.Submission", "core.AuditEntry", "accounts.User"):
        before.pop(table), after.pop(table)
    assert after == before
    page = client_of(participant).get(sent.get_absolute_url())
    assert "Refused: " in words(page)
    assert "1 t1 1" in words(page), "line, topic and sentence"
    assert "Submit the corrected file" in words(page)


def test_a_corrected_file_replaces_the_draft(send, call):
    draft = send(answers("m 1"))
    assert draft.has_file
    again = send(answers("m1"), replaces=draft.pk)
    draft.refresh_from_db()
    assert (again.outcome, again.replaces) == ("taken", draft)
    assert (draft.outcome, draft.is_kept, draft.has_file) == ("refused", False, False)


def test_a_file_that_is_gone_is_no_link(send, call, participant, client_of):
    sent = send(answers("m1"))
    address, client = reverse("submissions:file", args=["autumn", sent.pk]), client_of(participant)
    assert address in client.get(sent.get_absolute_url()).text
    files.remove(sent)
    page = client.get(sent.get_absolute_url())
    assert address not in page.text
    assert "no longer kept" in words(page)
    assert client.get(address).status_code == 404


def test_the_file_comes_back_as_it_was_sent(send, participant, client_of):
    content = answers("m1")
    sent = send(content, name="../our run.jsonl")
    answer = client_of(participant).get(f"{sent.get_absolute_url()}file/")
    assert b"".join(answer.streaming_content) == content
    assert 'filename="our run.jsonl"' in answer["Content-Disposition"]


def test_the_same_run_id_replaces_the_run_until_the_deadline(send, call, owner):
    first = send(answers("m1", "Maples turn red.", "Birches turn yellow."))
    accept_run(first.run, by=owner)
    second = send(answers("m1", "Maples turn red.", "Oaks turn brown."))
    first.refresh_from_db()
    run = Run.objects.get(run_tag="m1")
    assert (first.outcome, second.outcome, first.run, second.run) == ("replaced", "taken", run, run)
    assert (run.state, run.version) == ("submitted", 2)
    assert groups(second) == {"replaces_accepted": ("warning", 1)}
    texts = {one["text"] for row in Response.objects.all() for one in row.sentences}
    assert texts == {"Maples turn red.", "Oaks turn brown."}
    assert set(Pooled.objects.values_list("passage__text", flat=True)) == texts
    assert AuditEntry.objects.filter(verb="run submitted").count() == 2


def test_a_team_reads_that_a_replaced_run_is_accepted_again(send, call, owner, participant, client_of):
    """Before it replaces the run, and in the report; a file that is refused replaces nothing."""
    client, first = client_of(participant), send(answers("m1"))
    form = f"/collections/autumn/submissions/submit/?call={call.pk}"
    assert "it counts again once" not in words(client.get(form))
    accept_run(first.run, by=owner)
    assert "m1 is accepted: if you replace it, it counts again once the organizers accept" in words(
        client.get(form)
    )
    assert "it then waits to be accepted again" in words(client.get(first.get_absolute_url()))
    refused = send(lines(response("m1", "t9", "Red.", team_id="maple")))
    assert "replaces_accepted" not in groups(refused)
    again = words(client.get(send(answers("m1", "Another sentence.")).get_absolute_url()))
    assert "An accepted run is replaced: it counts again once this file is accepted" in again


def test_a_team_has_at_most_its_number_of_runs(send, call, participant):
    for run_id in ("m1", "m2"):
        send(answers(run_id))
    third = send(answers("m3"))
    assert groups(third) == {"too_many_runs": ("error", 1)}
    assert not Run.objects.filter(run_tag="m3").exists()
    assert send(answers("m2", "Another sentence.")).outcome == "taken"
    actions.withdraw(Submission.objects.filter(run_tag="m1").get(outcome="taken"), by=participant)
    assert send(answers("m3")).outcome == "taken"
    assert groups(send(answers("m1"))) == {"too_many_runs": ("error", 1)}


def test_a_run_id_of_others_is_refused_without_saying_whose(send, call, rival, participant, client_of):
    send(answers("best", team="oak"), by=rival)
    sent = send(answers("best"))
    assert groups(sent) == {"run_tag_taken": ("error", 1)}
    page = words(client_of(participant).get(sent.get_absolute_url()))
    assert "the run id 'best' is taken" in page
    assert "oak" not in page
    assert Run.objects.get(run_tag="best").team == "oak"
    RunFactory(collection=call.collection, run_tag="organizers", team="maple")
    assert groups(send(answers("organizers"))) == {"run_tag_taken": ("error", 1)}


def test_a_file_of_several_runs_or_of_another_team(send):
    several = send(lines(response("m1", "t1", "Red."), response("m2", "t2", "Red.")))
    assert groups(several)["several_runs"] == ("error", 1)
    other = send(answers("m1", team="oak"))
    assert (other.outcome, groups(other)) == ("taken", {"other_team": ("warning", 1)})


def test_no_submission_adds_a_topic(send, call):
    call.rules = rules_as_json(rules_of("rag25")) | {"off": ["new_topics", "missing_topics"]}
    call.save()
    mixed = lines(*(response("m1", topic, "Red.", team_id="maple") for topic in ("t1", "t9")))
    assert send(mixed).outcome == "taken"
    assert list(Topic.objects.values_list("query_id", flat=True)) == ["t1", "t2"]
    unknown = send(lines(response("m2", "t9", "Red.", team_id="maple")))
    assert groups(unknown)["not_imported"] == ("error", 1)


def test_what_the_rules_let_through_and_the_collection_cannot_store_is_refused(send, call):
    call.rules = rules_as_json(rules_of("rag25")) | {"off": ["duplicate_topics"]}
    call.save()
    sent = send(answers("m1") + lines(response("m1", "t1", "Otherwise.", team_id="maple")))
    assert groups(sent)["not_imported"] == ("error", 1)
    assert not Run.objects.exists()


def test_a_trec_run(send, call, participant, client_of):
    call.takes = Call.Takes.RUN
    call.save()
    asked = (
        client_of(participant).get(f"/collections/autumn/submissions/submit/?call={call.pk}").content.decode()
    )
    assert "query_id Q0 doc_id rank score run_tag" in asked
    assert send(TREC, name="bm25.run").outcome == "taken"
    assert Run.objects.get(run_tag="bm25").rankings.count() == 2
    assert groups(send(answers("m1"))) == {"layout": ("error", 1)}


def test_a_run_with_passages_that_the_collection_lacks_gets_a_warning(
    send, call, django_assert_max_num_queries
):
    call.takes = Call.Takes.RUN
    call.save()
    assert groups(send(TREC, name="bm25.run")) == {}, "a collection without passages says nothing"
    PassageFactory(collection=call.collection, doc_id="msmarco_v2.1_doc_00_1#1_2")
    warned = send(TREC, name="bm25.run")
    assert (warned.outcome, groups(warned)) == ("taken", {"docid_unknown": ("warning", 1)})
    assert warned.findings[0]["places"][0]["line"] == 2
    call.checks_documents = True
    call.save()
    assert groups(send(TREC, name="bm25.run"))["docid_unknown"] == ("error", 1)
    call.rules |= {"off": ["docid_unknown"]}
    call.save()
    assert groups(send(TREC, name="bm25.run")) == {}
    ranks = "".join(f"t1 Q0 msmarco_v2.1_doc_00_{rank}#1_2 {rank} {-rank} deep\n" for rank in range(1, 401))
    call.rules |= {"off": ["missing_topics"]}
    call.save()
    with django_assert_max_num_queries(100):
        assert groups(send(ranks.encode(), name="deep.run"))["docid_unknown"] == ("error", 399)


@pytest.mark.parametrize("pack", [gzip.compress, lambda content: zipped({"run.jsonl": content})])
def test_packed_files_are_checked_by_a_worker(send, participant, client_of, pack):
    sent = send(pack(answers("m1")), name="run.packed")
    assert sent.is_live
    page = markup(client_of(participant).get(sent.get_absolute_url()))
    assert "The file is being checked." in page
    assert 'hx-trigger="every 2s"' in page
    assert "<h1>run.packed</h1>" in page
    work_on("submission", sent.pk)
    part = markup(client_of(participant).get(sent.get_absolute_url(), headers={"HX-Request": "true"}))
    assert "<h1>m1</h1>" in part
    assert " ".join(part.split("<title>")[1].split("</title>")[0].split()) == "m1 of maple · RubricWeb"
    sent.refresh_from_db()
    assert (sent.outcome, sent.run_tag) == ("taken", "m1")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (zipped({"a": b"0" * 20_000_000}), "times its size"),
        (zipped({"a": b"1", "b": b"2"}), "the zip has 2 files"),
        (zipped({"../a": b"1"}), "names a place outside of the zip"),
        (gzip.compress(b"x", mtime=0)[:-9], "expected"),
        (b"\xff\xfe{", "malformed"),
        (b"", "the file is empty"),
    ],
    ids=["bomb", "two files", "place outside", "cut off", "no text", "empty"],
)
def test_files_that_cannot_be_trusted_or_read_are_refused(send, content, problem):
    sent = send(content, name="run")
    if sent.is_live:
        work_on("submission", sent.pk)
        sent.refresh_from_db()
    assert (sent.state, sent.outcome) == ("done", "refused")
    assert problem in str(sent.findings)


def test_the_last_second_is_in_time():
    deadline = timezone.now().replace(microsecond=0)
    call = Call(opens_at=deadline - timedelta(hours=1), deadline=deadline)
    phases = [call.phase_at(deadline + timedelta(seconds=s)).value for s in (-3600.1, -3600, 0, 0.999, 1)]
    assert phases == ["early", "open", "open", "open", "closed"]


def close(call: Call) -> None:
    Call.objects.update(deadline=timezone.now() - timedelta(seconds=2))
    call.refresh_from_db()


def test_a_late_file_is_refused_with_its_time_until_an_organizer_lets_it_in(
    send, call, owner, participant, client_of
):
    close(call)
    sent = send(answers("m1"))
    assert (sent.outcome, Run.objects.exists()) == ("late", False)
    page = words(client_of(participant).get(sent.get_absolute_url()))
    assert f"Late: received {sent.received_at:%-d %b %Y, %H:%M:%S} UTC" in page
    assert "Accept this late file" not in page
    assert client_of(participant).post(f"{sent.get_absolute_url()}let-in/").status_code == 404
    assert client_of(owner).post(f"{sent.get_absolute_url()}let-in/").status_code == 302
    sent.refresh_from_db()
    assert (sent.outcome, sent.let_in_by, sent.run.state) == ("taken", owner, "submitted")
    assert AuditEntry.objects.filter(verb="late submission let in", by=owner).exists()
    assert client_of(owner).post(f"{sent.get_absolute_url()}let-in/").status_code == 403


def test_after_the_deadline_nothing_changes_and_few_files_wait(
    send, call, participant, client_of, monkeypatch
):
    sent = send(answers("m1"))
    close(call)
    client_of(participant).post(f"{sent.get_absolute_url()}withdraw/")
    sent.run.refresh_from_db()
    assert sent.run.state == "submitted"
    monkeypatch.setattr(actions, "MOST_LATE", 1)
    send(answers("m1", "Another sentence."))
    refused = post(client_of(participant), call, answers("m2"))
    assert refused.status_code == 302
    assert Submission.objects.count() == 2
    assert set(Response.objects.values_list("run__run_tag", flat=True)) == {"m1"}


def test_late_files_of_other_teams_leave_room_for_a_team_s_own(
    send, call, participant, rival, client_of, monkeypatch
):
    close(call)
    monkeypatch.setattr(actions, "MOST_LATE", 2)
    for text in ("One sentence.", "Another sentence."):
        assert send(answers("o1", text, team="oak"), by=rival).outcome == "late"
    post(client_of(rival), call, answers("o1", "A third sentence.", team="oak"))
    assert send(answers("m1")).outcome == "late"
    assert send(answers("m1", "Another sentence.")).outcome == "late"
    post(client_of(participant), call, answers("m1", "A third sentence."))
    assert [sent.team for sent in Submission.objects.order_by("pk")] == ["oak", "oak", "maple", "maple"]


def test_before_it_opens_nothing_is_taken(call, participant, client_of):
    Call.objects.update(opens_at=timezone.now() + timedelta(hours=1))
    assert post(client_of(participant), call, answers("m1")).status_code == 302
    assert not Submission.objects.exists()


def test_a_team_withdraws_its_run(send, participant, client_of):
    sent = send(answers("m1"))
    client = client_of(participant)
    assert client.post(f"{sent.get_absolute_url()}withdraw/").status_code == 302
    sent.run.refresh_from_db()
    assert sent.run.state == "withdrawn"
    assert "The run is withdrawn." in words(client.get(sent.get_absolute_url()))
    assert send(answers("m1")).run.state == "submitted"


def test_a_priority_is_asked_where_the_call_asks_it(send, call, participant, client_of):
    call.asks_priority = True
    call.save()
    refused = post(client_of(participant), call, answers("m1"))
    assert refused.status_code == 422
    assert refused.context["form"].errors["file"] == ["Choose the file again: it was not kept."]
    assert send(answers("m1"), priority=1).run.priority == 1
    assert groups(send(answers("m2"), priority=1)) == {"same_priority": ("warning", 1)}
    assert groups(send(answers("m1", "Another sentence."), priority=2)) == {}


def test_an_upload_over_the_limit_is_refused(call, participant, client_of, settings):
    settings.UPLOAD_BYTES = 10
    answer = post(client_of(participant), call, answers("m1"))
    assert answer.status_code == 422
    assert answer.context["form"].errors == {
        "file": ["The file is too large: it may have at most 10\xa0bytes."]
    }
    assert not Submission.objects.exists()
