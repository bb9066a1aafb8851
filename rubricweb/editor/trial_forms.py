"""The settings of a weight trial, in the address or sent to be saved."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.http import QueryDict

from grading.measures import registry
from rubricweb.banks.models import LEAST_WEIGHT, MOST_WEIGHT, Item
from rubricweb.banks.weighing import ItemWeight
from rubricweb.editor.trial import Setting


def _measures() -> list[tuple[str, str]]:
    return [(measure.name, measure.label) for measure in registry.item_measures()]


class WeightTrialForm(forms.Form):
    """`on` names the items that are asked, `solo` the only one; each item has a weight and the version seen.

    Without `tried`, the address has no settings: everything stays as it is.
    """

    measure = forms.ChoiceField(
        choices=_measures, required=False, widget=forms.Select({"form": "trial-items"})
    )

    def __init__(self, sent: QueryDict, items: list[Item]) -> None:
        super().__init__(sent if "tried" in sent else _standing(sent, items), auto_id="trial-%s")
        self.items = items
        self._sent = sent
        listed = self.fields
        choices = [(str(item.pk), str(item)) for item in items]
        listed["on"] = forms.MultipleChoiceField(choices=choices, required=False)
        listed["solo"] = forms.ChoiceField(choices=[("", "none"), *choices], required=False)
        for item in items:
            listed[f"weight-{item.pk}"] = forms.FloatField(
                label=f"Weight of {item}", min_value=LEAST_WEIGHT, max_value=MOST_WEIGHT
            )
            listed[f"seen-{item.pk}"] = forms.IntegerField(min_value=1, required=False)

    @property
    def measure_name(self) -> str:
        return self.cleaned_data.get("measure") or registry.DEFAULT

    @property
    def only(self) -> int | None:
        return int(self.cleaned_data.get("solo") or 0) or None

    @property
    def settings(self) -> dict[int, Setting]:
        on = set(self.cleaned_data.get("on", ()))
        return {
            item.pk: Setting(
                is_on=str(item.pk) in on if self.only is None else item.pk == self.only,
                weight=self._weight(item),
            )
            for item in self.items
        }

    def address(self, *, measure: str) -> str:
        """The query string of these settings by another measure."""
        sent = self._sent.copy()
        for name in ("csrfmiddlewaretoken", "look"):
            sent.pop(name, None)
        sent["measure"] = measure
        return sent.urlencode()

    def weights(self) -> dict[int, ItemWeight]:
        """The changes to save. Solo is a preview only."""
        on = set(self.cleaned_data["on"])
        return {
            item.pk: ItemWeight(
                self.cleaned_data[f"seen-{item.pk}"] or 0, str(item.pk) in on, self._weight(item)
            )
            for item in self.items
        }

    def _weight(self, item: Item) -> float:
        """As sent; the item's own if that cannot be read."""
        weight: float | None = self.cleaned_data.get(f"weight-{item.pk}")
        return item.weight if weight is None else weight


def _standing(sent: Mapping[str, str], items: list[Item]) -> dict[str, object]:
    return {
        "measure": sent.get("measure", ""),
        "on": [str(item.pk) for item in items],
        "solo": "",
        **{f"weight-{item.pk}": item.weight for item in items},
        **{f"seen-{item.pk}": item.version for item in items},
    }
