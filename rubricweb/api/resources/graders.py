"""The grader that a collection grades with, the choice of another, and panels of graders."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.errors import BadOption, GradingError
from grading.graders import registry
from grading.graders.backend_options import refuse_unknown
from grading.graders.exemplars import EXEMPLAR_EVENTS, names_in
from grading.graders.panel import MOST_MEMBERS, panel_of
from grading.statistics.panel import PanelRule
from grading.types import Purpose
from rubricweb.accounts import roles
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.resources import Resource, Row, documents, require_valid
from rubricweb.api.resources.jobs import Started, started
from rubricweb.corpus.actions import change_settings
from rubricweb.corpus.models import Collection
from rubricweb.corpus.prompts import active_prompts, named
from rubricweb.graders.choices import GraderChoiceForm, cards, grader_form
from rubricweb.graders.forms import PREFIX
from rubricweb.graders.panels import PanelForm, panel_candidates
from rubricweb.grades import actions
from rubricweb.grades.configs import planned_configs, spec_of
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.stages import stages
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.panel_making import form_panel, panels_of
from rubricweb.grades.panels import CannotForm, members

FIELDS = {"grader_backend": "backend", "grader_llm": "llm", "grader_prompts": "prompts"}
"""Fields of the page's form, with the names that they have here."""


class NewChoice(serializers.Serializer[Any]):
    """A model with its prompts and options; what is left out has its default."""

    backend = serializers.CharField(help_text="Such as `openai_compatible`.")
    llm = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=200, help_text="The back-end's by default."
    )
    prompts = serializers.ListField(
        child=serializers.CharField(), required=False, default=list, help_text="Prompt classes, or own ids."
    )
    options = serializers.DictField(
        child=serializers.CharField(max_length=2_000),
        required=False,
        default=dict,
        help_text='As they are typed, by name: {"exemplars": "6", "max_new_tokens": "100"}.',
    )


class ChosenGraderDocument(serializers.Serializer[Any]):
    backend = serializers.CharField()
    llm = serializers.CharField(allow_blank=True)
    prompts = serializers.ListField(child=serializers.CharField())
    options = serializers.DictField(help_text="Those that differ from their defaults.")
    exemplars = serializers.ListField(
        child=serializers.UUIDField(),
        help_text="The events of `ratings/` that its prompts show, with those that stand in for them.",
    )
    graders = serializers.ListField(
        child=serializers.CharField(),
        help_text="Fingerprints, one for each prompt; `jobs/plan/` has the price.",
    )


class ChosenGrader(Resource):
    """The grader of new grades. A PUT chooses another; grades of earlier graders are kept."""

    scopes = {"PUT": Token.Scope.ORGANIZE}

    @extend_schema(responses=ChosenGraderDocument, operation_id="chosen_grader")
    def get(self, request: Request, slug: str) -> Response:
        """Get the collection's grader."""
        return Response(_chosen_document(self.collection(needed=roles.TO_ORGANIZE)))

    @extend_schema(request=NewChoice, responses=ChosenGraderDocument, operation_id="choose_grader")
    def put(self, request: Request, slug: str) -> Response:
        """Choose the collection's grader."""
        collection = self.collection(needed=roles.TO_ORGANIZE)
        form = _choice_form(collection, self.fields(NewChoice))
        return Response(
            _chosen_document(change_settings(collection, form.settings(collection), by=self.person))
        )


def _choice_form(collection: Collection, fields: Row) -> GraderChoiceForm:
    """Return the page's form with these fields, valid. Raises ValidationError."""
    fitting = [card for card in cards() if fields["backend"] in card.backends]
    card = next((card for card in fitting if fields["llm"] == card.llm), fitting[-1] if fitting else None)
    if card is None:
        names = ", ".join(dict.fromkeys(name for card in cards() for name in card.backends))
        raise serializers.ValidationError({"backend": [f"{fields['backend']} is none of {names}."]})
    try:
        refuse_unknown(fields["backend"], fields["options"], registry.BACKENDS[fields["backend"]].options)
    except BadOption as error:
        raise serializers.ValidationError({"options": [str(error)]}) from error
    submitted = {name: fields[given] for name, given in FIELDS.items()}
    submitted |= {f"{PREFIX}{name}": value for name, value in fields["options"].items()}
    form = grader_form(collection, card, monitor.workers().beats, submitted)
    if not form.is_valid():
        problems: dict[str, list[str]] = {}
        for name, errors in form.errors.items():
            problems.setdefault(FIELDS.get(name, "options"), []).extend(map(str, errors))
        raise serializers.ValidationError(problems)
    return form


def _chosen_document(collection: Collection) -> Row:
    options = collection.grader_options
    names = names_in(options)
    return ChosenGraderDocument(
        {
            "backend": collection.grader_backend,
            "llm": collection.grader_llm,
            "prompts": [named(prompt) for prompt in active_prompts(collection)],
            "options": {name: value for name, value in options.items() if name != EXEMPLAR_EVENTS},
            "exemplars": [name for kind in sorted(names) for slot in names[kind] for name in slot],
            "graders": [config.fingerprint for config in planned_configs(collection)],
        }
    ).data


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
        return Response(
            documents(PanelDocument, (_panel_row(collection, each) for each in panels_of(collection)))
        )

    @extend_schema(request=NewPanel, responses={202: Started}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Make a panel of graders and combine what they have graded."""
        collection = self.collection(needed=roles.TO_ORGANIZE)
        form = _panel_form(collection, self.fields(NewPanel))
        try:
            jobs = form_panel(collection, form.groups, form.choice, by=self.person)
        except (CannotForm, GradingError) as refusal:
            raise serializers.ValidationError({"members": [str(refusal)]}) from refusal
        return started(slug, jobs)


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
        return started(slug, actions.start_grading(collection, by=self.person, configs=[panel]))


def _panel_form(collection: Collection, fields: Row) -> PanelForm:
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


def _panel_row(collection: Collection, config: GraderConfig) -> Row:
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
