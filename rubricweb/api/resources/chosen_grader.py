"""The grader that a collection grades with: which it is, and the choice of another, with its exemplars."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.errors import BadOption
from grading.graders import registry
from grading.graders.backend_options import refuse_unknown
from grading.graders.exemplars import EXEMPLAR_EVENTS, names_in
from rubricweb.accounts import roles
from rubricweb.api.models import Token
from rubricweb.api.resources import Resource, Row
from rubricweb.corpus import actions
from rubricweb.corpus.models import Collection
from rubricweb.corpus.prompts import active_prompts, named
from rubricweb.graders.choices import GraderChoiceForm, cards, grader_form
from rubricweb.graders.forms import PREFIX
from rubricweb.grades.configs import planned_configs
from rubricweb.grades.engine import monitor

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
        return Response(_document(self.collection(needed=roles.TO_ORGANIZE)))

    @extend_schema(request=NewChoice, responses=ChosenGraderDocument, operation_id="choose_grader")
    def put(self, request: Request, slug: str) -> Response:
        """Choose the collection's grader."""
        collection = self.collection(needed=roles.TO_ORGANIZE)
        form = _form(collection, self.fields(NewChoice))
        return Response(
            _document(actions.change_settings(collection, form.settings(collection), by=self.person))
        )


def _form(collection: Collection, fields: Row) -> GraderChoiceForm:
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


def _document(collection: Collection) -> Row:
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
