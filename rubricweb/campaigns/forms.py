"""The form of a new campaign, for the page, the API and the command."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import QuerySet

from grading.statistics.cover_estimate import COVER_CELLS
from grading.statistics.cover_sample import A_RUN
from grading.topic_attributes import DrawnTopic, attributes, diverse_topics
from grading.types import MAX_RATING, ItemKind
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.banks.selectors import banks_with_texts
from rubricweb.campaigns import actions, population
from rubricweb.campaigns.models import Campaign
from rubricweb.core.forms import RowsField, offer_choices, offer_rows, rows_field
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.raters import KINDS, rater_choices, raters
from rubricweb.grades.selectors import banks

if TYPE_CHECKING:
    from django.http import QueryDict

    from rubricweb.grades.raters import Rater


MOST_TOPIC_BOXES = 60
"""More topics are offered as a list."""
MOST_ASSESSORS = 20


class UnknownNames(actions.QueueError):
    """Topics or people that the collection does not have; `field` is where they were named."""

    def __init__(self, field: str, names: Iterable[str]) -> None:
        self.field = field
        super().__init__(f"Not in the collection: {', '.join(names)}.")


class CampaignForm(forms.Form):
    """A new campaign over one bank and grader."""

    name = forms.CharField(label="Name", max_length=120)
    bank = forms.ChoiceField(label="Rubric")
    grader = forms.ChoiceField(
        label="Grader to check", help_text="Its ratings decide which pairs are chosen, and in which order."
    )
    kinds = forms.MultipleChoiceField(
        label="Kinds of items",
        choices=[(str(kind), f"{kind}s") for kind in KINDS],
        initial=[str(kind) for kind in KINDS],
        widget=forms.CheckboxSelectMultiple(),
    )
    topics = RowsField(
        Topic.objects.none(), label="Topics", required=False, help_text="If you choose none: all."
    )
    diverse = forms.IntegerField(
        label="Diverse topics",
        min_value=1,
        required=False,
        help_text=(
            "Draws this many of the topics with items, as different in their attributes as "
            "possible. Empty: all."
        ),
    )
    diverse_seed = forms.IntegerField(
        label="Seed of the draw",
        min_value=1,
        initial=1,
        required=False,
        help_text="The same seed draws the same topics.",
    )
    cells = forms.ChoiceField(
        label="Pairs",
        choices=Campaign.Cells.choices,
        initial=Campaign.Cells.ALL,
        widget=forms.RadioSelect,
        help_text=f"Without a maximum, a sample for Rubric-Cover has {COVER_CELLS} pairs, which usually "
        f"estimates scores to within 0.05 to 0.1; one for nugget scores has {A_RUN} pairs a run, one for P@k "
        f"{A_RUN} passages.",
    )
    min_grade = forms.IntegerField(
        label="Threshold",
        min_value=1,
        max_value=MAX_RATING,
        required=False,
        help_text="The lowest rating that covers an item. Empty: the grader's own.",
    )
    cutoff = forms.IntegerField(label="Rank cutoff k", min_value=1, max_value=1_000, initial=20)
    size = forms.IntegerField(
        label="Maximum number of pairs",
        min_value=1,
        required=False,
        initial=COVER_CELLS,
        help_text="Empty: all.",
    )
    order = forms.ChoiceField(
        label="Pairs to draw first",
        choices=Campaign.Order.choices,
        initial=Campaign.DEFAULT_ORDER,
        help_text=(
            "If there is a maximum, the rest are left out. In the same time the first choice tells most runs "
            "apart, because their scores come from these pairs."
        ),
    )
    passage_order = forms.ChoiceField(
        label="Order of the passages",
        choices=Campaign.PassageOrder.choices,
        initial=Campaign.PassageOrder.TOPIC,
        required=False,
        help_text="With all items of a passage together, people read the passage once.",
    )
    random_percent = forms.IntegerField(
        label="Drawn at random, %",
        min_value=0,
        max_value=100,
        initial=20,
        help_text=(
            "The share of pairs drawn at random. Estimates use only these. In random order, all pairs are."
        ),
    )
    assessors = forms.IntegerField(
        label="Independent assessors per pair", min_value=1, max_value=MOST_ASSESSORS, initial=1
    )
    mode = forms.ChoiceField(
        label="What assessors see",
        choices=Campaign.Mode.choices,
        initial=Campaign.Mode.BLIND,
        widget=forms.RadioSelect,
    )
    assignees = RowsField(
        User.objects.none(),
        label="Who rates",
        required=False,
        help_text="If you choose none: every assessor.",
        widget=forms.CheckboxSelectMultiple(),
    )
    seconds = forms.FloatField(
        label="Seconds per rating",
        min_value=1,
        max_value=3_600,
        required=False,
        help_text="Your guess, for the estimate of hours. Empty: the pace of those who rated here.",
    )

    def __init__(self, collection: Collection, banks: list[Bank], data: QueryDict | None = None) -> None:
        super().__init__(data, auto_id="campaign-%s")
        worded = banks_with_texts(banks)
        banks = sorted(banks, key=lambda bank: bank not in worded)
        self.banks = {str(bank.pk): bank for bank in banks}
        self.raters = {
            # People rate from 0 to 5, as most graders do; one that verifies answers has no such ratings.
            pk: sorted(raters(bank), key=lambda rater: rater.verifies)
            for pk, bank in self.banks.items()
        }
        labels = [bank.name if bank in worded else f"{bank.name} (no item has a text)" for bank in banks]
        offer_choices(self, "bank", list(zip(self.banks, labels, strict=True)))
        all_raters = {str(rater.pk): rater for offered in self.raters.values() for rater in offered}
        offer_choices(self, "grader", rater_choices(all_raters.values()))
        offer_rows(self, "topics", collection.topics.all())
        field = rows_field(self, "topics")
        if collection.topics.count() > MOST_TOPIC_BOXES:
            field.widget.attrs["size"] = 8
        else:
            field.widget = forms.CheckboxSelectMultiple()
            offer_rows(self, "topics", field.queryset)
        if not attributes(collection.topics.attribute_values()):
            del self.fields["diverse"], self.fields["diverse_seed"]
        offer_rows(self, "assignees", members_who_rate(collection))

    def suggest(self, query: QueryDict) -> None:
        """Begin with the rubric, the grader, the pairs and the order that a link names."""
        named = query.get("bank")
        if named in self.banks:
            self.fields["bank"].initial = named
        for pk, offered in self.raters.items():
            for rater in offered if named in (None, pk) else ():
                if query.get("grader") in {str(config.pk) for config in rater.configs}:
                    self.fields["bank"].initial, self.fields["grader"].initial = pk, str(rater.pk)
        for name, values in (("cells", Campaign.Cells.values), ("order", Campaign.Order.values)):
            if query.get(name) in values:
                self.fields[name].initial = query[name]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors and self._rater() is None:
            self.add_error("grader", "This grader has no grades of this rubric.")
        if not self.errors and cleaned["cells"] == Campaign.Cells.ANSWERS:
            self._require_single_passages(cleaned)
        return cleaned

    def _require_single_passages(self, cleaned: dict[str, Any]) -> None:
        pool = collection_pool(self.banks[cleaned["bank"]].collection)
        tops = [topic.ranked_rows[:, : cleaned["cutoff"]] >= 0 for topic in pool.topics]
        if any((top.sum(axis=1) > 1).any() for top in tops):
            message = (
                f"Runs rank several passages of a topic among their first {cleaned['cutoff']}. Single pairs "
                "estimate a nugget score only where each run has one: choose 1."
            )
            self.add_error("cutoff", message)

    def can_preview(self) -> bool:
        """Return whether everything is right but, perhaps, the name."""
        self.full_clean()
        if set(self.errors) - {"name"}:
            return False
        self.cleaned_data.setdefault("name", "")
        return self._rater() is not None

    def _rater(self) -> Rater | None:
        cleaned = self.cleaned_data
        return next(
            (rater for rater in self.raters[cleaned["bank"]] if str(rater.pk) == cleaned["grader"]), None
        )

    @property
    def choice(self) -> population.CellChoice:
        cleaned, rater = self.cleaned_data, self._rater()
        assert rater is not None  # noqa: S101 - a valid form has one
        bank, size = self.banks[cleaned["bank"]], cleaned.get("diverse")
        kinds = [ItemKind(kind) for kind in cleaned["kinds"]]
        return population.CellChoice(
            bank=bank,
            topics=self._topics(bank),
            kinds=frozenset(kinds),
            rater=rater,
            cells=Campaign.Cells(cleaned["cells"]),
            order=Campaign.Order(cleaned["order"]),
            min_grade=min(cleaned["min_grade"] or rater.min_grade_of(kinds[0]), rater.highest),
            cutoff=cleaned["cutoff"],
            passage_order=Campaign.PassageOrder(cleaned["passage_order"] or Campaign.PassageOrder.TOPIC),
            size=cleaned["size"],
            random_share=cleaned["random_percent"] / 100,
            drawn_by=f"diverse topics: {size}, seed {cleaned['diverse_seed'] or 1}" if size else "",
        )

    def _topics(self, bank: Bank) -> tuple[Topic, ...]:
        chosen = tuple(self.cleaned_data["topics"] or bank.collection.topics.all())
        drawn = self.drawn_topics()
        if not drawn:
            return chosen
        by_query_id = {topic.query_id: topic for topic in chosen}
        return tuple(by_query_id[topic.query_id] for topic in drawn)

    def drawn_topics(self) -> list[DrawnTopic]:
        """Return the diverse topics in the order of the draw; none where all topics are wanted.

        They are drawn from topics that the bank has items of, for the form as far as it is filled in.
        """
        cleaned = self.cleaned_data
        size, bank = cleaned.get("diverse"), cleaned.get("bank")
        if not size or not bank:
            return []
        kinds = [ItemKind(kind) for kind in cleaned.get("kinds", KINDS)]
        items = self.banks[bank].items.active().of_kinds(kinds)
        topics = cleaned.get("topics") or self.banks[bank].collection.topics.all()
        values = topics.filter(pk__in=items.values("topic")).attribute_values()
        return diverse_topics(values, size, seed=cleaned.get("diverse_seed") or 1)

    @property
    def plan(self) -> actions.CampaignPlan:
        cleaned = self.cleaned_data
        name = " ".join(cleaned["name"].split())
        return actions.CampaignPlan(
            name, Campaign.Mode(cleaned["mode"]), cleaned["assessors"], tuple(cleaned["assignees"])
        )


def named_form(collection: Collection, fields: dict[str, Any]) -> CampaignForm:
    """Return the form of a new campaign with `topics` named by `query_id` and `assignees` by user name.

    Raises UnknownNames.
    """
    topics = dict(collection.topics.filter(query_id__in=fields["topics"]).values_list("query_id", "pk"))
    usernames = dict(members_who_rate(collection).values_list("username", "pk"))
    keys = {}
    for field, there in (("topics", topics), ("assignees", usernames)):
        if unknown := [name for name in fields[field] if name not in there]:
            raise UnknownNames(field, unknown)
        keys[field] = [there[name] for name in fields[field]]
    return CampaignForm(collection, banks(collection), {**fields, **keys})  # type: ignore[arg-type]  # a dict will do


def members_who_rate(collection: Collection) -> QuerySet[User]:
    enough = [role for role in roles.Role if role.includes(roles.TO_RATE)]
    held = {"memberships__collection": collection, "memberships__role__in": enough}
    return User.objects.filter(**held).order_by("first_name", "username")
