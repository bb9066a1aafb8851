"""`rubricweb gate`: whether a run is not worse, worse, or nobody can tell."""

import json
from math import isfinite
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from grading.statistics.max_t import ALPHA, adjusted_p, interval
from rubricweb.client import StillRunning, gate
from rubricweb.client.gate import Outcome, Verdict
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.jobs.worker import work_on


def verdict(difference=0.0, low=None, high=None, *, margin=0.05, topics=40, equal=0, is_clear=False):
    return Verdict("new", "old", margin, topics, equal, difference, low, high, is_clear)


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (verdict(0.0, -0.04, 0.04), Outcome.NOT_WORSE),
        (verdict(-0.02, -0.05, 0.01), Outcome.NOT_WORSE),
        (verdict(-0.02, -0.051, 0.01), Outcome.CANNOT_TELL),
        (verdict(-0.2, -0.3, -0.1, is_clear=True), Outcome.WORSE),
        (verdict(-0.03, -0.04, -0.02, is_clear=True), Outcome.NOT_WORSE),
        (verdict(-0.2, -0.3, -0.1), Outcome.CANNOT_TELL),
        (verdict(0.3, is_clear=True), Outcome.NOT_WORSE),
        (verdict(0.1, -0.1, 0.3), Outcome.CANNOT_TELL),
        (verdict(0.0, topics=60, equal=60), Outcome.NOT_WORSE),
        (verdict(0.0, topics=59, equal=59), Outcome.CANNOT_TELL),
        (verdict(0.0), Outcome.CANNOT_TELL),
        (verdict(None, topics=0), Outcome.CANNOT_TELL),
    ],
)
def test_outcome_follows_interval_margin_and_board(given, outcome):
    assert given.outcome is outcome
    assert gate.OUTCOMES[outcome] in given.sentence


def test_topics_needed_shrink_the_interval_to_the_margin():
    given = verdict(-0.01, -0.09, 0.07, topics=40)
    assert given.topics_needed == 160, "half the width takes four times as many"
    assert "About 160 topics would tell" in given.sentence
    assert verdict(-0.05, -0.1, 0.0).topics_needed is None


def test_run_is_the_first_one_whichever_scores_higher():
    worse = {"first": "old", "second": "new", "difference": 0.2, "low": 0.1, "high": 0.35}
    rest = {"topics": 9, "equal_topics": 0, "is_clear": True}
    read = gate.verdict_of({**worse, **rest}, "new", "old", 0.05)
    assert (read.difference, read.low, read.high, read.outcome) == (-0.2, -0.35, -0.1, Outcome.WORSE)
    read = gate.verdict_of({**worse, **rest}, "old", "new", 0.05)
    assert (read.difference, read.low, read.high, read.outcome) == (0.2, 0.1, 0.35, Outcome.NOT_WORSE)


@pytest.mark.parametrize("outcome", [Outcome.NOT_WORSE, Outcome.WORSE, Outcome.CANNOT_TELL])
def test_formats_say_the_same(outcome):
    given = {
        Outcome.NOT_WORSE: verdict(0.0, -0.01, 0.01),
        Outcome.WORSE: verdict(-0.2, -0.3, -0.1, is_clear=True),
        Outcome.CANNOT_TELL: verdict(-0.2, -0.5, 0.1),
    }[outcome]
    document = json.loads(gate.WRITERS["json"](given))
    assert (document["status"], document["outcome"]) == (outcome, gate.OUTCOMES[outcome])
    suite = ET.fromstring(gate.WRITERS["junit"](given))
    assert (suite.get("failures"), suite.get("errors")) == (str(int(outcome == 1)), str(int(outcome == 2)))
    assert len(suite.findall("testcase/failure")) == (outcome == 1)
    assert given.sentence in gate.WRITERS["markdown"](given)
    assert gate.WRITERS["text"](given) == f"{given.sentence}\n"


def test_names_with_marks_stay_one_cell_and_well_formed():
    given = Verdict("a|b<c>", "old", 0.05, 40, 0, 0.0, -0.01, 0.01, False)
    assert "a\\|b<c>" in gate.WRITERS["markdown"](given)
    assert ET.fromstring(gate.WRITERS["junit"](given)).find("testcase").get("name") == "a|b<c>"


