"""The judge, `rubricweb.autojudge.judge:RubricWebJudge` in a `workflow.yml`, and its nugget banks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autojudge_base import (
    Leaderboard,
    LeaderboardBuilder,
    LeaderboardSpec,
    MeasureSpec,
    Qrels,
    QrelsSpec,
    build_qrels,
    doc_id_md5,
)
from autojudge_base.nugget_data import NuggetBank, NuggetBanks

from grading.errors import GradingError, ParseFailure
from grading.formats.banks import BY_NAME
from grading.formats.banks.importance import weighed
from grading.formats.banks.records import BankItem, BankLine, RecordPlace
from grading.formats.nugget_grades import NuggetGrade, write_nugget_grades
from grading.generation import DraftTask, TextModel, draft, weigh
from grading.generation.similarity import near_duplicates
from grading.graders.replies import NoReply
from grading.types import CellToGrade, Importance, Item, ItemKind, Topic, item_id
from rubricweb.autojudge import items
from rubricweb.autojudge.items import GradedReports, Part, Report, Request, WeighedItem, topic_of
from rubricweb.autojudge.model import Graded, Model, ModelConfig, Settings, settings_of

logger = logging.getLogger(__name__)

V3 = BY_NAME["v3"]


def items_of(bank: NuggetBank) -> list[WeighedItem]:
    """Return the items of a bank. Sub-nuggets are not graded by themselves. Raises BadFormat."""
    line = V3.read(bank.model_dump(mode="json", exclude_none=True), RecordPlace(0, ""))
    return [
        WeighedItem(
            Item(item.item_id, item.kind, item.text, item.gold_answers),
            weighed(item.importance, item.weight).weight,
            _nugget_id(item),
        )
        for item in line.items
    ]


def drafted_banks(
    requests: Sequence[Request], given: NuggetBanks | None, model: Model, settings: Settings
) -> NuggetBanks:
    """Return a bank for each topic: the given one, else what the model drafts."""
    kept = dict(given.banks) if given else {}
    filled = {query_id for query_id, bank in kept.items() if items_of(bank)}
    missing = [request for request in requests if request.request_id not in filled]
    with model.writing() as writer, ThreadPoolExecutor(settings.concurrency) as pool:
        made_by = {"llm": model.llm}
        for line in pool.map(lambda request: _drafted(request, writer, settings, made_by), missing):
            kept[line.query_id] = NuggetBank.model_validate(V3.write(line))
    return NuggetBanks.from_banks_list([kept[request.request_id] for request in requests])


def _drafted(request: Request, writer: TextModel, settings: Settings, made_by: Mapping[str, str]) -> BankLine:
    """Return the drafts without near-duplicates; where no reply lists any, the topic's own words."""
    topic = topic_of(request, settings.query)
    task = DraftTask(topic, settings.kind, prompt_class=settings.draft_prompt)
    provenance = {"prompt": task.prompt.prompt_id, **made_by}
    try:
        texts = draft(writer, task).texts
    except (ParseFailure, NoReply) as error:
        if isinstance(error, NoReply) and not error.is_of_prompt:
            raise
        logger.warning("topic %s is its own only item: %s", topic.query_id, error)
        texts, provenance = (" ".join(topic.text.split()),), {}
    repeats = {item.text for item in near_duplicates(texts)}
    texts = tuple(text for text in texts if text not in repeats)[: settings.most_items]
    labels = _nugget_labels(topic, texts, writer) if settings.weigh else [None] * len(texts)
    pairs = zip(texts, labels, strict=True)
    items = [_item(topic, settings, text, importance, provenance) for text, importance in pairs]
    return BankLine(topic.query_id, 0, items, query_text=request.title)


def _nugget_labels(topic: Topic, texts: Sequence[str], writer: TextModel) -> Sequence[Importance]:
    """Return the importance of each draft by the model; OKAY where its reply names none, as published."""
    try:
        return weigh(writer, topic, texts).labels
    except NoReply as error:
        if not error.is_of_prompt:
            raise
        logger.warning("the drafts of topic %s are not weighed: %s", topic.query_id, error)
        return [Importance.OKAY] * len(texts)


