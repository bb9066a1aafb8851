"""What people choose on the pages of support."""

from __future__ import annotations

from django import forms
from django.http import QueryDict

from grading.support.asking import LONGEST_REPLY
from grading.support.scores import JudgedCitations, Support
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.core.http import MAX_ID
from rubricweb.corpus.models import Collection
from rubricweb.corpus.writers import first_writer, writer_choices
from rubricweb.support.actions import Asking
from rubricweb.support.cited import Citation
from rubricweb.support.labels import SupportRater, raters
from rubricweb.support.models import CITATIONS, SupportJudge

LONGEST = 16_384
DEFAULT_CITATIONS = JudgedCitations.FIRST.value


class BoardForm(ChipForm):
    """Whose labels, and of which citations."""

    in_toolbar = ("rater", "citations")

    rater = forms.ChoiceField(label="Labels of", required=False)
    citations = forms.ChoiceField(label="Citations judged", required=False, choices=CITATIONS)

    def __init__(self, address: QueryDict) -> None:
        self.address = address
        super().__init__(address)

    def default_value(self, name: str) -> object:
        return {"rater": self.first_rater, "citations": DEFAULT_CITATIONS}[name]

    def offer(self, collection: Collection) -> tuple[SupportRater, JudgedCitations]:
        """What is chosen; the first of each where the address names none, or something else."""
        known = {rater.key: rater for rater in raters(collection)}
        offer_choices(self, "rater", [(key, rater.name) for key, rater in known.items()])
        self.first_rater = next(iter(known))
        chosen = known.get(str(self.data.get("rater", "")), known[self.first_rater])
        rule = str(self.data.get("citations", ""))
        is_known = rule in dict(CITATIONS)
        self.data = {"rater": chosen.key, "citations": rule if is_known else DEFAULT_CITATIONS}
        return chosen, JudgedCitations(self.data["citations"])


class AskForm(forms.Form):
    """Which model is asked about which citations."""

    backend = forms.ChoiceField(label="Runs by")
    llm = forms.CharField(label="Model", max_length=200)
    citations = forms.ChoiceField(label="Citations judged", choices=CITATIONS, initial=DEFAULT_CITATIONS)
    longest_reply = forms.IntegerField(
        label="Longest reply, in tokens",
        min_value=1,
        max_value=LONGEST,
        initial=LONGEST_REPLY,
        help_text="A label takes a few. A model that reasons before it answers needs many more.",
    )

    def offer(self, collection: Collection) -> None:
        """The collection's own model comes first, if it can be asked; otherwise a back-end's default."""
        offer_choices(self, "backend", writer_choices())
        self.initial.update(first_writer(collection).initial)

    @property
    def asking(self) -> Asking:
        """What the valid form says."""
        chosen = self.cleaned_data
        rule = JudgedCitations(chosen["citations"])
        return Asking(chosen["backend"], chosen["llm"].strip(), rule, chosen["longest_reply"])


class SettingsForm(forms.Form):
    """What people who label are asked, and what they see first."""

    citations = forms.ChoiceField(label="People label", choices=CITATIONS)
    sample = forms.IntegerField(
        label="How many, drawn at random",
        required=False,
        min_value=1,
        max_value=MAX_ID,
        widget=forms.NumberInput(attrs={"placeholder": "all"}),
    )
    shown_judge = forms.ModelChoiceField(
        SupportJudge.objects.none(),
        label="Show first the label of",
        required=False,
        empty_label="nobody: people label from scratch",
        help_text=(
            "A label that is shown first draws people to it: 72 % agreed where they saw it, and 56 %"
            " where they did not (Thakur et al. 2025). Both are counted apart."
        ),
    )


class RequestForm(forms.Form):
    """What a script says of its request."""

    uid = forms.RegexField(r"^[0-9a-f]{32}$", required=False)


class LabelForm(RequestForm):
    """One decision."""

    topic = forms.IntegerField(min_value=1, max_value=MAX_ID)
    sentence = forms.RegexField(r"^[0-9a-f]{32}$")
    doc = forms.CharField(max_length=300)
    label = forms.TypedChoiceField(
        choices=[(str(one.value), one.name) for one in Support], coerce=lambda value: Support(int(value))
    )
    seen = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID)
    """The key of the judge whose label the page showed."""

    @property
    def citation(self) -> Citation:
        fields = self.cleaned_data
        return Citation(fields["topic"], fields["sentence"], fields["doc"])