def test_share_of_wrong_verdicts_keeps_its_level():
    """Skewed differences over 30 topics: a run that is worse by exactly the margin, and one that is equal."""
    draws = np.random.default_rng(5).choice([0.0, 0.0, 0.0, 0.5], (1_000, 30)) - 0.125

    def outcomes(shift, margin):
        for row in draws + shift:
            low, high = interval(row)
            ends = (low, high) if isfinite(low) else (None, None)
            is_clear = bool(adjusted_p(row[np.newaxis])[0] <= ALPHA)
            yield verdict(float(row.mean()), *ends, margin=margin, topics=30, is_clear=is_clear).outcome

    assert np.mean([outcome is Outcome.NOT_WORSE for outcome in outcomes(-0.1, 0.1)]) <= 0.05
    assert np.mean([outcome is Outcome.WORSE for outcome in outcomes(0.0, 0.05)]) <= 0.05


@pytest.fixture
def at_server(monkeypatch, client_for):
    """`at_server(user, *arguments)`: the exit status of a gate that reaches the application in process."""

    def status(user, *arguments):
        monkeypatch.setattr(gate, "Client", lambda: client_for(user))
        return gate.main(["--collection", "autumn", "--run", "beta", "--against", "alpha", *arguments])

    return status


@pytest.mark.django_db
def test_gate_compares_by_what_is_graded(bank, owner, at_server, capsys, tmp_path):
    formats = ("--format", "json", "--format", f"junit={tmp_path / 'gate.xml'}")
    assert at_server(owner, "--no-grading", "--option", "measure=rubric_cover", *formats) == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["run"], document["outcome"]) == ("beta", "cannot tell")
    assert (document["difference"], document["topics_needed"]) == (0, 60)
    assert ET.parse(tmp_path / "gate.xml").getroot().get("errors") == "1"


@pytest.mark.django_db
def test_gate_grades_what_its_runs_lack_first(bank, developer, at_server, pauses, capsys):
    first, *_, last = bank.items.order_by("topic", "position")
    for item in (first, last):
        item.revision.grades.all().delete()
    assert at_server(developer, "--timeout", "3") == gate.FAILED, "no worker grades here"
    assert [job.total for job in GradingJob.objects.all()] == [3], "no run answers the other topic"
    assert "grading 3 pairs" in capsys.readouterr().err
    assert sum(pauses) >= 3


@pytest.mark.django_db
def test_gate_grades_nothing_beyond_its_limit(bank, developer, at_server, monkeypatch, capsys):
    bank.items.first().revision.grades.all().delete()
    monkeypatch.setattr("rubricweb.grades.engine.price._has_model", lambda missing: True)
    assert at_server(developer, "--most-calls", "2") == gate.FAILED
    assert "grading 3 pairs" in (errors := capsys.readouterr().err)
    assert "takes 3 model calls, the limit is 2" in errors
    assert not GradingJob.objects.exists()


@pytest.mark.django_db
def test_client_grades_one_answer(bank, developer, client_for, monkeypatch):
    def work(_: float) -> None:
        for chunk in JobChunk.objects.filter(state=JobChunk.State.QUEUED):
            work_on("chunk", chunk.pk)

    topic = bank.collection.topics.first()
    client, sent = client_for(developer), {"topic": topic.query_id, "text": "The sun helps."}
    with pytest.raises(StillRunning, match="the answer is grading"):
        client.grade_answer("autumn", **sent, timeout=0)
    monkeypatch.setattr("rubricweb.grades.one_answer.time.sleep", work)
    graded = client.grade_answer("autumn", **sent)
    assert (graded["state"], len(graded["items"]), graded["price"]["cells"]) == ("graded", 2, 0)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--no-grading", "--option", "measure=none"), "measure"),
        (("--no-grading", "--run", "gamma"), "no run gamma"),
        (("--answers", "/no/such/file"), "No such file"),
    ],
)
def test_what_gives_no_verdict_is_no_verdict(bank, owner, at_server, capsys, arguments, message):
    assert at_server(owner, *arguments) == gate.FAILED
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--margin", "-1"], ["--format", "xml"], ["--margin", "nan"], ["--collection"]]
)
def test_wrong_option_is_no_verdict(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        gate.main(["--collection", "c", "--run", "a", "--against", "b", *arguments])
    assert stopped.value.code == gate.FAILED
    assert "rubricweb gate: " in capsys.readouterr().err
