"""Extracted answers: their verdicts by the answer key and by people, and where they stand in the passage.

The verdict of people together, whose verdicts are saved as events and read as matrices, is the lower median:
with two who differ, the answer is wrong. It holds for the answer that they read, and no longer once the
grader has another one.

Verdicts of graders depend on answer keys and answers: when one changes, its old verdicts go. Answers that a
rule compares with the key get their new verdict at once. A model that read the old key or answer has not seen
the new one: its grades are removed, so that the cells are missing and graded again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID, uuid4

import numpy as np
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from grading import types
from grading.errors import UnknownPrompt
from grading.graders import ANSWERS_BY
from grading.graders.registry import IMPORTED
from grading.prompts import ParseRule, Prompt
from grading.types import MISSING, GradeMatrix, ItemKind, Outcome, Purpose
from rubricweb.accounts.models import User
from rubricweb.banks.actions import set_answer_keys
from rubricweb.banks.models import AnswerKey, Item, ItemRevision
from rubricweb.core import events
from rubricweb.core.models import is_duplicate
from rubricweb.corpus.pools import CACHED_TOPICS, CollectionPool, TopicPool
from rubricweb.grades import store, visibility
from rubricweb.grades.configs import spec_of
from rubricweb.grades.engine.missing import answers_for, asks_with_key, reads_answers
from rubricweb.grades.human_models import AnswerVerdict, HumanStamp
from rubricweb.grades.human_ratings import Cell, RatedMeanwhile, UnfitRating, move_stamp
from rubricweb.grades.matrices import StampedCache, TopicGrades, without
from rubricweb.grades.models import Grade, GraderConfig, MatrixStamp, Pair
from rubricweb.grades.store import GradeRow

Key = tuple[int, int, int, int, int]
"""Config, topic, stamp of human grades, stamp of its grades, and stamp of the collection."""
_cache: StampedCache[Key, TopicGrades] = StampedCache(CACHED_TOPICS)
Verdicts = dict[tuple[int, str], list[bool]]
"""Verdicts of all people on the present answer, by (passage, id of the wording)."""

WRITTEN_ROWS = 200
"""Grades of one UPDATE."""


def judge_answer(
    cell: Cell, verified: Grade, *, is_right: bool, by: User, seen: int, uid: UUID | None = None
) -> AnswerVerdict:
    """Save whether the answer of this `verified` grade is right.

    `seen` is the number of `by`'s latest event for it. `uid` makes sending it twice harmless. Raises
    RatedMeanwhile or UnfitRating.
    """
    if verified.rating is None:
        raise UnfitRating("The answer has no verdict that could be right or wrong.")
    fields = {"is_right": is_right, "answer": verified.answer, "seen_rating": verified.rating}
    return _append(cell, verified.config, by=by, seen=seen, uid=uid, **fields)


def undo_verdict(event: AnswerVerdict, *, by: User, uid: UUID | None = None) -> AnswerVerdict:
    """Restore `by`'s event before this one, or withdraw the first.

    `uid` makes sending it twice harmless. Raises RatedMeanwhile.
    """
    cell = Cell(event.topic_id, event.revision_id, event.passage_id)
    before = _of_cell(cell, event.config, by).filter(number=event.number - 1).first()
    source = before or event
    fields = {"answer": source.answer, "seen_rating": source.seen_rating}
    is_right = before.is_right if before else None
    return _append(cell, event.config, by=by, seen=event.number, uid=uid, is_right=is_right, **fields)


def verdicts_on(cell: Cell, config: GraderConfig) -> list[AnswerVerdict]:
    """Return each person's latest event of the cell, oldest first, withdrawals included."""
    rows = AnswerVerdict.objects.filter(config=config, revision=cell.revision_id, passage=cell.passage_id)
    now = {row.by_id: row for row in rows.select_related("by").order_by("number")}
    return sorted(now.values(), key=lambda row: row.pk)


def latest_verdicts(person: User, config: GraderConfig, cells: Iterable[Cell]) -> dict[Cell, AnswerVerdict]:
    """Return the person's latest event of each cell that has one, a withdrawal included."""
    by_place = {(cell.revision_id, cell.passage_id): cell for cell in cells}
    revisions, passages = {revision for revision, _ in by_place}, {passage for _, passage in by_place}
    rows = AnswerVerdict.objects.filter(by=person, config=config, revision__in=revisions)
    events = {
        (row.revision_id, row.passage_id): row for row in rows.filter(passage__in=passages).order_by("number")
    }
    return {by_place[place]: event for place, event in events.items() if place in by_place}


