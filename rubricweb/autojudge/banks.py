"""Nugget banks of the track: into items, out of items, and drafted by the model."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from autojudge_base.nugget_data import NuggetBank, NuggetBanks

from grading.errors import ParseFailure
from grading.formats.banks import BY_NAME, BankItem, BankLine
from grading.formats.banks.importance import weighed
from grading.formats.banks.records import Source
from grading.formats.ids import item_id
from grading.generation import DraftTask, TextModel, draft, near_duplicates, weigh
from grading.graders.replies import NoReply
from grading.types import Importance, Item, Topic
from rubricweb.autojudge.items import Request, WeighedItem, topic_of
from rubricweb.autojudge.model import Model
from rubricweb.autojudge.settings import Settings

logger = logging.getLogger(__name__)

V3 = BY_NAME["v3"]


def items_of(bank: NuggetBank) -> list[WeighedItem]:
    """Return the items of a bank. Sub-nuggets are not graded by themselves. Raises BadFormat."""
    line = V3.read(bank.model_dump(mode="json", exclude_none=True), Source(0, ""))
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
    missing = [request for request in requests if not _has_items(kept, request.request_id)]
    with model.writing() as writer, ThreadPoolExecutor(settings.concurrency) as pool:
        made_by = {"llm": model.llm}
        for line in pool.map(lambda request: _drafted(request, writer, settings, made_by), missing):
            kept[line.query_id] = NuggetBank.model_validate(V3.write(line))
    return NuggetBanks.from_banks_list([kept[request.request_id] for request in requests])


def _has_items(banks: Mapping[str, NuggetBank], query_id: str) -> bool:
    return query_id in banks and bool(items_of(banks[query_id]))


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
    labels = _labels(topic, texts, writer) if settings.weigh else [None] * len(texts)
    pairs = zip(texts, labels, strict=True)
    items = [_item(topic, settings, text, importance, provenance) for text, importance in pairs]
    return BankLine(topic.query_id, request.title, "", "", "", 0, items)


def _labels(topic: Topic, texts: Sequence[str], writer: TextModel) -> Sequence[Importance]:
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
