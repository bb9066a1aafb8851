"""Imports of people's work: its authors, ratings as Export wrote them or other tools did."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol
from uuid import UUID, uuid5

from django.conf import settings
from django.db.models import Model, Q
from django.utils.module_loading import import_string

from grading.formats import Content
from grading.formats.events import RatingEvent, moment
from grading.formats.ratings import PersonRating
from grading.types import item_id, text_md5
from rubricweb.accounts.models import User
from rubricweb.banks.models import ItemRevision
from rubricweb.core import audit
from rubricweb.core.database import LOOKED_UP
from rubricweb.corpus.import_base import FilePosition, Tally, TopicImporter, some
from rubricweb.corpus.import_judgments import JudgmentImporter
from rubricweb.corpus.import_responses import ResponseImporter
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import Cell, add_imported, save_events
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import graders

USERNAME_CHARS = 150
NO_AUTHOR = "no author"
"""Beginning of the problem of a file that is read once somebody says whose work is in it."""
_UNFIT = re.compile(r"[^\w.@+-]")

Kinds = Mapping[str, tuple[type[Model], str]]
"""Models of the imported kinds and the path to their collection, in an order of removal."""

TOPIC = "ratings of topics that the collection lacks"
ITEM = "ratings of questions or nuggets that the collection lacks"
PASSAGE = "ratings of passages that the collection lacks"
SINCE = "ratings of pairs that the same person has rated here since"
KIND = "human ratings"
LEFT_OUT = {
    "topic": "ratings of topics that the collection lacks",
    "item": "ratings of questions or nuggets that the collection lacks",
    "passage": "ratings of passages that the topic's pool lacks, or has twice",
    "report": "ratings of whole reports and of citations",
}
"""Descriptions of what is left out, by what does not match."""


class Accounts:
    """A lookup of the accounts of the people whom files name."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    @cached_property
    def _here(self) -> dict[str, User]:
        """Return members by user name, and by pseudonym members and all who rated here."""
        members = User.objects.filter(memberships__collection=self._collection)
        outside = Q(is_active=False, username__startswith=f"{self._collection.slug}.")
        rated = Q(human_grades__topic__collection=self._collection)
        by_name = {
            assessor_pseudonym(self._collection, person.pk): person
            for person in (*User.objects.filter(outside | rated).distinct(), *members)
        }
        return by_name | {person.username: person for person in members}

    def of(self, name: str) -> User | None:
        """Return the member of that name or pseudonym, else an account that nobody can sign in to.

        None for an empty name.
        """
        if not name:
            return None
        return self._here.get(name) or self.outside(name)

    def outside(self, name: str) -> User:
        """Return the account for a person of this collection's files, to which nobody can sign in.

        So a file of another tool attributes nothing to a real account.
        """
        username = f"{self._collection.slug}.{_UNFIT.sub('-', name)}"[:USERNAME_CHARS]
        person = User.objects.filter(username=username).first()
        if person is not None and person.is_active:
            username = f"{username[: USERNAME_CHARS - 5]}.file"
            person = User.objects.filter(username=username).first()
        if person is None:
            person = User(username=username, first_name=name[:150], is_active=False)
            person.set_unusable_password()
            person.save()
        return person


@dataclass(frozen=True, slots=True)
class WorkOfPeople:
    """An import of people's work: the collection, and the counts."""

    collection: Collection
    topics: TopicImporter
    accounts: Accounts
    tally: Tally
    is_replacing: bool
    responses: ResponseImporter
    """Makes the answers that labels are of, where the collection lacks them."""
    authors: Mapping[Path, str]
    """Who made what is in files that name nobody: `people`, or a model's name."""
    after_prediction_of: str = ""
    """The model whose predictions these authors saw first; empty for none."""
    credits: Counter[tuple[User, str]] = field(default_factory=Counter)
    """Number of events of each kind added in each person's name."""
    _wordings: dict[int, dict[str, int]] = field(default_factory=dict)

    def wordings_of(self, topic: Topic) -> dict[str, int]:
        """Return the keys of the topic's wordings by their uids, secret ones too; read once a topic."""
        if topic.pk not in self._wordings:
            rows = ItemRevision.including_secret.filter(topic=topic)
            self._wordings[topic.pk] = dict(rows.values_list("uid", "pk"))
        return self._wordings[topic.pk]

    def identify(self, model: type[Model], path: str, uids: Iterable[str]) -> dict[str, tuple[UUID, bool]]:
        """Return a row's id in this collection for the id in the file, and whether it exists.

        Where another collection has the id, because one is a copy of the other, the row gets one that is made
        of it. `path` leads from the model to its collection.
        """
        listed = list(uids)
        copied = {uid: uuid5(UUID(uid), f"collection {self.collection.pk}") for uid in listed}
        where: dict[UUID, int] = {}
        for some_uids in in_portions([*map(UUID, listed), *copied.values()]):
            where |= dict(model._base_manager.filter(uid__in=some_uids).values_list("uid", path))
        here = self.collection.pk
        return {
            uid: (copied[uid], where.get(copied[uid]) == here)
            if where.get(UUID(uid), here) != here
            else (UUID(uid), UUID(uid) in where)
            for uid in listed
        }

    def passages(self, doc_ids: Iterable[str]) -> dict[str, int]:
        """Return the keys of those of these passages that the collection has."""
        keys: dict[str, int] = {}
        for named in in_portions(doc_ids):
            rows = self.collection.passages.filter(doc_id__in=named)
            keys |= dict(rows.values_list("doc_id", "pk"))
        return keys

    def leave_out(self, path: Path, lacking: Mapping[str, Counter[str]]) -> None:
        """Note what was left out by kind: the names, and how often each occurred."""
        for what, names in lacking.items():
            if names:
                self.tally.note(f"{path.name}: left out {what}: {names.total()} ({some(names)})")

    def finish(self, *, by: User | None) -> None:
        """Note in whose name something was added, also in the audit trail."""
        if not self.credits:
            return
        listed = [f"{person.username} ({number:,} {kind})" for (person, kind), number in self.credits.items()]
        audit.record("work of people imported", self.collection, by=by, detail=", ".join(sorted(listed)))
        outside = sum(not person.is_active for person in {person for person, _ in self.credits})
        if outside:
            self.tally.note(f"accounts that cannot sign in stand for the people who did this ({outside})")


