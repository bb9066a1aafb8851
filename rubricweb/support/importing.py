"""Import labels of support: those made here, event by event, and those of other tools, answer by answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from grading import types
from grading.formats.events import ModelLabel, PersonLabel, moment
from grading.formats.support_labels import AnswerLabels, SentenceLabels
from rubricweb.core import events
from rubricweb.corpus import convert
from rubricweb.corpus.import_base import FilePosition, fitting, fitting_id, fitting_name, some
from rubricweb.corpus.import_passages import ID_LIMIT
from rubricweb.corpus.import_runs import renamed_note, tag_of
from rubricweb.corpus.models import Response, Topic
from rubricweb.grades.import_ratings import NO_AUTHOR, Kinds, WorkOfPeople
from rubricweb.support.labels import PEOPLE, CitationKey, imported
from rubricweb.support.models import IMPORTED, LabelledAnswer, SupportEvent, SupportJudge, SupportLabel

TOPIC = "labels of topics that the collection lacks"
SINCE = "labels of people who have labelled the citation here since"
CREDIT = "labels of support"
NOT_JUDGED = SentenceLabels("", (), ())
BATCH = 500
LIMITS = {"backend": 40, "llm": 200, "prompt_id": 100}


class LabelImporter:
    """Adds the labels that the collection lacks; of a model, one that contradicts another is refused.

    What a person said is known by its citation, time and label. What is older than their last word here is
    left out.
    """

    kinds: ClassVar[Kinds] = {
        "support_events": (SupportEvent, "topic__collection"),
        "support_labels": (SupportLabel, "judge__collection"),
        "support_judges": (SupportJudge, "collection"),
    }

    def __init__(self, work: WorkOfPeople) -> None:
        self._work = work
        judges = SupportJudge.objects.filter(collection=work.collection)
        self._judges = {(judge.backend, judge.llm, judge.prompt_id): judge for judge in judges}

    def read(self, path: Path, labels: Iterable[ModelLabel | PersonLabel]) -> None:
        """Import all labels of a file. Raises BadFormat for one that contradicts another of its model."""
        lacking: dict[str, Counter[str]] = {name: Counter() for name in (TOPIC, SINCE)}
        of_models: dict[SupportJudge, dict[CitationKey, ModelLabel]] = defaultdict(dict)
        of_people: dict[tuple[CitationKey, str], list[PersonLabel]] = defaultdict(list)
        for label in labels:
            at = FilePosition(path, label.line)
            topic = self._work.topics.by_query_id.get(label.topic_id)
            fitting(label.sentence_md5, what="sentence_md5", at=at, limit=32)
            fitting_id(label.doc_id, what="doc_id", at=at, limit=ID_LIMIT)
            if topic is None:
                lacking[TOPIC][label.topic_id] += 1
                continue
            citation = CitationKey(topic.pk, label.sentence_md5, label.doc_id)
            if isinstance(label, PersonLabel):
                of_people[citation, label.person].append(label)
                continue
            first = of_models[self._judge(label, at)].setdefault(citation, label)
            if first.label != label.label:
                raise at.error(
                    f"a label {label.label} after {first.label}, expected one of a model and citation"
                )
        for judge, given in of_models.items():
            self._write(judge, given, path)
        if of_people:
            self._say(of_people, lacking)
        self._work.leave_out(path, lacking)

    def _judge(self, label: ModelLabel, at: FilePosition) -> SupportJudge:
        key = (label.backend, label.llm, label.prompt_id)
        if key not in self._judges:
            names = dict(zip(LIMITS, key, strict=True))
            for name, value in names.items():
                fitting_name(value, what=name, at=at, limit=LIMITS[name])
            self._judges[key] = SupportJudge.objects.create(collection=self._work.collection, **names)
            self._work.tally.of("support_judges").new += 1
        return self._judges[key]

    def _write(self, judge: SupportJudge, given: dict[CitationKey, ModelLabel], path: Path) -> None:
        rows = {CitationKey(row.topic_id, row.sentence_md5, row.doc_id): row for row in judge.labels.all()}
        fresh, changed = [], []
        for citation, label in given.items():
            row = rows.get(citation)
            if row is None:
                values = {"label": label.label, "reply": label.reply}
                fresh.append(SupportLabel(judge=judge, **citation._asdict(), **values))
            elif row.label != label.label:
                if not self._work.is_replacing:
                    raise FilePosition(path, label.line).error(
                        f"the label of {judge} for a citation of {label.doc_id} is {label.label} here and "
                        f"{row.label} in the collection, expected the same (or --replace)"
                    )
                row.label, row.reply = label.label, label.reply
                changed.append(row)
        SupportLabel.objects.bulk_create(fresh, batch_size=BATCH)
        SupportLabel.objects.bulk_update(changed, ["label", "reply"], batch_size=BATCH)
        counts = self._work.tally.of("support_labels")
        counts.new += len(fresh)
        counts.changed += len(changed)
        counts.unchanged += len(given) - len(fresh) - len(changed)

    def _say(
        self, of_people: dict[tuple[CitationKey, str], list[PersonLabel]], lacking: dict[str, Counter[str]]
    ) -> None:
        events_of: dict[CitationKey, list[SupportEvent]] = defaultdict(list)
        for row in SupportEvent.objects.filter(topic__collection=self._work.collection).order_by("pk"):
            events_of[CitationKey(row.topic_id, row.sentence_md5, row.doc_id)].append(row)
        rows: list[tuple[SupportEvent, PersonLabel]] = []
        counts = self._work.tally.of("support_events")
        for (citation, name), labels in of_people.items():
            stated = {(row.at, row.label) for row in events_of[citation]}
            fresh = [label for label in labels if (moment(label.at), label.label) not in stated]
            counts.unchanged += len(labels) - len(fresh)
            person = self._work.accounts.of(name) if fresh else None
            if person is None:
                continue
            last = max((row.at for row in events_of[citation] if row.by_id == person.pk), default=None)
            if last and min(moment(label.at) for label in fresh) < last:
                lacking[SINCE][name] += len(fresh)
                continue
            for label in fresh:
                row = SupportEvent(by=person, **citation._asdict(), label=label.label)
                row.seen_label, row.seen_judge = label.seen_label, self._seen(label)
                rows.append((row, label))
                self._work.credits[person, CREDIT] += 1
        rows.sort(key=lambda pair: moment(pair[1].at))
        rows_of = [row for row, _ in rows]
        SupportEvent.objects.bulk_create(rows_of, batch_size=BATCH)
        for row, label in rows:
            row.at = moment(label.at)  # a new row has the time at which it is saved
        SupportEvent.objects.bulk_update(rows_of, ["at"], batch_size=BATCH)
        counts.new += len(rows)

    def _seen(self, label: PersonLabel) -> SupportJudge | None:
        """Return the judge whose label the person saw, as far as its model tells."""
        judges = [judge for judge in self._judges.values() if judge.llm == label.seen_llm]
        return judges[0] if len(judges) == 1 else None


class AnswerImporter:
    """Adds the labels of files that have them by answer, each in its place.

    An answer that the collection has is found by run and topic, and must have the same sentences, by number,
    and the same citations, by place; one that came as one text gets them. Others are made, with their runs.
    Texts are not compared: files of judgments have lost some of their characters.
    """

    kinds: ClassVar[Kinds] = {"labelled_answers": (LabelledAnswer, "response__run__collection")}

    def __init__(self, work: WorkOfPeople) -> None:
        self._work, self._collection = work, work.collection
        self._tags: frozenset[str] = frozenset()
        """Of the runs that the collection had before the file."""
        self._responses: dict[str, dict[int, Response]] = {}
        """By run tag and topic."""
        self._places: dict[tuple[SupportJudge | None, int], FilePosition] = {}
        """Where this import has the labels of a response by an author."""

    def read(self, path: Path, answers: Iterable[AnswerLabels]) -> None:
        """Import a file. Raises BadFormat for labels without an author, and for what contradicts."""
        notes = _Notes(path, self._work)
        self._tags = frozenset(self._collection.runs.values_list("run_tag", flat=True))
        judge = self._judge(path)
        rows = {row.response_id: row for row in imported(self._collection).filter(judge=judge)}
        fresh, counts = [], self._work.tally.of("labelled_answers")
        for read in answers:
            at = FilePosition(path, read.line)
            topic = self._topic(read, at, notes)
            if topic is None:
                continue
            answer = read if read.has_texts else self._in_place(read, topic, at, notes)
            response = self._response(answer, topic, at, notes)
            first = self._places.setdefault((judge, response.pk), at)
            if first is not at:
                problem = f"run {answer.run_tag} answers topic {answer.query_id} here and in {first}"
                raise at.error(f"{problem}, expected one line an answer")
            row = rows.get(response.pk)
            given = {"labels": answer.labels, "after_prediction_of": self._work.after_prediction_of}
            if row is None:
                fresh.append(LabelledAnswer(response=response, judge=judge, foreign=answer.foreign, **given))
                counts.new += 1
            elif all(getattr(row, name) == value for name, value in given.items()):
                counts.unchanged += 1
            else:
                self._replace(row, given, answer, at)
                counts.changed += 1
        LabelledAnswer.objects.bulk_create(fresh, batch_size=BATCH)
        events.publish_on_commit(self._collection.channel, "progress")
        notes.finish()

    def _judge(self, path: Path) -> SupportJudge | None:
        """Return the author; None for people. Raises BadFormat where nobody is named."""
        at, name = FilePosition(path, 1), self._work.authors.get(path, "")
        if not name:
            raise at.error(
                f"{NO_AUTHOR}: the file does not say whose labels it has, "
                f"expected {PEOPLE} or a model's name (--by)"
            )
        if after := self._work.after_prediction_of:
            fitting_name(after, what="the name of what predicted", at=at, limit=LIMITS["llm"])
        if name == PEOPLE:
            return None
        fitting_name(name, what="the author's name", at=at, limit=LIMITS["llm"])
        judge, is_new = SupportJudge.objects.get_or_create(
            collection=self._collection, backend=IMPORTED, llm=name, prompt_id=""
        )
        self._work.tally.of("support_judges").new += is_new
        return judge

    def _topic(self, answer: AnswerLabels, at: FilePosition, notes: _Notes) -> Topic | None:
        """Return the topic; a new one has its id for a text, which a file of topics may replace."""
        topics = self._work.topics
        topic = topics.by_query_id.get(answer.query_id)
        if topic is not None:
            return topic
        if topics.is_closed:
            notes.lacking[TOPIC][answer.query_id] += 1
            return None
        notes.unnamed.append(answer.query_id)
        return topics.require(answer.query_id, text=answer.query_id, at=at)

    def _response(self, answer: AnswerLabels, topic: Topic, at: FilePosition, notes: _Notes) -> Response:
        run_tag = tag_of(answer.run_tag, self._tags)
        if run_tag != answer.run_tag:
            notes.renamed[answer.run_tag] = run_tag
        row = self._responses_of(run_tag).get(topic.pk)
        notes.without_text += answer.without_text
        if row is not None and not row.is_one_text:
            notes.unlabelled += _compare(answer, convert.sentences(row), at)
            return row
        for sentence in answer.sentences:
            for reference in sentence.references:
                fitting_id(reference, what="a reference", at=at, limit=ID_LIMIT)
        response = _response_of(answer, run_tag)
        if row is not None:
            self._work.responses.fill_in(row, response)
            notes.completed += 1
            return row
        row = self._work.responses.add_whole(response, topic, at)
        self._responses[run_tag][topic.pk] = row
        return row

    def _responses_of(self, run_tag: str) -> dict[int, Response]:
        if run_tag not in self._responses:
            rows = Response.objects.filter(run__collection=self._collection, run__run_tag=run_tag)
            columns = ("topic", "sentences", "passages_of")
            self._responses[run_tag] = {row.topic_id: row for row in rows.only(*columns)}
        return self._responses[run_tag]

    def _in_place(self, answer: AnswerLabels, topic: Topic, at: FilePosition, notes: _Notes) -> AnswerLabels:
        """Return labels of places with the sentences of the run's answer. Raises BadFormat without one."""
        row = self._responses_of(tag_of(answer.run_tag, self._tags)).get(topic.pk)
        if row is None:
            raise at.error(
                f"run {answer.run_tag} has no answer to topic {answer.query_id} here, and the file has "
                "places alone, expected its answers first (--responses)"
            )
        sentences = convert.sentences(row)
        if len(answer.sentences) > len(sentences):
            raise at.error(
                f"sentence {len(answer.sentences) - 1} of run {answer.run_tag} on topic {answer.query_id} is "
                f"judged, expected 0 to {len(sentences) - 1}"
            )
        rows = []
        for number, sentence in enumerate(sentences):
            references = tuple(citation.doc_id for citation in sentence.citations or ())
            judged = answer.sentences[number] if number < len(answer.sentences) else NOT_JUDGED
            labels = judged.labels
            if len(labels) > len(references):
                raise at.error(
                    f"citation {len(labels) - 1} of sentence {number} of run {answer.run_tag} on topic "
                    f"{answer.query_id} is judged, expected fewer than {len(references)}"
                )
            for place, named in enumerate(judged.references):
                if named and named != references[place]:
                    raise at.error(
                        f"docid of sentence {number}, citation {place} of run {answer.run_tag} on topic "
                        f"{answer.query_id} is {named}, expected {references[place]} as in the collection"
                    )
            padded = labels + (types.MISSING,) * (len(references) - len(labels))
            rows.append(SentenceLabels(sentence.text, references, padded))
        notes.failed += sum(label == types.FAILED for row_of in rows for label in row_of.labels)
        return replace(answer, sentences=tuple(rows))

    def _replace(
        self, row: LabelledAnswer, given: Mapping[str, Any], answer: AnswerLabels, at: FilePosition
    ) -> None:
        if not self._work.is_replacing:
            differing = [name.replace("_", " ") for name in given if getattr(row, name) != given[name]]
            raise at.error(
                f"the labels of run {answer.run_tag} on topic {answer.query_id} are others than before "
                f"({', '.join(differing)}), expected the same (or --replace)"
            )
        for name, value in {**given, "foreign": answer.foreign}.items():
            setattr(row, name, value)
        row.save(update_fields=[*given, "foreign"])


