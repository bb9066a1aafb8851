"""Panels of graders: those of a collection, new ones, and the jobs that combine their members' grades."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.errors import GradingError
from grading.graders.panel import MOST_MEMBERS, panel_of
from grading.statistics.panel import PanelRule
from grading.types import Purpose
from rubricweb.accounts import roles
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.resources import Resource, Row, documents, require_valid
from rubricweb.api.resources.jobs import Started
from rubricweb.corpus.models import Collection
from rubricweb.graders.panels import PanelForm, panel_candidates
from rubricweb.grades import actions
from rubricweb.grades.configs import spec_of
from rubricweb.grades.engine.stages import stages
from rubricweb.grades.models import GraderConfig, GradingJob
from rubricweb.grades.panel_making import form_panel, panels_of
from rubricweb.grades.panels import CannotForm, members

RULES = [rule.value for rule in PanelRule]


class NewPanel(serializers.Serializer[Any]):
    """The members of a new panel, and its rule."""

    members = serializers.ListField(
        child=serializers.IntegerField(min_value=1),
        min_length=2,
        max_length=MOST_MEMBERS,
        help_text="Ids of graders. Each stands for its model with all its prompts, as on the page.",
    )
    rule = serializers.ChoiceField(
        choices=RULES, default=PanelRule.MAJORITY.value, help_text="With `first`, the first member decides."
    )
    quorum = serializers.IntegerField(
        min_value=1,
        max_value=MOST_MEMBERS,
        required=False,
        allow_null=True,
        help_text="Votes that a grade needs; by default of more than half of the members.",
    )
    name = serializers.CharField(
        max_length=120, required=False, allow_blank=True, help_text="By default the names of its members."
    )


class PanelDocument(serializers.Serializer[Any]):
    id = serializers.IntegerField(help_text="Of the panel, as a grader.")
    fingerprint = serializers.CharField()
    name = serializers.CharField()
    purpose = serializers.ChoiceField(choices=[Purpose.RATE.value, Purpose.DIRECT.value])
    rule = serializers.ChoiceField(choices=RULES)
    quorum = serializers.IntegerField()
    members = serializers.ListField(
        child=serializers.IntegerField(allow_null=True), help_text="Ids; null for a grader that is not here."
    )
    weights = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField()),
        help_text="By fold of topics and member; empty without learned ones.",
    )
    to_combine = serializers.IntegerField(help_text="Pairs that enough members, but not yet it, have graded.")


class Panels(Resource):
    """The panels of a collection, the newest first. A POST makes one: 202, with its jobs, which are free."""

    scopes = {"POST": Token.Scope.GRADE}

    @extend_schema(responses=PanelDocument(many=True), operation_id="panels_list")
    def get(self, request: Request, slug: str) -> Response:
        """List the panels of graders."""
        collection = self.collection(needed=roles.TO_ORGANIZE)
        return Response(documents(PanelDocument, (_row(collection, each) for each in panels_of(collection))))

    @extend_schema(request=NewPanel, responses={202: Started}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Make a panel of graders and combine what they have graded."""
        collection = self.collection(needed=roles.TO_ORGANIZE)
        form = _form(collection, self.fields(NewPanel))
        try:
            jobs = form_panel(collection, form.groups, form.choice, by=self.person)
        except (CannotForm, GradingError) as refusal:
            raise serializers.ValidationError({"members": [str(refusal)]}) from refusal
        return _started(slug, jobs)


class PanelCombining(Resource):
    """A POST combines what the members have graded since: 202. It costs nothing."""

    scopes = {"POST": Token.Scope.GRADE}

    @extend_schema(request=None, responses={202: Started}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str, panel_id: int) -> Response:
        """Combine what the members of a panel have graded."""
        collection = self.collection(needed=roles.TO_ORGANIZE)
        panel = next((each for each in panels_of(collection) if each.pk == panel_id), None)
        if panel is None:
            raise Http404("No such panel.")
        return _started(slug, actions.start_grading(collection, by=self.person, configs=[panel]))


def _form(collection: Collection, fields: Row) -> PanelForm:
    """Return the page's form with these fields, valid. Raises ValidationError."""
    raters = panel_candidates(collection)
    pk_of = {config.pk: rater.pk for rater in raters for config in rater.configs}
    if absent := [pk for pk in fields["members"] if pk not in pk_of]:
        problems = [f"{pk} is no grader with ratings or labels here." for pk in absent]
        raise serializers.ValidationError({"members": problems})
    form = PanelForm(
        {
            "members": list(dict.fromkeys(pk_of[pk] for pk in fields["members"])),
            "rule": fields["rule"],
            "quorum": fields.get("quorum"),
            "panel_name": fields.get("name", ""),
        }
    )
    form.offer(raters)
    require_valid(form)
    return form


def _row(collection: Collection, config: GraderConfig) -> Row:
    panel = panel_of(spec_of(config))
    return {
        "id": config.pk,
        "fingerprint": config.fingerprint,
        "name": config.llm,
        "purpose": config.purpose,
        "rule": panel.rule.value,
        "quorum": panel.quorum,
        "members": [member and member.pk for member in members(config)],
        "weights": panel.weights,
        "to_combine": sum(part.cells for part in stages(collection, [config]).at_once),
    }


def _started(slug: str, jobs: list[GradingJob]) -> Response:
    headers = {"Location": reverse("api:job", args=[slug, jobs[0].pk])} if jobs else {}
    return Response(Started({"jobs": jobs}).data, HTTPStatus.ACCEPTED, headers=headers)