def verdict_matrices(config: GraderConfig, pool: CollectionPool) -> dict[int, TopicGrades]:
    """Return verdict matrices by topic id, for every topic of the pool.

    A cell is 1 where people find the answer right, 0 where wrong, else MISSING, as are cells hidden from the
    reader.
    """
    hidden = visibility.without_ratings(pool.collection_id, pool.by_topic)
    ids = [topic.topic_id for topic in pool.topics]
    humans = dict(HumanStamp.objects.filter(topic__in=ids).values_list("topic_id", "number"))
    stamps = MatrixStamp.objects.filter(config=config, topic__in=list(humans))
    graded = dict(stamps.values_list("topic_id", "number"))
    keys = {pk: (config.pk, pk, humans.get(pk, 0), graded.get(pk, 0), pool.stamp) for pk in ids}
    by_topic = {pk: grades for pk, key in keys.items() if (grades := _cache.get(key)) is not None}
    absent = [topic for topic in pool.topics if topic.topic_id not in by_topic]
    standing = _standing(config, [topic.topic_id for topic in absent if topic.topic_id in graded])
    for topic in absent:
        grades = TopicGrades(topic, _matrix(topic, standing.get(topic.topic_id, {})))
        by_topic[topic.topic_id] = _cache.keep(keys[topic.topic_id], grades)
    return {
        pk: without(grades, hidden[pk].named(hidden[pk].ratings)) if hidden[pk].ratings else grades
        for pk, grades in by_topic.items()
    }


def _of_cell(cell: Cell, config: GraderConfig, by: User) -> QuerySet[AnswerVerdict]:
    return AnswerVerdict.objects.filter(
        config=config, revision=cell.revision_id, passage=cell.passage_id, by=by
    )


def _append(
    cell: Cell, config: GraderConfig, *, by: User, seen: int, uid: UUID | None, **fields: object
) -> AnswerVerdict:
    place = {"topic_id": cell.topic_id, "revision_id": cell.revision_id, "passage_id": cell.passage_id}
    try:
        with transaction.atomic():
            mine = list(_of_cell(cell, config, by).order_by("number"))
            if uid and (saved := AnswerVerdict.objects.filter(uid=uid, by=by).first()):
                return saved
            if (mine[-1].number if mine else 0) != seen:
                raise RatedMeanwhile(mine[-1] if mine else None, seen)
            event = AnswerVerdict.objects.create(
                **place, config=config, by=by, number=seen + 1, uid=uid or uuid4(), **fields
            )
            move_stamp(cell.topic_id, cell.channel)
    except IntegrityError as error:
        if not is_duplicate(error, AnswerVerdict):
            raise
        raise RatedMeanwhile(_of_cell(cell, config, by).order_by("-number").first(), seen) from error
    return event


def _standing(config: GraderConfig, topic_ids: Iterable[int]) -> dict[int, Verdicts]:
    rows = AnswerVerdict.objects.filter(config=config, topic__in=list(topic_ids)).select_related("revision")
    now = {(row.revision_id, row.passage_id, row.by_id): row for row in rows.order_by("number")}
    revisions, passages = {cell[0] for cell in now}, {cell[1] for cell in now}
    graded = Grade.objects.by(config).filter(revision__in=revisions, passage__in=passages)
    answers = {
        (revision, passage): answer
        for revision, passage, answer in graded.exclude(outcome=Outcome.FAILED).values_list(
            "revision_id", "passage_id", "answer"
        )
    }
    by_topic: dict[int, Verdicts] = {}
    for row in now.values():
        if row.is_right is not None and answers.get((row.revision_id, row.passage_id)) == row.answer:
            of_topic = by_topic.setdefault(row.topic_id, {})
            of_topic.setdefault((row.passage_id, row.revision.uid), []).append(row.is_right)
    return by_topic


