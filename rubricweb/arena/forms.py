"""The ballot, and what boards, organizers and the unblinded tab choose."""

from __future__ import annotations

from uuid import UUID

from django import forms

from rubricweb.arena import selectors
from rubricweb.arena.actions import Ballot, Said
from rubricweb.arena.models import Arena, Reason, Vote
from rubricweb.arena.votes import NOUNS, Verdict
from rubricweb.banks.models import Bank
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.corpus.models import Collection
from rubricweb.grades.forms import AddressForm, GraderForm, covered_from


class EventForm(forms.Form):
    """What every event of a battle sends along."""

    uid = forms.UUIDField(widget=forms.HiddenInput)
    seen = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    @property
    def sent_uid(self) -> UUID:
        uid: UUID = self.cleaned_data["uid"]
        return uid


class BallotForm(EventForm):
    answer = forms.ChoiceField(label="Which answer is better?", choices=Vote.Verdict.choices)
    evidence = forms.ChoiceField(label="Whose citations hold?", choices=Vote.Verdict.choices, required=False)

    def require_evidence(self, *, is_asked: bool) -> None:
        """The second verdict is asked for where an answer cites anything, and not taken elsewhere."""
        self.fields["evidence"].required = is_asked
        if not is_asked:
            del self.fields["evidence"]

    @property
    def ballot(self) -> Ballot:
        said = self.cleaned_data.get("evidence")
        evidence = Vote.Verdict(said) if said else None
        return Ballot(Vote.Verdict(self.cleaned_data["answer"]), evidence, self.sent_uid)


class ReasonForm(forms.Form):
    """Why somebody voted so."""

    uid = forms.UUIDField(widget=forms.HiddenInput)
    tags = forms.MultipleChoiceField(
        label="It is more",
        choices=Reason.Tag.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    text = forms.CharField(
        label="In your words",
        max_length=500,
        required=False,
        widget=forms.TextInput(attrs={"size": 40}),
    )

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        if not self.errors and not (cleaned["tags"] or cleaned["text"]):
            raise forms.ValidationError("Choose a word or write a few.")
        return cleaned

    @property
    def said(self) -> Said:
        tags = frozenset(map(Reason.Tag, self.cleaned_data["tags"]))
        return Said(tags, self.cleaned_data["text"], self.cleaned_data["uid"])


class PairForm(forms.Form):
    """Two answers to a topic, chosen by name."""

    topic = forms.ChoiceField(label="Topic")
    left = forms.ChoiceField(label="Left")
    right = forms.ChoiceField(label="Right")

    def offer(self, collection: Collection) -> None:
        """Runs go by the names that the reader may see."""
        runs = [(str(run.pk), run.run_tag) for run in selectors.answering_runs(collection)]
        topics = [(str(topic.pk), str(topic)) for topic in selectors.answered_topics(collection)]
        for name, choices in (("topic", topics), ("left", runs), ("right", runs)):
            offer_choices(self, name, choices)

    def chosen(self, name: str) -> int:
        return int(self.cleaned_data[name])


class ArenaForm(forms.ModelForm):  # type: ignore[type-arg]  # of Arena
    """What organizers set."""

    class Meta:
        model = Arena
        fields = ("drawing", "is_board_open")
        labels = {
            "drawing": "How battles are drawn",
            "is_board_open": "Assessors and viewers see the vote board",
        }
        help_texts = {"is_board_open": "Open it when blind voting is over, because it shows who leads."}


VERDICTS = [(verdict.value, noun) for verdict, noun in NOUNS.items()]


class BoardForm(ChipForm, AddressForm):
    """Which votes a board counts."""

    in_toolbar: tuple[str, ...] = ("verdict", "named", "length")

    verdict = forms.ChoiceField(
        label="Votes on",
        choices=VERDICTS,
        required=False,
        initial=Verdict.ANSWER.value,
    )
    named = forms.BooleanField(
        label="Votes of people who knew the names",
        required=False,
        widget=forms.Select(choices=[("", "left out"), ("on", "counted")]),
    )
    length = forms.BooleanField(
        label="Length of answers",
        required=False,
        widget=forms.Select(choices=[("", "as written"), ("on", "held equal")]),
    )

    @property
    def chosen(self) -> Verdict:
        return Verdict(self.value("verdict", Verdict.ANSWER.value))

    @property
    def at_equal_length(self) -> bool:
        return bool(self.value("length", False))

    @property
    def with_named(self) -> bool:
        return bool(self.value("named", False))


class VotesForm(BoardForm, GraderForm):
    """Which votes a board counts, and the rubric with its grader that is held against them."""

    in_toolbar = (*BoardForm.in_toolbar, "bank", "grader", "min_grade")

    bank = forms.ChoiceField(label="Rubric", required=False)
    min_grade = covered_from()

    def default_value(self, name: str) -> object:
        if name in BoardForm.in_toolbar:
            return super().default_value(name)
        return self.default_min_grade if name == "min_grade" else self.data.get(name)

    def offer_banks(self, banks: list[Bank]) -> Bank:
        """Offer these banks, and return the one in the address, else the first."""
        offer_choices(self, "bank", [(str(bank.pk), bank.name) for bank in banks])
        chosen = next((bank for bank in banks if str(bank.pk) == self.data.get("bank")), banks[0])
        self.data["bank"] = str(chosen.pk)
        return chosen
