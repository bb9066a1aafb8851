"""Import what people rated in other tools: ratings of cells, and of passages by themselves as judgments.

A cell is known by its topic's id, its item's id or wording, and its passage's id or else the md5 of its text,
within the topic's pool. What the collection lacks is left out and listed; nothing is made of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from grading.formats.ids import item_id, text_md5
from grading.formats.ratings import PersonRating
from rubricweb.corpus.importers.base import FilePosition, some
from rubricweb.corpus.importers.judgments import JudgmentImporter
from rubricweb.corpus.models import Topic
from rubricweb.grades.humans import Cell, add_imported
from rubricweb.grades.importers.people import Work

LEFT_OUT = {
    "topic": "ratings of topics that the collection lacks",
    "item": "ratings of questions or nuggets that the collection lacks",
    "passage": "ratings of passages that the topic's pool lacks, or has twice",
    "report": "ratings of whole reports and of citations",
}
"""What is left out, by what does not match."""


class RatingImporter:
    """Gathers the ratings of all files, and writes them at the end. The last one of a person counts."""

    def __init__(self, work: Work, judgments: JudgmentImporter) -> None:
        self._work = work
        self._collection, self._topics, self._accounts = work.collection, work.topics, work.accounts
        self._judgments, self._tally = judgments, work.tally
        self._given: dict[tuple[Cell, str], int] = {}
        self._pools: dict[int, dict[str, list[tuple[int, str]]]] = {}

    def read(self, path: Path, ratings: Iterable[PersonRating]) -> None:
        """Raises BadFormat."""
        lacking: dict[str, Counter[str]] = {name: Counter() for name in LEFT_OUT}
        for rating in ratings:
            if lack := self._take(rating, FilePosition(path, rating.line)):
                lacking[lack[0]][lack[1]] += 1
        for name, found in lacking.items():
            if found:
                words = f"{LEFT_OUT[name]}: {found.total()} ({some(found)})"
                self._tally.note(f"{path.name}: left out {words}")

    def _take(self, rating: PersonRating, at: FilePosition) -> tuple[str, str] | None:
        """Return what does not match: its kind, and which it is."""
        topic = self._topics.by_query_id.get(rating.query_id)
        if topic is None:
            return "topic", rating.query_id
        if not rating.doc_id and not rating.passage:
            return "report", rating.query_id
        passage = self._passage(topic, rating)
        if passage is None:
            return "passage", f"{rating.doc_id or text_md5(rating.passage)} ({rating.query_id})"
        if not rating.is_of_item:
            self._judgments.add(topic, passage[1], rating.rating, at=at)
            return None
        uid = rating.item_id or item_id(rating.query_id, rating.item)
        revision = self._work.wordings_of(topic).get(uid)
        if revision is None:
            return "item", rating.item or uid
        cell = Cell(topic.pk, revision, passage[0], self._collection.channel)
        self._given[cell, rating.rater] = rating.rating
        return None

    def _passage(self, topic: Topic, rating: PersonRating) -> tuple[int, str] | None:
        """(primary key, id): by its id, or by its text where exactly one passage of the pool has it."""
        if topic.pk not in self._pools:
            pool = self._pools[topic.pk] = {}
            rows = topic.pool.order_by("pk").values_list("passage", "passage__doc_id", "passage__text")
            for pk, doc_id, text in rows:
                pool.setdefault(f"id {doc_id}", []).append((pk, doc_id))
                pool.setdefault(f"md5 {text_md5(text)}", []).append((pk, doc_id))
        key = f"id {rating.doc_id}" if rating.doc_id else f"md5 {text_md5(rating.passage)}"
        found = self._pools[topic.pk].get(key, [])
        return found[0] if len(found) == 1 else None

    def finish(self) -> None:
        if not self._given:
            return
        raters = {name: self._accounts.outside(name) for name in sorted({rater for _, rater in self._given})}
        rows = [(cell, raters[rater], rating) for (cell, rater), rating in self._given.items()]
        new, changed, unchanged = add_imported(rows, channel=self._collection.channel)
        counts = self._tally.of("human_ratings")
        counts.new, counts.changed, counts.unchanged = new, changed, unchanged
        self._tally.note(f"accounts that cannot sign in stand for the people who rated ({len(raters)})")
