"""The rules of a call as a form: each with its parameters, and whether it is an error, a warning or off."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django import forms
from django.http import QueryDict

from grading.errors import BadFormat
from grading.formats.responses import ResponseDialect, Shape
from grading.submissions import Rules, Severity, rules_as_json, rules_from_json, rules_of, track_names
from grading.submissions.rules import CATEGORIES
from rubricweb.submissions.models import Call

OFF = "off"
SEVERITIES = [(Severity.ERROR.value, "error"), (Severity.WARNING.value, "warning"), (OFF, "off")]
REFERENCES = [
    ("retrieved", "at least what is cited"),
    ("cited", "exactly what is cited"),
    ("none", "not allowed"),
    ("ignored", "not looked at"),
]
UNITS = [("words", "words"), ("characters", "characters")]


class WordsField(forms.CharField):
    """Words with commas or blanks between them, as a list."""

    def clean(self, value: Any) -> list[str]:  # Any: as Django hands it over
        text: str = super().clean(value) or ""
        return text.replace(",", " ").split()

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else ", ".join(value or ())


def _number(label: str) -> forms.Field:
    return forms.IntegerField(label=label, required=False, min_value=0, max_value=10_000_000)


def _text(label: str, *, required: bool = False) -> forms.Field:
    attrs = {"class": "mono", "spellcheck": "false"}
    return forms.CharField(
        label=label, required=required, max_length=500, widget=forms.TextInput(attrs=attrs)
    )


def _word_list(label: str) -> forms.Field:
    return WordsField(label=label, required=False, max_length=500)


def _switch(label: str) -> forms.Field:
    return forms.BooleanField(label=label, required=False)


def _one_of(label: str, choices: list[tuple[str, str]]) -> forms.Field:
    return forms.ChoiceField(label=label, choices=choices)


def _some_of(label: str, choices: list[tuple[str, str]]) -> forms.Field:
    return forms.MultipleChoiceField(label=label, choices=choices, widget=forms.CheckboxSelectMultiple)


DIALECTS = [(dialect.value, dialect.label) for dialect in ResponseDialect]
SHAPES = [(shape.value, shape.value) for shape in Shape]

Parameters = Mapping[str, Callable[[], forms.Field]]
"""Path in the rules -> a function that makes its form field."""
OF_RUNS: dict[str, Parameters] = {
    "run_id_length": {"run_id.max_characters": lambda: _number("Most characters")},
    "run_id_characters": {
        "run_id.pattern": lambda: _text("Regular expression of the whole run id", required=True)
    },
}
OF_RESPONSES: dict[str, Parameters] = OF_RUNS | {
    "layout": {"responses.dialects": lambda: _some_of("Taken", DIALECTS)},
    "metadata": {
        "responses.metadata.required": lambda: _word_list("Required fields"),
        "responses.metadata.same_on_all_lines": lambda: _word_list("Equal on all lines"),
        "responses.metadata.allows_others": lambda: _switch("Other fields are allowed"),
    },
    "metadata_recommended": {"responses.metadata.recommended": lambda: _word_list("Recommended fields")},
    "narrative": {"responses.metadata.topic_text": lambda: _text("Field that copies the topic's text")},
    "length": {
        "responses.length.max_count": lambda: _number("At most"),
        "responses.length.unit": lambda: _one_of("Counted in", UNITS),
        "responses.length.from_topic": lambda: _switch("The topic states the limit"),
    },
    "citation_format": {"responses.citations.shapes": lambda: _some_of("Taken", SHAPES)},
    "citation_count": {"responses.citations.max_per_sentence": lambda: _number("At most, on a sentence")},
    "docid_pattern": {"responses.citations.doc_id": lambda: _text("Regular expression of the whole id")},
    "references_missing": {"responses.references.kind": lambda: _one_of("The list is", REFERENCES)},
    "references_max": {"responses.references.max_count": lambda: _number("At most")},
}
OF_RANKINGS: dict[str, Parameters] = OF_RUNS | {
    "docid_pattern": {"retrieval.doc_id": lambda: _text("Regular expression of the whole id")},
    "ranking_depth": {"retrieval.max_ranks": lambda: _number("At most")},
}
RESPONSE_SECTIONS = {
    "Run": ("run_id_length", "run_id_characters", "metadata", "metadata_recommended", "narrative"),
    "Topics": ("missing_topics", "new_topics", "duplicate_topics"),
    "Answers": ("layout", "empty_answer", "blank_sentence", "length", "documents"),
    "Citations": (
        "citation_format",
        "citation_count",
        "citation_score",
        "reference_index",
        "docid_pattern",
        "docid_unknown",
    ),
    "References": (
        "references_missing",
        "references_present",
        "references_undeclared",
        "references_uncited",
        "references_duplicate",
        "references_max",
    ),
}
RANKING_SECTIONS = {
    "Run": ("run_id_length", "run_id_characters", "metadata"),
    "Topics": ("missing_topics", "new_topics"),
    "Ranks": ("docid_pattern", "docid_unknown", "ranking_duplicate", "ranking_order", "ranking_depth"),
}


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule as its form shows it."""

    category: str
    meaning: str
    parameters: list[forms.BoundField]
    severity: forms.BoundField


