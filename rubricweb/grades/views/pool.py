"""Organizers: what a pool by depth would hold and cost, and build it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from rubricweb.accounts import roles
from rubricweb.core.formatting import number
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Run
from rubricweb.corpus.pooling import PoolRule, apply_pool, stored_rule
from rubricweb.grades.engine import monitor
from rubricweb.grades.pool_preview import preview_pool

DEEPEST = 10_000
TYPICAL = 20
TYPES = tuple(filter(None, Run.Type.values))


def _depth(label: str, *, required: bool = False, help_text: str = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label, min_value=0, max_value=DEEPEST, required=required, help_text=help_text
    )


class PoolForm(forms.Form):
    """A pool rule."""

    depth = _depth("Passages of each run and topic", required=True)
    automatic = _depth("Of automatic runs", help_text="Empty: as above.")
    manual = _depth("Of manual runs", help_text="Empty: as above.")
    runs = forms.MultipleChoiceField(
        label=gettext_lazy("Runs"),
        required=False,
        help_text=gettext_lazy("None chosen: all runs, including later ones."),
    )

    def __init__(self, collection: Collection, sent: Mapping[str, Any] | None) -> None:
        rule = stored_rule(collection) or PoolRule(TYPICAL)
        initial = {"depth": rule.depth, "runs": rule.runs, **rule.by_type}
        super().__init__(sent, initial=initial, auto_id="pool-%s")
        tags = collection.runs.accepted().values_list("run_tag", flat=True)
        self.fields["runs"].choices = [(tag, tag) for tag in tags]  # type: ignore[attr-defined]

    @property
    def rule(self) -> PoolRule:
        """What the valid form says."""
        chosen = self.cleaned_data
        by_type = {name: chosen[name] for name in TYPES if chosen[name] is not None}
        return PoolRule(chosen["depth"], by_type, tuple(chosen["runs"]))


@require_http_methods(["GET", "HEAD", "POST"])
def pool(request: HtmxRequest, slug: str) -> HttpResponse:
    """Preview the pool of the address; POST builds it."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    sent = request.POST if request.method == "POST" else request.GET
    form = PoolForm(collection, sent if "depth" in sent or request.method == "POST" else None)
    is_valid = form.is_bound and form.is_valid()
    if is_valid and request.method == "POST":
        plan = apply_pool(collection, form.rule, by=request.user)
        messages.success(
            request,
            gettext("Pooled: %(added)s passages added. Later runs extend the pool.")
            % {"added": number(plan.added)},
        )
        return redirect("grades:pool", slug)
    preview = preview_pool(collection, form.rule, monitor.workers().beats) if is_valid else None
    context = {"collection": collection, "form": form, "preview": preview}
    context["stored"] = stored_rule(collection)
    return form_response(request, "grades/pool.html", context, status=200 if preview else 0)
