"""Grades from files: repeats, contradictions, replacement, failures."""

import pytest
from django.core.management import CommandError

from grading.formats.graded import read_graded, write_graded
from grading.prompts import get
from rubricweb.core.models import AuditEntry
from rubricweb.grades.configs import AnswerSource, config_asking
from rubricweb.grades.models import Grade, GraderConfig, MatrixStamp
from rubricweb.grades.store import GradeRow, save_grades
from tests.rubricweb.import_files import FALL, RED, Folder, database, direct, extracted, passage, rated, uid

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path):
    folder = Folder(tmp_path)
    folder.load("--graded", folder.graded(passage("d1", rated({uid(RED): 5, uid(FALL): 2}))))
    return folder


def stamp():
    return MatrixStamp.objects.values_list("number", "grades").get()


def test_the_same_value_is_counted_and_moves_nothing(folder):
    before = database()
    again = folder.graded(passage("d1", rated({uid(FALL): 2})), name="again.jsonl")
    document = folder.load("--graded", again)
    assert document["counts"]["grades"] == {"new": 0, "changed": 0, "unchanged": 1}
    assert document["changed"] is False
    assert database() == before


def test_replace_updates_the_cell_and_moves_the_stamp(folder):
    number, grades = stamp()
    newer = folder.graded(passage("d1", rated({uid(RED): 5, uid(FALL): 4})), name="newer.jsonl")
    document = folder.load("--graded", newer, "--replace")
    assert document["counts"]["grades"] == {"new": 0, "changed": 1, "unchanged": 1}
    assert Grade.objects.get(revision__uid=uid(FALL)).rating == 4
    moved, still = stamp()
    assert moved != number
    assert still == grades
    assert AuditEntry.objects.filter(verb="collection imported").count() == 2


def test_replace_still_refuses_two_values_in_one_line(folder):
    bad = folder.graded(
        passage("d2", rated({uid(RED): 3})), passage("d2", rated({uid(RED): 2})), name="bad.jsonl"
    )
    with pytest.raises(CommandError, match=r"bad.jsonl:1: .* rated 2"):
        folder.load("--graded", bad, "--replace")


def test_answers_are_compared_too(folder):
    first = folder.graded(passage("d1", extracted({uid(RED): "anthocyanins"})), name="first.jsonl")
    other = folder.graded(passage("d1", extracted({uid(RED): "carotenoids"})), name="other.jsonl")
    folder.load("--graded", first)
    with pytest.raises(CommandError, match="answered 'carotenoids' here and answered 'anthocyanins' before"):
        folder.load("--graded", other)
    folder.load("--graded", other, "--replace")
    assert Grade.objects.get(outcome="extracted").answer == "carotenoids"


def test_a_replaced_answer_loses_what_was_said_of_it(folder):
    """Of two answers one becomes another; the verdict of the other stays."""
    first = folder.graded(
        passage("d1", extracted({uid(RED): "red", uid(FALL): "autumn"})), name="first.jsonl"
    )
    newer = folder.graded(
        passage("d1", extracted({uid(RED): "blue", uid(FALL): "autumn"})), name="newer.jsonl"
    )
    folder.load("--graded", first)
    answers = list(Grade.objects.filter(outcome="extracted").select_related("config"))
    reading = AnswerSource(source=answers[0].config)
    verifying = get("QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2")
    verifier = config_asking("hf_seq2seq", "small", verifying, reading)
    cells = [(grade.topic_id, grade.revision_id, grade.passage_id) for grade in answers]
    save_grades(verifier, [GradeRow(*cell, 1, "numeric") for cell in cells])
    folder.load("--graded", newer, "--replace")
    assert Grade.objects.by(verifier).get().revision.uid == uid(FALL)
    assert MatrixStamp.objects.get(config=verifier).grades == 1


