"""Fetch and authorise in one call."""

from __future__ import annotations

from dataclasses import dataclass

from rubricweb.accounts.models import User
from rubricweb.banks.access import bank_topic_for, bank_topic_for_editor
from rubricweb.banks.models import Bank
from rubricweb.corpus.access import pooled_passage
from rubricweb.corpus.models import Passage, Topic


@dataclass(frozen=True, slots=True)
class OpenedPassage:
    """A passage of a topic's pool, and the bank that may lack an item for it."""

    bank: Bank
    topic: Topic
    passage: Passage


def passage_for(user: User, bank_id: int, topic_id: int, passage_id: int) -> OpenedPassage:
    return _opened(*bank_topic_for(user, bank_id, topic_id), passage_id)


def passage_for_editor(user: User, bank_id: int, topic_id: int, passage_id: int) -> OpenedPassage:
    return _opened(*bank_topic_for_editor(user, bank_id, topic_id), passage_id)


def _opened(bank: Bank, topic: Topic, passage_id: int) -> OpenedPassage:
    return OpenedPassage(bank, topic, pooled_passage(bank.collection, topic.pk, passage_id))
