"""The page where organizers see what a pool by depth would hold and cost, and build it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from rubricweb.accounts import roles
from rubricweb.core.formatting import counted
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.core.models import new_stamp
from rubricweb.corpus import access, pools, topic_pools
from rubricweb.corpus.models import Collection, Run
from rubricweb.corpus.pooling import PoolPlan, PoolRule, TopicPlan, apply_pool, plan_pool, stored_rule
from rubricweb.grades.configs import planned_configs
from rubricweb.grades.engine import monitor, stages
from rubricweb.grades.engine.missing import missing_over
from rubricweb.grades.engine.price import price
from rubricweb.jobs import progress, queue

DEEPEST = 10_000
TYPICAL = 20
TYPES = tuple(filter(None, Run.Type.values))


@dataclass(frozen=True, slots=True)
class PoolPreview:
    plan: PoolPlan
    price: progress.Price
    """Price of the new passages by the graders that Re-grade runs, for every bank, without graded ones.

    Answers are verified after their extraction, which is counted too: at most so much, since some questions
    have no answer in a passage.
    """


def preview_pool(collection: Collection, rule: PoolRule, workers: Sequence[queue.WorkerBeat]) -> PoolPreview:
    """Return what the rule would add, and the cost of grading it on these living workers."""
    topics: list[pools.TopicPool] = []
    stamp = pools.stamp_of(collection.pk)
    plan = plan_pool(collection, rule, seen=lambda topic: topics.append(_new_passages(topic)), stamp=stamp)
    grown = tuple(topic for topic in topics if topic.doc_ids)
    added = pools.CollectionPool(collection.pk, new_stamp(), (), (), grown)
    find = partial(missing_over, collection, pool=added)
    direct = find(planned_configs(collection)) if grown else []
    missing = [*stages.extractions(collection, direct, find), *direct, *stages.unanswered(direct)]
    return PoolPreview(plan, price(collection, missing, workers))


def _new_passages(plan: TopicPlan) -> pools.TopicPool:
    """Return the pool of the topic as if it held nothing else."""
    pks, doc_ids = tuple(plan.added.values()), tuple(plan.added)
    ranked = topic_pools.rankings_of(doc_ids, (), ())
    return pools.TopicPool(plan.topic_id, plan.query_id, pks, doc_ids, ranked)


def _depth(label: str, *, required: bool = False, help_text: str = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label, min_value=0, max_value=DEEPEST, required=required, help_text=help_text
    )


class PoolForm(forms.Form):
    """A form for a pool rule."""

    depth = _depth("Passages of each run and topic", required=True)
    automatic = _depth("Of automatic runs", help_text="Empty: as above.")
    manual = _depth("Of manual runs", help_text="Empty: as above.")
    runs = forms.MultipleChoiceField(
        label="Runs", required=False, help_text="None chosen: all runs, including later ones."
    )

    def __init__(self, collection: Collection, query: Mapping[str, Any] | None) -> None:
        stored = stored_rule(collection)
        rule = stored or PoolRule(TYPICAL)
        initial = {"depth": rule.depth, "runs": rule.runs, **rule.by_type}
        usual = None if stored else {"depth": rule.depth}
        super().__init__(usual if query is None else query, initial=initial, auto_id="pool-%s")
        tags = collection.runs.accepted().values_list("run_tag", flat=True)
        self.fields["runs"].choices = [(tag, tag) for tag in tags]  # type: ignore[attr-defined]

    @property
    def rule(self) -> PoolRule:
        """Return the rule of the valid form."""
        chosen = self.cleaned_data
        by_type = {name: chosen[name] for name in TYPES if chosen[name] is not None}
        return PoolRule(chosen["depth"], by_type, tuple(chosen["runs"]))


@require_http_methods(["GET", "HEAD", "POST"])
def pool(request: HtmxRequest, slug: str) -> HttpResponse:
    """Preview the pool of the address, at first the usual one; POST builds it, and what it takes follows."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    query = request.POST if request.method == "POST" else request.GET
    form = PoolForm(collection, query if "depth" in query or request.method == "POST" else None)
    is_valid = form.is_bound and form.is_valid()
    if is_valid and request.method == "POST":
        plan = apply_pool(collection, form.rule, by=request.user)
        messages.success(
            request, f"Pooled: {counted(plan.added, 'passage')} added. Later runs extend the pool."
        )
        return redirect("grades:missing" if plan.added else "grades:pool", slug)
    preview = preview_pool(collection, form.rule, monitor.workers().beats) if is_valid else None
    context = {"collection": collection, "form": form, "preview": preview}
    context["stored"] = stored_rule(collection)
    return form_response(request, "grades/pool.html", context, status=200 if preview else 0)