def test_other_graders_of_the_same_cell_stand_side_by_side(folder):
    entries = (rated({uid(RED): 1}, llm="other"), rated({uid(RED): 3}, prompt_class="OtherPrompt"))
    folder.load("--graded", folder.graded(passage("d1", *entries), name="others.jsonl"))
    assert sorted(Grade.objects.filter(revision__uid=uid(RED)).values_list("rating", flat=True)) == [1, 3, 5]
    assert set(GraderConfig.objects.values_list("backend", flat=True)) == {"imported"}


def test_two_attempts_of_a_model_stay_apart_when_written_and_read_again(folder):
    tries = [rated({uid(RED): rating}) | {"llm_options": {"attempt": rating}} for rating in (2, 3)]
    labels = [direct(is_relevant=True) | {"llm_options": {"attempt": 2}}]
    path = folder.graded(passage("d2", *tries, labels=labels), name="tries.jsonl")
    folder.load("--graded", path)
    configs = {config.fingerprint: config.settings for config in GraderConfig.objects.all()}
    assert sorted(map(str, configs.values())) == ["{'attempt': 2}", "{'attempt': 2}", "{'attempt': 3}", "{}"]
    write_graded(path, list(read_graded(path)))
    again = folder.load("--graded", path)["counts"]["grades"]
    assert again == {"new": 0, "changed": 0, "unchanged": 3}
    assert set(GraderConfig.objects.values_list("fingerprint", flat=True)) == set(configs)


def test_an_option_of_a_file_is_never_taken_for_a_prompt_of_ours(folder):
    entry = rated({uid(RED): 2}, llm="other") | {"llm_options": {"prompt": "Rate.", "answers_by": "them"}}
    folder.load("--graded", folder.graded(passage("d2", entry), name="told.jsonl"))
    assert GraderConfig.objects.get(llm="other").options == {}


def test_collections_share_configs_and_nothing_else(folder):
    folder.load("--graded", folder.graded(passage("d1", rated({uid(RED): 0}))), slug="elsewhere")
    assert GraderConfig.objects.count() == 1
    assert sorted(Grade.objects.filter(revision__uid=uid(RED)).values_list("rating", flat=True)) == [0, 5]


def test_a_failure_is_kept_with_its_reason(folder):
    entry = rated({}) | {
        "llm_response_errors": {uid(RED): {"response": "so so", "failure_reason": "no number", "prompt": "?"}}
    }
    folder.load("--graded", folder.graded(passage("d2", entry), name="failed.jsonl"))
    row = Grade.objects.get(passage__doc_id="d2")
    assert (row.rating, row.outcome, row.answer, row.reply) == (None, "failed", "so so", "no number")
    with pytest.raises(CommandError, match=r"is rated 3 .* here and failed \(no number\) before"):
        folder.load("--graded", folder.graded(passage("d2", rated({uid(RED): 3})), name="retried.jsonl"))


def test_a_cell_over_two_lines_of_a_topic(folder):
    line = ["t1", [passage("d2", rated({uid(RED): 3}))]]
    imported = folder.load("--graded", folder.lines("two.jsonl", line, line))["counts"]["grades"]
    assert imported == {"new": 1, "changed": 0, "unchanged": 1}
    other = ["t1", [passage("d3", rated({uid(RED): 3}))]], ["t1", [passage("d3", rated({uid(RED): 4}))]]
    with pytest.raises(CommandError, match=r"bad.jsonl:2: item .* on passage d3 is rated 4 .* and rated 3"):
        folder.load("--graded", folder.lines("bad.jsonl", *other))


def test_entries_that_an_earlier_one_hides_are_noted(folder):
    entries = rated({uid(RED): 3}), rated({uid(RED): 4})
    document = folder.load("--graded", folder.graded(passage("d2", *entries), name="twice.jsonl"))
    assert document["notes"][0].startswith("twice.jsonl: left out 1 grading entries")
    assert Grade.objects.get(passage__doc_id="d2").rating == 3
