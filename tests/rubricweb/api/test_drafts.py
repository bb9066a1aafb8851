"""Drafts by a model for a whole rubric, as a script has them made."""

from __future__ import annotations

import pytest

from rubricweb.banks.draft_models import DraftJob
from tests.factories import TopicFactory
from tests.rubricweb.api.conftest import AT

pytestmark = pytest.mark.django_db


def test_a_script_prices_starts_and_steers_a_job_that_drafts(bank, developer, assessor, script_of):
    TopicFactory(collection=bank.collection, query_id="bread", text="how does bread rise")
    at, script = f"{AT}banks/{bank.pk}/drafting/", script_of(developer)
    scope = {"kind": "nugget", "backend": "hf_seq2seq", "llm": "tiny", "topics": ["bread"]}
    plan = script.post(f"{at}plan/", scope, format="json").json()
    assert (plan["places"], plan["without_items"], plan["price"]["dollars"]) == (1, 1, 0)
    assert script.post(at, scope, format="json").status_code == 400, "limits are not left out"
    limited = scope | {"most_calls": 1}
    started = script.post(at, limited, format="json", headers={"Idempotency-Key": "one"})
    assert started.status_code == 202
    assert script.post(at, limited, format="json", headers={"Idempotency-Key": "one"}).status_code == 202
    assert (DraftJob.objects.get().kind, started.json()["progress"]["done"]) == ("nugget", 0)
    refused = script.post(at, limited, format="json")
    assert (refused.status_code, "tiny is drafting" in refused.content.decode()) == (400, True)
    job = started["Location"]
    assert script.patch(job, {"most_calls": 9}, format="json").json()["most_calls"] == 9
    assert script.post(f"{job}pause/").json()["state"] == "paused"
    assert script.post(f"{job}cancel/").json()["state"] == "cancelled"
    assert [row["state"] for row in script.get(at).json()["items"]] == ["cancelled"]
    assert script.post(f"{job}sing/").status_code == 404
    assert script_of(assessor).post(at, limited, format="json").status_code == 403
    odd = [scope | {"topics": ["no"]}, scope | {"backend": "lexical"}]
    assert [script.post(f"{at}plan/", one, format="json").status_code for one in odd] == [400, 400]
