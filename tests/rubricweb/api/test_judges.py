"""The grader, panels of graders, and votes of models in the arena, as a script has them made."""

from __future__ import annotations

import pytest

from rubricweb.arena.models import JudgeJob
from rubricweb.grades.configs import config_for
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.models import Grade, JobChunk
from rubricweb.grades.panel_making import panels_of
from rubricweb.grades.store import GradeRow, save_grades
from rubricweb.jobs.worker import work_on
from tests.factories import responded
from tests.rubricweb.api.conftest import AT
from tests.worked import worked

pytestmark = pytest.mark.django_db
CHOSEN, PANELS, JUDGING = (f"{AT}graders/chosen/", f"{AT}graders/panels/", f"{AT}arena/judging/")


def test_a_script_makes_a_panel_lists_it_and_combines_again(collection, owner, developer, script_of):
    first = worked(collection).config
    rows = Grade.objects.by(first).exclude(rating=None).values_list("topic", "revision", "passage", "rating")
    others = [config_for("hf_causal", name, "LexicalBaseline") for name in ("one", "two")]
    for other in others:
        save_grades(other, [GradeRow(*row, "numeric") for row in rows])
    script, ids = script_of(owner), [first.pk, *(other.pk for other in others)]
    body = {"members": ids, "rule": "median", "name": "Three"}
    formed = script.post(PANELS, body, format="json", headers={"Idempotency-Key": "one"})
    assert formed.status_code == 202
    (job,) = formed.json()["jobs"]
    assert (job["total"], formed["Location"]) == (len(rows), f"{AT}jobs/{job['id']}/")
    again = script.post(PANELS, body, format="json", headers={"Idempotency-Key": "one"})
    assert again.json() == formed.json()
    for pk in JobChunk.objects.exclude(state="done").values_list("pk", flat=True):
        work_on("chunk", pk)
    (panel,) = panels_of(collection)
    (row,) = script.get(PANELS).json()
    named = (row["id"], row["fingerprint"], row["name"], row["rule"], row["quorum"], row["members"])
    assert named == (panel.pk, panel.fingerprint, "Three", "median", 2, ids)
    assert (row["to_combine"], row["weights"]) == (0, [])
    assert script.post(f"{PANELS}{panel.pk}/combine/").json() == {"jobs": []}
    assert script.post(f"{PANELS}{first.pk}/combine/").status_code == 404
    refused = {
        "no grader": {"members": [first.pk, panel.pk]},
        "Weights need 30 pairs": {"members": ids, "rule": "weights"},
        "votes are more than": {"members": ids, "quorum": 9},
    }
    for problem, odd in refused.items():
        response = script.post(PANELS, odd, format="json")
        assert (response.status_code, problem in response.content.decode()) == (400, True), problem
    assert script_of(developer).post(PANELS, body, format="json").status_code == 403


def test_a_script_prices_starts_and_steers_a_model_that_votes(bank, owner, developer, script_of, settings):
    settings.PRICES = {"oracle": 1.0}
    topic = bank.collection.topics.first()
    for tag, text in (("alpha", "By the moon."), ("beta", "By the sun.")):
        responded(topic, tag, text)
    script, scope = script_of(owner), {"backend": "openai_compatible", "llm": "oracle", "pairs": "all"}
    plan = script.post(f"{JUDGING}plan/", scope, format="json").json()
    assert (plan["pairs"], plan["price"]["cells"]) == (1, 2)
    assert plan["price"]["dollars"] > 0
    assert script.post(JUDGING, scope, format="json").status_code == 400, "limits are not left out"
    limited = scope | {"most_calls": 1}
    started = script.post(JUDGING, limited, format="json", headers={"Idempotency-Key": "one"})
    assert (started.status_code, started.json()["progress"]["done"]) == (202, 0)
    assert script.post(JUDGING, limited, format="json", headers={"Idempotency-Key": "one"}).status_code == 202
    assert (JudgeJob.objects.get().most_calls, JudgeJob.objects.get().by) == (1, owner)
    refused = script.post(JUDGING, limited, format="json")
    assert (refused.status_code, "has judged all" in refused.content.decode()) == (400, True)
    job = started["Location"]
    assert script.patch(job, {"most_calls": 9}, format="json").json()["most_calls"] == 9
    assert script.post(f"{job}pause/").json()["state"] == "paused"
    assert script.post(f"{job}cancel/").json()["state"] == "cancelled"
    assert [row["state"] for row in script.get(JUDGING).json()["items"]] == ["cancelled"]
    assert script.post(f"{job}sing/").status_code == 404
    odd = script.post(f"{JUDGING}plan/", scope | {"backend": "lexical"}, format="json")
    assert odd.status_code == 400
    assert script_of(developer).post(JUDGING, limited, format="json").status_code == 403


def test_a_script_chooses_the_grader_with_exemplars(bank, owner, developer, assessor, script_of):
    script, body = script_of(owner), {"backend": "hf_causal", "llm": "owner/model"}
    before = script.get(CHOSEN).json()
    shown = body | {"options": {"exemplars": "2"}, "prompts": ["QuestionSelfRatedPromptWithReminder"]}
    early = script.put(CHOSEN, shown, format="json")
    assert (early.status_code, "people rated alike" in early.content.decode()) == (400, True)
    for item in bank.items.all():
        passage = item.topic.pool.first().passage_id
        rate_cell(Cell(item.topic_id, item.revision_id, passage), rating=3, by=assessor, seen=0)
    plain = script.put(CHOSEN, body, format="json").json()
    chosen = script.put(CHOSEN, shown, format="json").json()
    assert chosen == script.get(CHOSEN).json() != before
    assert (chosen["llm"], chosen["options"]) == ("owner/model", {"exemplars": 2})
    events = {row["event"] for row in script.get(f"{AT}ratings/").json()["items"]}
    assert set(chosen["exemplars"]) <= events
    assert len(chosen["exemplars"]) == 2
    assert not set(chosen["graders"]) & set(plain["graders"])
    assert (plain["exemplars"], plain["options"]) == ([], {})
    odd = [
        body | {"backend": "panel"},
        body | {"options": {"exemplar": "2"}},
        body | {"options": {"exemplars": "99"}},
        body | {"prompts": ["none"]},
        body | {"llm": "~nobody/here"},
    ]
    assert [script.put(CHOSEN, one, format="json").status_code for one in odd] == [400] * 5
    assert script_of(developer).put(CHOSEN, body, format="json").status_code == 403
