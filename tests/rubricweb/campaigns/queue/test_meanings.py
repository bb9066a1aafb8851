"""People rate on the scale of the grader that they check."""

import pytest
from django.http import QueryDict

from grading.types import Purpose
from rubricweb.campaigns.queue import RateForm
from rubricweb.campaigns.ratable import OF_WHOLE_SCALE, meanings_of
from rubricweb.grades.configs import imported_config
from tests.factories import lexical_config

pytestmark = pytest.mark.django_db


def test_support_of_nuggets_has_three_ratings():
    config = imported_config("flan", "NuggetAssignment", Purpose.RATE)
    assert meanings_of(config) == ((2, "support"), (1, "partial support"), (0, "not support"))


def test_the_usual_scale_and_no_grader():
    assert meanings_of(lexical_config()) == meanings_of(None) == OF_WHOLE_SCALE


@pytest.mark.parametrize(
    ("rating", "is_fit"), [("2", True), ("0", True), ("3", False), ("-1", False), ("", False)]
)
def test_a_rating_off_the_scale_is_refused(rating, is_fit):
    config = imported_config("flan", "NuggetAssignment", Purpose.RATE)
    sent = QueryDict(f"rating={rating}&seen=0&uid=7f4ac9d2-1111-4222-8333-444455556666")
    form = RateForm(sent, meanings_of(config))
    assert form.is_valid() == is_fit
    assert form.cleaned_data.get("rating") == (int(rating) if is_fit else None)
