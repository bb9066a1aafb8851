"""Battles as rows: numbered for each person, with digests of what they show."""

from __future__ import annotations

import hashlib
import json

from django.db.models import Max

from rubricweb.accounts.models import User
from rubricweb.arena.fresh.models import FreshAnswer, Question
from rubricweb.arena.models import Arena, Battle
from rubricweb.corpus.models import Collection


def locked_arena(collection: Collection) -> Arena:
    """The collection's arena, locked, so that two windows of one person do not draw two battles."""
    Arena.objects.get_or_create(collection=collection)
    return (
        Arena.objects.select_for_update(of=("self",)).select_related("collection").get(collection=collection)
    )


def next_number(collection: Collection, person: User) -> int:
    last = collection.battles.filter(person=person).aggregate(last=Max("number"))["last"]
    return (last or 0) + 1


def keep_digests(question: Question) -> None:
    """Both answers are there: their battles remember what is shown."""
    left, right = (digest_of_fresh(chunk) for chunk in question.chunks.all())
    Battle.objects.filter(question=question).update(left_digest=left, right_digest=right)


def digest_of_fresh(chunk: FreshAnswer) -> str:
    """As `models.digest_of`, of an answer that was made in the arena."""
    written = json.dumps([(chunk.result or {}).get(part) for part in ("sentences", "sources")])
    return hashlib.sha256(written.encode()).hexdigest()