class RulesForm(forms.Form):
    """Rules for one kind of file, each with its parameters and how bad it is to break it."""

    label = forms.CharField(label="Name of the rules", max_length=200)

    base: Rules
    """What the form began with."""
    stored: dict[str, Any]  # Any: what JSON holds
    parameters: Mapping[str, Parameters]
    sections: Mapping[str, tuple[str, ...]]
    rules: Rules
    """The rules of the valid form."""

    def clean(self) -> None:
        if self.errors:
            return
        try:
            self.rules = rules_from_json(self._as_json())
        except BadFormat as error:
            raise forms.ValidationError(error.problem) from error

    def _as_json(self) -> dict[str, Any]:
        rules = copy.deepcopy(self.stored) | {"label": self.cleaned_data["label"]}
        for parameters in self.parameters.values():
            for path in parameters:
                value = self.cleaned_data[_name(path)]
                _put(rules, path, value)
        used = [category for section in self.sections.values() for category in section]
        for name in ("warnings", OFF):
            kept = set(rules[name]).difference(used)
            word = Severity.WARNING.value if name == "warnings" else OFF
            chosen = {name for name in used if self.cleaned_data[_severity(name)] == word}
            rules[name] = sorted(kept | chosen)
        return rules

    @property
    def shown_sections(self) -> Iterator[tuple[str, list[RuleRow]]]:
        for title, categories in self.sections.items():
            yield title, [self._row(category) for category in categories]

    def _row(self, category: str) -> RuleRow:
        parameters = [self[_name(path)] for path in self.parameters.get(category, ())]
        return RuleRow(category, CATEGORIES[category], parameters, self[_severity(category)])


def rules_form(rules: Rules, takes: str, submitted: QueryDict | None = None) -> RulesForm:
    """Return the form of the rules for files that a call `takes`, as they are or as `submitted`."""
    stored = rules_as_json(rules)
    parameters, sections = _of(takes)
    initial: dict[str, Any] = {"label": stored["label"]}
    fields: dict[str, forms.Field] = {}
    for path, field in chain.from_iterable(group.items() for group in parameters.values()):
        fields[_name(path)], initial[_name(path)] = field(), _get(stored, path)
    for category in chain.from_iterable(sections.values()):
        label = f"{CATEGORIES[category].capitalize()}: error, warning or off"
        fields[_severity(category)] = forms.ChoiceField(label=label, choices=SEVERITIES)
        initial[_severity(category)] = _severity_in(stored, category)
    form = RulesForm(submitted, initial=initial, auto_id="rule-%s")
    form.fields.update(fields)
    form.base, form.stored, form.parameters, form.sections = rules, stored, parameters, sections
    return form


@dataclass(frozen=True, slots=True)
class Preset:
    """The rules of a track, and where a call's own differ from them."""

    name: str
    label: str
    differences: tuple[str, ...]


def preset_of(rules: Rules, takes: str) -> Preset:
    """Return the track whose rules these come from, or else are most like."""
    names = [rules.name] if rules.name in track_names() else track_names()
    presets = [
        Preset(name, rules_of(name).label, differences(rules, rules_of(name), takes)) for name in names
    ]
    return min(presets, key=lambda preset: len(preset.differences))


def differences(rules: Rules, preset: Rules, takes: str) -> tuple[str, ...]:
    """Return in words what is not as in the preset, for files that the call `takes`."""
    ours, theirs = rules_as_json(rules), rules_as_json(preset)
    parameters, sections = _of(takes)
    lines = []
    for category in chain.from_iterable(sections.values()):
        meaning = CATEGORIES[category]
        severity, usual = _severity_in(ours, category), _severity_in(theirs, category)
        if severity != usual:
            lines.append(f"{meaning}: {severity}, not {usual}")
        for path, field in parameters.get(category, {}).items():
            value, usual = _in_words(_get(ours, path)), _in_words(_get(theirs, path))
            if value != usual:
                lines.append(f"{meaning}, {str(field().label).lower()}: {value}, not {usual}")
    return tuple(lines)


def in_words(rules: Rules, takes: str) -> list[tuple[str, str, str]]:
    """Return each rule that is checked: how bad it is to break it, what breaks it, and its parameters."""
    stored = rules_as_json(rules)
    parameters, sections = _of(takes)
    lines = []
    for category in chain.from_iterable(sections.values()):
        if (severity := _severity_in(stored, category)) != OFF:
            values = [
                f"{str(field().label).lower()}: {_in_words(_get(stored, path))}"
                for path, field in parameters.get(category, {}).items()
            ]
            lines.append((severity, CATEGORIES[category], ", ".join(values)))
    return sorted(lines, key=lambda line: line[0] != Severity.ERROR)


def _of(takes: str) -> tuple[Mapping[str, Parameters], Mapping[str, tuple[str, ...]]]:
    if takes == Call.Takes.RESPONSES:
        return OF_RESPONSES, RESPONSE_SECTIONS
    return OF_RANKINGS, RANKING_SECTIONS


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in (None, "") else str(value)


def _severity_in(stored: Mapping[str, Any], category: str) -> str:
    if category in stored[OFF]:
        return OFF
    return (Severity.WARNING if category in stored["warnings"] else Severity.ERROR).value


def _name(path: str) -> str:
    return path.replace(".", "-")


def _severity(category: str) -> str:
    return f"severity-{category}"


def _get(rules: Mapping[str, Any], path: str) -> Any:  # Any: what JSON holds
    value: Any = rules
    for key in path.split("."):
        value = (value or {}).get(key)
    return value


def _put(rules: dict[str, Any], path: str, value: object) -> None:
    """Set the value in its table, which is made where the rules have none."""
    *tables, key = path.split(".")
    table = rules
    for name in tables:
        if table.get(name) is None:
            table[name] = {}
        table = table[name]
    table[key] = value