def _matrix(topic: TopicPool, verdicts: Verdicts) -> GradeMatrix:
    uids = tuple(dict.fromkeys(uid for _, uid in verdicts))
    row_of = {pk: row for row, pk in enumerate(topic.passage_pks)}
    matrix = np.full((len(topic.doc_ids), len(uids)), MISSING, dtype=np.int8)
    for (passage, uid), each in verdicts.items():
        if passage in row_of:
            matrix[row_of[passage], uids.index(uid)] = sorted(each)[(len(each) - 1) // 2]
    return GradeMatrix(topic.query_id, topic.doc_ids, uids, matrix)


Answers = tuple[str, ...]
Verdict = tuple[int | None, str]
"""Rating and outcome, as a row has them."""


@dataclass(frozen=True, slots=True)
class PassageSegment:
    """A part of the passage; the parts of the extracted answer are marked."""

    text: str
    is_answer: bool


def highlighted(text: str, answer: str) -> tuple[PassageSegment, ...]:
    """Split `text` where it contains `answer` as whole words, ignoring case and white space."""
    terms = answer.split()
    if not terms:
        return (PassageSegment(text, is_answer=False),)
    pattern = re.compile(r"(?<!\w)" + r"\s+".join(map(re.escape, terms)) + r"(?!\w)", re.IGNORECASE)
    segments, end = [], 0
    for match in pattern.finditer(text):
        segments += [
            PassageSegment(text[end : match.start()], is_answer=False),
            PassageSegment(match[0], is_answer=True),
        ]
        end = match.end()
    segments.append(PassageSegment(text[end:], is_answer=False))
    return tuple(segment for segment in segments if segment.text)


@dataclass(frozen=True, slots=True)
class VerificationCounts:
    """Counts of verifying stored answers."""

    answers: int
    changed: int
    """Verified answers whose verdict changed."""
    removed: int = 0
    """Grades removed because their models had read the old key."""


@transaction.atomic
def change_answer_key(item: Item, *, texts: Iterable[str], seen: int, by: User | None) -> VerificationCounts:
    """Set answer keys by `banks.actions.set_answer_keys`, and verify stored answers to the wordings."""
    before = item.version
    set_answer_keys(item, texts=texts, seen=seen, by=by)
    return verify_again([item.revision_id]) if item.version != before else VerificationCounts(0, 0)


@transaction.atomic
def verify_again(revision_ids: Iterable[int]) -> VerificationCounts:
    """Give the stored answers to these wordings, whose keys changed, their present verdict."""
    stored = Grade.objects.filter(revision__in=list(revision_ids)).exclude(config__backend=IMPORTED)
    pairs = list(stored.order_by("config", "revision").values_list("config", "revision").distinct())
    configs = GraderConfig.objects.in_bulk({config for config, _ in pairs})
    revisions = ItemRevision.including_secret.select_related("topic__collection").in_bulk(
        {pk for _, pk in pairs}
    )
    checked = [_verify(configs[config], revisions[revision]) for config, revision in pairs]
    return VerificationCounts(
        sum(counts.answers for counts in checked),
        sum(counts.changed for counts in checked),
        sum(counts.removed for counts in checked),
    )


def with_present_keys(
    config: GraderConfig, rows: list[GradeRow], *, keys_read: Mapping[int, Answers]
) -> list[GradeRow]:
    """Recompute new grades whose keys differ from `keys_read`, which the model was given.

    Call it in the transaction that saves them; until its end nobody changes these keys.
    """
    if asks_with_key(config):
        present = _locked_keys({row.revision_id for row in rows})
        return [
            row
            if present.get(row.revision_id, ()) == keys_read.get(row.revision_id, ())
            else _outdated(row, what="answer key")
            for row in rows
        ]
    prompt = _prompt_by_key(config)
    if prompt is None:
        return rows
    keys = _locked_keys({row.revision_id for row in rows})
    return [
        row if row.outcome == Outcome.FAILED else _checked(prompt, row, keys.get(row.revision_id, ()))
        for row in rows
    ]


def of_present_answers(
    config: GraderConfig, rows: list[GradeRow], *, read: Mapping[Pair, str]
) -> list[GradeRow]:
    """Fail new verdicts on answers that changed since they were `read`.

    Call it in the transaction that saves them; until its end nobody changes these answers.
    """
    if not reads_answers(config):
        return rows
    revisions, passages = ({row.revision_id for row in rows}, {row.passage_id for row in rows})
    _locked_keys(revisions)
    present = answers_for(config, revisions, passages)
    cells = [(row.revision_id, row.passage_id) for row in rows]
    return [
        row if present.get(cell) == read.get(cell) else _outdated(row, what="extracted answer")
        for cell, row in zip(cells, rows, strict=True)
    ]


def drop_verdicts(source: GraderConfig, topic_id: int, answers: Mapping[Pair, str | None]) -> None:
    """Delete the verdicts on answers that change, before new answers by `source` are saved."""
    verifying = GraderConfig.objects.filter(**{f"options__{ANSWERS_BY}": source.fingerprint})
    verifiers = list(verifying) if source.purpose == Purpose.EXTRACT else []
    if not verifiers:
        return
    _locked_keys({revision for revision, _ in answers})
    verdicts = Grade.objects.for_topics([topic_id]).filter(
        revision__in={revision for revision, _ in answers}, passage__in={passage for _, passage in answers}
    )
    rows = verdicts.by(source).values_list("revision_id", "passage_id", "answer")
    before = {(revision, passage): answer for revision, passage, answer in rows}
    changed = {cell for cell, answer in answers.items() if before.get(cell) != answer}
    for verifier in verifiers:
        rows = verdicts.by(verifier).values_list("pk", "revision_id", "passage_id")
        stale = [pk for pk, revision, passage in rows if (revision, passage) in changed]
        if stale:
            store.remove_grades(verifier, topic_id, Grade.objects.filter(pk__in=stale))


def _prompt_by_key(config: GraderConfig) -> Prompt | None:
    """Return the prompt of a config that compares answers with the key by rule; None for imported grades."""
    if config.backend == IMPORTED or config.purpose != Purpose.VERIFY:
        return None
    try:
        prompt = spec_of(config).prompt
    except UnknownPrompt:
        return None
    return prompt if prompt.rule is ParseRule.ANSWER_KEY else None


def _verify(config: GraderConfig, revision: ItemRevision) -> VerificationCounts:
    if asks_with_key(config):
        _locked_keys({revision.pk})
        removed = store.remove_grades(config, revision.topic_id, Grade.objects.filter(revision=revision))
        events.publish_on_commit(revision.topic.collection.channel, "grades")
        return VerificationCounts(0, 0, removed)
    prompt = _prompt_by_key(config)
    if prompt is None:
        return VerificationCounts(0, 0)
    answers = _locked_keys({revision.pk}).get(revision.pk, ())
    store.recount(config, revision.topic_id)
    stored = Grade.objects.by(config).filter(revision=revision).exclude(outcome=Outcome.FAILED)
    rows = list(stored.only("rating", "outcome", "answer"))
    changed = []
    for row in rows:
        before = (row.rating, row.outcome)
        row.rating, row.outcome = _verdict(prompt, row.answer, answers)
        if (row.rating, row.outcome) != before:
            changed.append(row)
    Grade.objects.bulk_update(changed, ["rating", "outcome"], batch_size=WRITTEN_ROWS)
    events.publish_on_commit(revision.topic.collection.channel, "grades")
    return VerificationCounts(len(rows), len(changed))


def _outdated(row: GradeRow, *, what: str) -> GradeRow:
    if row.outcome == Outcome.FAILED:
        return row
    reason = f"The {what} changed while the model was asked."
    return row._replace(rating=None, outcome=Outcome.FAILED.value, answer=row.reply, reply=reason)


def _locked_keys(revision_ids: set[int]) -> Mapping[int, Answers]:
    """Return accepted answers by wording, locked, so that key changes and saved verdicts take turns."""
    list(
        ItemRevision.including_secret.select_for_update()
        .filter(pk__in=revision_ids)
        .order_by("pk")
        .values_list("pk")
    )
    keys: dict[int, Answers] = {}
    for pk, text in AnswerKey.including_secret.filter(revision__in=revision_ids).values_list(
        "revision_id", "text"
    ):
        keys[pk] = (*keys.get(pk, ()), text)
    return keys


def _checked(prompt: Prompt, row: GradeRow, keys: Answers) -> GradeRow:
    rating, outcome = _verdict(prompt, row.answer, keys)
    return row._replace(rating=rating, outcome=outcome)


def _verdict(prompt: Prompt, answer: str, keys: Answers) -> Verdict:
    """Return the verdict; without a key the answer is kept unrated, for a later key."""
    if not keys:
        return None, Outcome.EXTRACTED.value
    item = types.Item("", ItemKind.QUESTION, "", keys)
    parsed = prompt.parse(answer, types.CellToGrade(item, types.Passage("", ""), types.Topic("", "")))
    return parsed.rating, parsed.outcome.value
