"""Import labels of support as Export wrote them: those of models, and what people said, event by event."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from grading.formats.events import ModelLabel, PersonLabel, moment
from rubricweb.corpus.import_base import FilePosition, fitting, fitting_id, fitting_name
from rubricweb.corpus.import_passages import ID_LIMIT
from rubricweb.grades.import_ratings import Kinds, WorkOfPeople
from rubricweb.support.labels import Citation
from rubricweb.support.models import SupportEvent, SupportJudge, SupportLabel

TOPIC = "labels of topics that the collection lacks"
SINCE = "labels of people who have labelled the citation here since"
CREDIT = "labels of support"
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
        of_models: dict[SupportJudge, dict[Citation, ModelLabel]] = defaultdict(dict)
        of_people: dict[tuple[Citation, str], list[PersonLabel]] = defaultdict(list)
        for label in labels:
            at = FilePosition(path, label.line)
            topic = self._work.topics.by_query_id.get(label.topic_id)
            fitting(label.sentence_md5, what="sentence_md5", at=at, limit=32)
            fitting_id(label.doc_id, what="doc_id", at=at, limit=ID_LIMIT)
            if topic is None:
                lacking[TOPIC][label.topic_id] += 1
                continue
            citation = Citation(topic.pk, label.sentence_md5, label.doc_id)
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

    def _write(self, judge: SupportJudge, given: dict[Citation, ModelLabel], path: Path) -> None:
        rows = {Citation(row.topic_id, row.sentence_md5, row.doc_id): row for row in judge.labels.all()}
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
        self, of_people: dict[tuple[Citation, str], list[PersonLabel]], lacking: dict[str, Counter[str]]
    ) -> None:
        events_of: dict[Citation, list[SupportEvent]] = defaultdict(list)
        for row in SupportEvent.objects.filter(topic__collection=self._work.collection).order_by("pk"):
            events_of[Citation(row.topic_id, row.sentence_md5, row.doc_id)].append(row)
        events: list[tuple[SupportEvent, PersonLabel]] = []
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
                events.append((row, label))
                self._work.credits[person, CREDIT] += 1
        events.sort(key=lambda pair: moment(pair[1].at))
        rows_of = [row for row, _ in events]
        SupportEvent.objects.bulk_create(rows_of, batch_size=BATCH)
        for row, label in events:
            row.at = moment(label.at)  # a new row has the time at which it is saved
        SupportEvent.objects.bulk_update(rows_of, ["at"], batch_size=BATCH)
        counts.new += len(events)

    def _seen(self, label: PersonLabel) -> SupportJudge | None:
        """Return the judge whose label the person saw, as far as its model tells."""
        judges = [judge for judge in self._judges.values() if judge.llm == label.seen_llm]
        return judges[0] if len(judges) == 1 else None
