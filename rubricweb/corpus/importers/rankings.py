"""Write the rankings of one run: add, leave, or refuse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from grading import types
from grading.formats.ids import is_one_word
from rubricweb.core import database
from rubricweb.corpus.importers.passages import ID_LIMIT
from rubricweb.corpus.importers.positions import FilePosition, fitting_id
from rubricweb.corpus.importers.tally import Tally
from rubricweb.corpus.models import Ranking, Run, Topic

Entry = tuple[str, float]


def write_rankings(
    run: Run, by_topic: Mapping[Topic, types.Ranking], tally: Tally, *, at: FilePosition, is_replacing: bool
) -> None:
    """Update the run's rankings from a file.

    Rankings gathered from passages may grow, since a later graded file may hold more or less of the pool, as
    long as the order is the same. A run file is complete: it must agree, or replace.
    """
    before = {ranking.topic_id: ranking for ranking in run.rankings.all()}
    fresh, counts = [], tally.of("rankings")
    for topic, ranking in by_topic.items():
        old = before.get(topic.pk)
        if old is None:
            fresh.append(_row(run, topic, ranking, at=at))
        elif _says_the_same(old, ranking, is_part_enough=not run.is_from_file):
            counts.unchanged += 1
        elif is_replacing or (not run.is_from_file and _is_part(_entries(old), _new_entries(ranking))):
            old.doc_ids, old.scores = list(ranking.doc_ids), list(ranking.scores)
            old.save(update_fields=["doc_ids", "scores"])
            counts.changed += 1
        else:
            raise at.with_columns(ranking.query_id).error(
                f"run {run.run_tag} ranks the passages of query {ranking.query_id} otherwise than before, "
                "expected the same ranking (or --replace)"
            )
    database.create(fresh)
    counts.new += len(fresh)


def remove_other_rankings(run: Run, kept: Iterable[Topic], tally: Tally) -> None:
    """Remove the run's rankings for all other topics: a run file is complete."""
    gone, _ = run.rankings.exclude(topic__in=list(kept)).delete()
    tally.of("rankings").changed += gone


def _row(run: Run, topic: Topic, ranking: types.Ranking, *, at: FilePosition) -> Ranking:
    for doc_id in ranking.doc_ids:
        if len(doc_id) > ID_LIMIT or not is_one_word(doc_id):
            fitting_id(doc_id, what="the doc_id", at=at.with_columns(doc_id), limit=ID_LIMIT)
    return Ranking(run=run, topic=topic, doc_ids=list(ranking.doc_ids), scores=list(ranking.scores))


def _says_the_same(old: Ranking, ranking: types.Ranking, *, is_part_enough: bool) -> bool:
    entries, new = _entries(old), _new_entries(ranking)
    return entries == new or (is_part_enough and _is_part(new, entries))


def _entries(old: Ranking) -> list[Entry]:
    return [(doc_id, float(score)) for doc_id, score in zip(old.doc_ids, old.scores, strict=True)]


def _new_entries(ranking: types.Ranking) -> list[Entry]:
    return list(zip(ranking.doc_ids, ranking.scores, strict=True))


def _is_part(part: Sequence[Entry], whole: Sequence[Entry]) -> bool:
    """Are the entries of `part` in `whole`, in the same order?"""
    rest = iter(whole)
    return all(entry in rest for entry in part)
