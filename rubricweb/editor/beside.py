"""A passage beside the items of its topic, to read it while the items are edited."""

from __future__ import annotations

from dataclasses import dataclass

from rubricweb.corpus.models import Passage, Topic
from rubricweb.corpus.pools import TopicPool, collection_pool


@dataclass(frozen=True, slots=True)
class PassageOption:
    """A passage of the pool, as it is chosen from a list."""

    pk: int
    doc_id: str
    judgment: int | None

    def __str__(self) -> str:
        return self.doc_id if self.judgment is None else f"{self.doc_id} (judged {self.judgment})"


@dataclass(frozen=True, slots=True)
class PassageBeside:
    """The chosen passage and its place among the others: highest judgment first."""

    passage: Passage
    options: tuple[PassageOption, ...]
    at: int

    @property
    def number(self) -> int:
        return self.at + 1

    @property
    def judgment(self) -> int | None:
        return self.options[self.at].judgment

    @property
    def before(self) -> PassageOption | None:
        return self.options[self.at - 1] if self.at else None

    @property
    def after(self) -> PassageOption | None:
        return self.options[self.at + 1] if self.number < len(self.options) else None


def passage_beside(topic: Topic, chosen: int) -> PassageBeside | None:
    """Return the passage with the key `chosen`, or the first one; None for an empty pool."""
    options = _options(collection_pool(topic.collection).by_topic[topic.pk])
    if not options:
        return None
    at = next((at for at, option in enumerate(options) if option.pk == chosen), 0)
    return PassageBeside(topic.collection.passages.get(pk=options[at].pk), options, at)


def _options(pool: TopicPool) -> tuple[PassageOption, ...]:
    options = [
        PassageOption(pk, doc_id, pool.judgments.get(doc_id))
        for pk, doc_id in zip(pool.passage_pks, pool.doc_ids, strict=True)
    ]
    unjudged = min(pool.judgments.values(), default=0) - 1
    return tuple(sorted(options, key=lambda one: -(unjudged if one.judgment is None else one.judgment)))
