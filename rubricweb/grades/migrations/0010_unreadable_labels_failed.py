"""Direct labels that no reply states become failed grades: they were stored as 1, or as 0.

Imported labels stay as their file has them. Going back restores the ratings, but not the confidences.
"""

from django.db import migrations
from django.db.models import F, Value

REASON = "the reply states no label; it counted as {rating} ({outcome}) before"
UNREAD = [(rating, outcome) for rating in range(6) for outcome in ("defaulted", "unanswerable")]
"""(rating, outcome) that such replies got."""


def _direct(apps):
    grades = apps.get_model("grades", "Grade")
    return grades.objects.filter(config__purpose="direct").exclude(config__backend="imported")


def _move_stamps(apps, grades):
    pairs = list(grades.order_by().values_list("config", "topic").distinct())
    stamps = apps.get_model("grades", "MatrixStamp").objects
    for config, topic in pairs:
        stamps.filter(config=config, topic=topic).update(number=F("number") + 1)


def fail(apps, schema_editor):
    for rating, outcome in UNREAD:
        unread = _direct(apps).filter(rating=rating, outcome=outcome)
        _move_stamps(apps, unread)
        # As a failed grade has it: the raw reply in `answer`, the reason in `reply`.
        unread.update(
            answer=F("reply"),
            reply=Value(REASON.format(rating=rating, outcome=outcome)),
            rating=None,
            outcome="failed",
            error_class="parse",
            confidence=None,
            expectation=None,
        )


def restore(apps, schema_editor):
    for rating, outcome in UNREAD:
        failed = _direct(apps).filter(outcome="failed", reply=REASON.format(rating=rating, outcome=outcome))
        _move_stamps(apps, failed)
        failed.update(reply=F("answer"), answer="", rating=rating, outcome=outcome, error_class="")


class Migration(migrations.Migration):
    dependencies = [("grades", "0009_drawn_from")]

    operations = [migrations.RunPython(fail, restore)]
