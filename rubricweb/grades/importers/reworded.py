"""What becomes of the grades of passages that an import gives another text."""

from __future__ import annotations

from collections.abc import Iterable

from rubricweb.corpus.importers.base import Tally
from rubricweb.grades import store
from rubricweb.grades.models import Grade, GraderConfig, HumanGrade

BATCH = 500


def remove_grades_of(passage_ids: Iterable[int], tally: Tally) -> None:
    """Delete what graders said of texts that are gone: those cells are missing again.

    Ratings by people stay, since nobody can order them anew; a note says how many are of the old texts.
    """
    reworded = sorted(passage_ids)
    removed = human = 0
    for start in range(0, len(reworded), BATCH):
        some = reworded[start : start + BATCH]
        grades = Grade.objects.filter(passage__in=some)
        for config_id, topic_id in sorted(set(grades.values_list("config", "topic"))):
            removed += store.remove_grades(GraderConfig.objects.get(pk=config_id), topic_id, grades)
        human += HumanGrade.objects.filter(passage__in=some).count()
    if reworded:
        tally.of("grades").changed += removed
        words = f"{removed:,} grades of the old texts were removed, so that these pairs need a grade"
        if human:
            words += f"; {human:,} ratings by people are of the old texts and stay"
        tally.note(f"{len(reworded):,} passages have another text now: {words}")