def _item(
    topic: Topic, settings: Settings, text: str, importance: Importance | None, provenance: Mapping[str, str]
) -> BankItem:
    """Return the item; the track's reader keeps `metadata`, and dates a `creator` itself."""
    parts: dict[str, Any] = {"metadata": {"rubricweb": dict(provenance)}} if provenance else {}
    return BankItem(item_id(topic.query_id, text), settings.kind, text, importance=importance, parts=parts)


def _nugget_id(item: BankItem) -> str:
    raw = item.foreign or {}
    return str(raw.get("question_id") or raw.get("claim_id") or item.item_id)


class NoNuggets(GradingError):
    """A topic has no items, so that nothing can be covered."""


@dataclass(frozen=True, slots=True)
class JudgedTopic:
    """A topic with its items, and the reports on it with their passages."""

    topic: Topic
    items: Sequence[WeighedItem]
    reports: Sequence[Report]
    parts: Sequence[Sequence[Part]]

    def cells(self) -> Iterator[CellToGrade]:
        for parts in self.parts:
            for part in parts:
                for item in self.items:
                    yield CellToGrade(item.item, part.passage, self.topic)

    def graded(self, graded: Graded) -> GradedReports:
        return items.graded_reports(self.parts, self.items, graded)


class RubricWebJudge:
    """Drafts questions or nuggets, grades what runs say by them from 0 to 5, and counts what is covered."""

    nugget_banks_type = NuggetBanks

    def create_nuggets(
        self,
        rag_responses: Iterable[Report] | None,
        rag_topics: Sequence[Request],
        llm_config: ModelConfig,
        nugget_banks: NuggetBanks | None = None,
        corpus: str | None = None,
        **given: Any,
    ) -> NuggetBanks:
        """Draft a bank for each topic that has none. Raises BadSetting, GraderUnavailable."""
        settings = settings_of(given)
        return drafted_banks(rag_topics, nugget_banks, Model.of(llm_config, settings), settings)

    def create_qrels(
        self,
        rag_responses: Iterable[Report],
        rag_topics: Sequence[Request],
        llm_config: ModelConfig,
        nugget_banks: NuggetBanks | None = None,
        corpus: str | None = None,
        **given: Any,
    ) -> Qrels:
        """Label each response by its best grade of any item; where no nuggets are used, by the query itself.

        A response whose label could not be read has no line. Raises what `judge` does.
        """
        settings = settings_of(given)
        topics = _topics(rag_responses, rag_topics, nugget_banks, settings)
        graded = Model.of(llm_config, settings).grade(cell for topic in topics for cell in topic.cells())
        records = [record for topic in topics for record in _labels(topic, graded)]
        spec = QrelsSpec[tuple[str, str, int]](
            topic_id=lambda record: record[0],
            doc_id=lambda record: doc_id_md5(record[1]),
            grade=lambda record: record[2],
            on_duplicate="keep_max",
        )
        return build_qrels(records=records, spec=spec)

    def judge(
        self,
        rag_responses: Iterable[Report],
        rag_topics: Sequence[Request],
        llm_config: ModelConfig,
        nugget_banks: NuggetBanks | None = None,
        *,
        qrels: Qrels | None = None,
        corpus: str | None = None,
        **given: Any,
    ) -> Leaderboard:
        """Score every run on every topic; a run that says nothing on a topic has 0 there.

        Writes each grade to `{filebase}.nugget-grades.jsonl`, and the best ones into the reports' `evaldata`.
        Raises BadSetting, NoNuggets, NothingToGrade, or GraderUnavailable.
        """
        settings = settings_of(given)
        if nugget_banks is None:
            raise NoNuggets("judge needs nuggets: create_nuggets, --nugget-banks, and judge_uses_nuggets")
        topics = _topics(rag_responses, rag_topics, nugget_banks, settings)
        graded = Model.of(llm_config, settings).grade(cell for topic in topics for cell in topic.cells())
        if settings.filebase:
            path = Path(f"{settings.filebase}.nugget-grades.jsonl")
            write_nugget_grades(path, (line for topic in topics for line in _grades(topic, graded)))
        measures = tuple(
            MeasureSpec(name, kind, description=text) for name, (kind, text) in items.MEASURES.items()
        )
        builder = LeaderboardBuilder(LeaderboardSpec(measures=measures))
        for topic in topics:
            if not topic.reports:
                continue
            of_topic = topic.graded(graded)
            rows = items.values_of(of_topic, grade_threshold=settings.grade_threshold)
            for report, values in zip(topic.reports, rows, strict=True):
                builder.add(run_id=report.metadata.run_id, topic_id=topic.topic.query_id, values=values)
            _annotate(topic, of_topic)
        return builder.build(
            expected_topic_ids=[topic.topic.query_id for topic in topics], on_missing="default"
        )