@dataclass(slots=True)
class _Notes:
    """What an import of answers has to say of a file."""

    path: Path
    work: WorkOfPeople
    lacking: dict[str, Counter[str]] = field(default_factory=lambda: {TOPIC: Counter()})
    unnamed: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    without_text: int = 0
    completed: int = 0
    failed: int = 0
    unlabelled: int = 0

    def finish(self) -> None:
        """Note what was left out, made up, taken otherwise or missing."""
        self.work.leave_out(self.path, self.lacking)
        notes = {
            f"topics have their id as name, as the file has no words of them: {some(self.unnamed)}": len(
                self.unnamed
            ),
            "answers here were one text: they have the sentences and citations of the file now": (
                self.completed
            ),
            "labels failed: their judge gave none": self.failed,
            'sentences have NaN for a text: read as no text, and written as ""': self.without_text,
            "citations of answers here are not in the file: they have no label": self.unlabelled,
        }
        if self.renamed:
            self.work.tally.note(f"{self.path.name}: {renamed_note(self.renamed)}")
        for text, number in notes.items():
            if number:
                self.work.tally.note(f"{self.path.name}: {number:,} {text}")


def _compare(answer: AnswerLabels, sentences: Sequence[types.Sentence], at: FilePosition) -> int:
    """Return how many citations here the file lacks. Raises BadFormat for the first place that differs."""
    of_run = f"run {answer.run_tag} on topic {answer.query_id}"
    if len(answer.sentences) != len(sentences):
        raise at.error(
            f"{len(answer.sentences)} sentences of {of_run}, expected {len(sentences)} as in the collection"
        )
    for number, (labelled, sentence) in enumerate(zip(answer.sentences, sentences, strict=True)):
        doc_ids = [citation.doc_id for citation in sentence.citations or ()]
        for place, reference in enumerate(labelled.references):
            here = doc_ids[place] if place < len(doc_ids) else "no citation"
            if reference != here:
                field_name = f"sentences[{number}].citations[{place}].reference"
                raise at.error(
                    f"{field_name} of {of_run} is {reference}, expected {here} as in the collection"
                )
    total = sum(len(sentence.citations or ()) for sentence in sentences)
    return total - sum(len(labelled.references) for labelled in answer.sentences)


def _response_of(answer: AnswerLabels, run_tag: str) -> types.Response:
    sentences = (
        types.Sentence(sentence.text, tuple(map(types.Citation, sentence.references)))
        for sentence in answer.sentences
    )
    return types.Response(run_tag, answer.query_id, tuple(sentences), line=answer.line)