class WorkImporter(Protocol):
    """An importer of events into one room, all or nothing; importing them again adds nothing."""

    kinds: ClassVar[Kinds]

    def __init__(self, work: WorkOfPeople) -> None: ...

    def read(self, path: Path, events: Iterable[Any], **options: str) -> None:
        """Read the files' events. Raises BadFormat."""


def importer_of(content: Content) -> type[WorkImporter]:
    """Return the class that imports the content, which `settings.IMPORTERS` names."""
    importer: type[WorkImporter] = import_string(_paths()[content])
    return importer


def registered_kinds() -> Kinds:
    """Return the kinds that other rooms' importers count, in an order in which rows can be removed."""
    return {kind: row for content in _paths() for kind, row in importer_of(content).kinds.items()}


def _paths() -> dict[Content, str]:
    """Return the dotted paths of the importers, unloaded, so that other processes do not wait for them."""
    return {Content(name): path for name, path in settings.IMPORTERS.items()}


def in_portions(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the different values, as many at a time as a query may name."""
    distinct = list(dict.fromkeys(values))
    for start in range(0, len(distinct), LOOKED_UP):
        yield distinct[start : start + LOOKED_UP]


class _ImportedCell(NamedTuple):
    topic: int
    revision: int
    passage: int
    assessor: str
    """Name of the person in the file."""


class _Statement(NamedTuple):
    """The content that distinguishes two events of a cell, whatever ids a copied collection gives them."""

    at: datetime
    rating: int | None
    verdict: str
    is_withdrawn: bool


class RatingEventImporter:
    """An importer of the events that the collection lacks, added after a person's events of the cell.

    An event is known by its id, or by its cell, time and rating. One that is older than what the person said
    here otherwise is left out, since the last event of a person counts.
    """

    def __init__(self, work: WorkOfPeople) -> None:
        self._work = work
        self._raters: dict[str, User | None] = {}

    def read(self, path: Path, events: Iterable[RatingEvent]) -> None:
        """Import all events of a file."""
        listed = list(events)
        lacking: dict[str, Counter[str]] = {name: Counter() for name in (TOPIC, ITEM, PASSAGE, SINCE)}
        by_cell = self._placed(listed, lacking)
        before = self._before({cell.revision for cell in by_cell})
        ids = self._work.identify(HumanGrade, "topic__collection", (event.event for event in listed))
        rows: list[HumanGrade] = []
        with_comments = 0
        for cell, of_cell in by_cell.items():
            stated = before[cell.revision, cell.passage]
            fresh = [
                event
                for event in of_cell
                if not ids[event.event][1]
                and _Statement(moment(event.at), event.rating, event.verdict.value, event.withdrawn)
                not in stated
            ]
            self._work.tally.of("human_ratings").unchanged += len(of_cell) - len(fresh)
            if not fresh:
                continue
            person = self._person(cell.assessor)
            own = {number: statement.at for statement, (by, number) in stated.items() if by == person.pk}
            fresh.sort(key=lambda event: (moment(event.at), event.number))
            if own and moment(fresh[0].at) < max(own.values()):
                lacking[SINCE][person.username] += len(fresh)
                continue
            with_comments += sum(bool(event.comment or event.reason) for event in fresh)
            for number, event in enumerate(fresh, start=max(own, default=0) + 1):
                row = self._row(cell, event)
                row.by, row.number, row.uid = person, number, ids[event.event][0]
                rows.append(row)
                self._work.credits[person, KIND] += 1
        rows.sort(key=lambda row: row.at)
        save_events(rows, channel=self._work.collection.channel)
        self._work.tally.of("human_ratings").new += len(rows)
        self._work.leave_out(path, lacking)
        if with_comments:
            what = "comments of campaigns and reasons of decisions"
            self._work.tally.note(f"{path.name}: left out {what}, which {with_comments:,} ratings have")

    def _placed(
        self, events: Iterable[RatingEvent], lacking: dict[str, Counter[str]]
    ) -> dict[_ImportedCell, list[RatingEvent]]:
        """Return the events of each cell of each person; `lacking` gets the names of missing things."""
        listed = list(events)
        passages = self._work.passages(event.passage_id for event in listed)
        by_cell: dict[_ImportedCell, list[RatingEvent]] = defaultdict(list)
        for event in listed:
            topic = self._work.topics.by_query_id.get(event.query_id)
            revision = self._work.wordings_of(topic).get(event.item_id) if topic else None
            passage = passages.get(event.passage_id)
            if topic is None:
                lacking[TOPIC][event.query_id] += 1
            elif revision is None:
                lacking[ITEM][event.item_id] += 1
            elif passage is None:
                lacking[PASSAGE][event.passage_id] += 1
            else:
                by_cell[_ImportedCell(topic.pk, revision, passage, event.assessor)].append(event)
        return by_cell

    def _before(self, revisions: Iterable[int]) -> dict[tuple[int, int], dict[_Statement, tuple[int, int]]]:
        """Return the existing events by revision and passage, with the person and the event's number."""
        before: dict[tuple[int, int], dict[_Statement, tuple[int, int]]] = defaultdict(dict)
        for portion in in_portions(revisions):
            rows = HumanGrade.objects.filter(revision__in=portion).order_by("number")
            fields = ("revision", "passage", "by", "number", "at", "rating", "verdict", "is_withdrawn")
            for revision, passage, person, number, *statement in rows.values_list(*fields):
                before[revision, passage][_Statement(*statement)] = person, number
        return before

    def _row(self, cell: _ImportedCell, event: RatingEvent) -> HumanGrade:
        return HumanGrade(
            topic_id=cell.topic,
            revision_id=cell.revision,
            passage_id=cell.passage,
            rating=event.rating,
            verdict=event.verdict.value,
            how=event.how.value,
            is_withdrawn=event.withdrawn,
            config=self._configs.get(event.grader),
            seen_rating=event.grader_rating,
            at=moment(event.at),
        )

    @cached_property
    def _configs(self) -> dict[str, GraderConfig]:
        """Return the graders of the collection by those of these names that it has."""
        configs = [row.config for row in graders(self._work.collection)]
        names = Counter(map(str, configs))
        return {str(config): config for config in configs if names[str(config)] == 1}

    def _person(self, name: str) -> User:
        if name not in self._raters:
            self._raters[name] = self._work.accounts.of(name)
        person = self._raters[name]
        if person is None:
            raise ValueError("a rating has a person")
        return person


class RatingImporter:
    """An importer that gathers the ratings of all files, and writes each person's last one at the end."""

    def __init__(self, work: WorkOfPeople, judgments: JudgmentImporter) -> None:
        self._work = work
        self._collection, self._topics, self._accounts = work.collection, work.topics, work.accounts
        self._judgments, self._tally = judgments, work.tally
        self._given: dict[tuple[Cell, str], int] = {}
        self._pools: dict[int, dict[str, list[tuple[int, str]]]] = {}

    def read(self, path: Path, ratings: Iterable[PersonRating]) -> None:
        """Read the ratings of a file. Raises BadFormat."""
        lacking: dict[str, Counter[str]] = {name: Counter() for name in LEFT_OUT}
        for rating in ratings:
            if lack := self._take(rating, FilePosition(path, rating.line)):
                lacking[lack[0]][lack[1]] += 1
        for name, names in lacking.items():
            if names:
                note = f"{LEFT_OUT[name]}: {names.total()} ({some(names)})"
                self._tally.note(f"{path.name}: left out {note}")

    def _take(self, rating: PersonRating, at: FilePosition) -> tuple[str, str] | None:
        """Return what does not match: its kind and its name."""
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
        """Return (primary key, id) of the passage with this id, else of the only one with this text."""
        if topic.pk not in self._pools:
            pool = self._pools[topic.pk] = {}
            rows = topic.pool.order_by("pk").values_list("passage", "passage__doc_id", "passage__text")
            for pk, doc_id, text in rows:
                pool.setdefault(f"id {doc_id}", []).append((pk, doc_id))
                pool.setdefault(f"md5 {text_md5(text)}", []).append((pk, doc_id))
        key = f"id {rating.doc_id}" if rating.doc_id else f"md5 {text_md5(rating.passage)}"
        matches = self._pools[topic.pk].get(key, [])
        return matches[0] if len(matches) == 1 else None

    def finish(self) -> None:
        if not self._given:
            return
        raters = {name: self._accounts.outside(name) for name in sorted({rater for _, rater in self._given})}
        rows = [(cell, raters[rater], rating) for (cell, rater), rating in self._given.items()]
        new, changed, unchanged = add_imported(rows, channel=self._collection.channel)
        counts = self._tally.of("human_ratings")
        counts.new, counts.changed, counts.unchanged = new, changed, unchanged
        self._tally.note(f"accounts that cannot sign in stand for the people who rated ({len(raters)})")