def _topics(
    responses: Iterable[Report],
    requests: Sequence[Request],
    nugget_banks: NuggetBanks | None,
    settings: Settings,
) -> list[JudgedTopic]:
    """Put reports and items together by topic, in the order of the topics."""
    reports = list(responses)
    items.check_documents(reports, settings.grade_text)
    by_topic: dict[str, list[Report]] = {request.request_id: [] for request in requests}
    for report in reports:
        if report.metadata.topic_id in by_topic:
            by_topic[report.metadata.topic_id].append(report)
    topics = []
    for request in requests:
        topic, on_it = topic_of(request, settings.query), by_topic[request.request_id]
        parts = [items.parts_of(report, settings.grade_text) for report in on_it]
        topics.append(JudgedTopic(topic, _items(topic, nugget_banks), on_it, parts))
    return topics


def _items(topic: Topic, nugget_banks: NuggetBanks | None) -> list[WeighedItem]:
    """Return the items of the bank; without banks, the query as the one item that a direct grader labels."""
    if nugget_banks is None:
        name = item_id(topic.query_id, topic.text)
        return [WeighedItem(Item(name, ItemKind.DIRECT, topic.text), 1.0, name)]
    bank = nugget_banks.banks.get(topic.query_id)
    on_topic = items_of(bank) if bank is not None else []
    if not on_topic:
        raise NoNuggets(f"topic {topic.query_id} has no nuggets in the given banks")
    return on_topic


def _labels(topic: JudgedTopic, graded: Graded) -> Iterator[tuple[str, str, int]]:
    """Yield (topic, text of the response, label) of each report of which anything was read."""
    for report, parts in zip(topic.reports, topic.parts, strict=True):
        pairs = ((item.item.item_id, part.passage.passage_id) for part in parts for item in topic.items)
        ratings = [grade.rating for pair in pairs if (grade := graded.get(pair)) and grade.rating is not None]
        if ratings:
            yield topic.topic.query_id, items.whole_text(report), max(ratings)


def _grades(topic: JudgedTopic, graded: Graded) -> Iterator[NuggetGrade]:
    for report, parts in zip(topic.reports, topic.parts, strict=True):
        for part in parts:
            for item in topic.items:
                grade = graded.get((item.item.item_id, part.passage.passage_id))
                if grade is None or grade.rating is None:
                    continue
                yield NuggetGrade(
                    run_id=report.metadata.run_id,
                    query_id=topic.topic.query_id,
                    nugget_id=item.nugget_id,
                    question=item.item.text,
                    grade=grade.rating,
                    reasoning=grade.trace.reply if grade.trace else None,
                    passage=part.passage.text,
                    confidence=grade.confidence,
                    doc_id=part.doc_id,
                    paragraph=part.paragraph,
                )


def _annotate(topic: JudgedTopic, of_topic: GradedReports) -> None:
    """Tell each report its best grade of every item, for `augment_report`."""
    names = [item.nugget_id for item in topic.items]
    for report, best in zip(topic.reports, items.best_grades(of_topic), strict=True):
        grades = dict(zip(names, best.tolist(), strict=True))
        report.evaldata = {**(report.evaldata or {}), "rubricweb": {"grades": grades}}
