"""Topics and items as the judge grades them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from grading.types import Item, Topic
from rubricweb.autojudge.settings import Query


class Request(Protocol):
    """A topic, as the runner read it."""

    request_id: str
    title: str
    problem_statement: str | None


@dataclass(frozen=True, slots=True)
class WeighedItem:
    item: Item
    weight: float
    nugget_id: str
    """As the bank has it."""


def topic_of(request: Request, query: Query) -> Topic:
    """Return the topic with the query that drafts and labels are of."""
    fields = {
        Query.TITLE: [request.title],
        Query.PROBLEM_STATEMENT: [request.problem_statement or request.title],
        Query.BOTH: [request.title, request.problem_statement or ""],
    }[query]
    return Topic(request.request_id, "\n".join(filter(None, (text.strip() for text in fields))))
