"""The form that describes a run."""

from __future__ import annotations

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from rubricweb.corpus.models import Run
from rubricweb.corpus.runs.actions import RunDescription

MOST_TAGS, TAG_CHARS = 20, 40


class RunForm(forms.Form):
    """`seen` is the version that the writer started from."""

    team = forms.CharField(max_length=100, required=False)
    task = forms.CharField(max_length=100, required=False)
    type = forms.ChoiceField(choices=Run.Type.choices, required=False)
    priority = forms.IntegerField(
        min_value=1,
        max_value=1_000,
        required=False,
        help_text=gettext_lazy("1 is the team's most important run."),
    )
    description = forms.CharField(max_length=5_000, required=False, widget=forms.Textarea(attrs={"rows": 4}))
    tags = forms.CharField(
        max_length=MOST_TAGS * (TAG_CHARS + 2),
        required=False,
        help_text=gettext_lazy("Words to group runs by, separated by commas."),
    )
    llm = forms.CharField(
        label=gettext_lazy("Language model"),
        max_length=200,
        required=False,
        help_text=gettext_lazy(
            "The model that wrote its answers, if any. A board graded by the same model says so."
        ),
    )
    is_closed_book = forms.BooleanField(
        label=gettext_lazy("Answers without retrieval, from what the model knows"),
        required=False,
        help_text=gettext_lazy("Boards show it with a star."),
    )
    seen = forms.IntegerField(min_value=1, widget=forms.HiddenInput)

    def clean_tags(self) -> list[str]:
        words = [" ".join(tag.split()) for tag in self.cleaned_data["tags"].split(",")]
        tags = list(dict.fromkeys(filter(None, words)))
        if len(tags) > MOST_TAGS or any(len(tag) > TAG_CHARS for tag in tags):
            raise forms.ValidationError(
                gettext("At most %(MOST_TAGS)s tags of %(TAG_CHARS)s characters.")
                % {"MOST_TAGS": MOST_TAGS, "TAG_CHARS": TAG_CHARS}
            )
        return tags

    @property
    def described(self) -> RunDescription:
        """What the valid form says."""
        return RunDescription(**{name: value for name, value in self.cleaned_data.items() if name != "seen"})


def run_form(run: Run, sent: QueryDict | None = None) -> RunForm:
    """The form of the run as it is, or as `sent`."""
    names = ("team", "task", "type", "priority", "description", "llm", "is_closed_book")
    initial = {name: getattr(run, name) for name in names} | {"tags": ", ".join(run.tags)}
    return RunForm(sent, initial=initial | {"seen": run.version}, auto_id="run-%s")


def again(run: Run, described: RunDescription) -> RunForm:
    """The writer's own words once more, over the version of `run` that they see now."""
    initial = {name: getattr(described, name) for name in described.__slots__ if name != "tags"}
    return RunForm(
        initial=initial | {"tags": ", ".join(described.tags), "seen": run.version}, auto_id="run-%s"
    )
