"""Fetch and authorise in one call. A battle is its person's alone, whoever else asks."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.arena.models import Arena, Battle, Question
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection


class BoardClosed(PermissionDenied):
    """Votes are still gathered, and whoever votes must not know who leads."""


def arena_for(user: User, slug: str) -> Arena:
    """Return the collection's arena; one with the defaults, not saved, where nobody used it yet."""
    return arena_of(collection_for(user, slug))


def arena_of(collection: Collection) -> Arena:
    for arena in _arenas(collection.pk):
        arena.collection = collection
        return arena
    return Arena(collection=collection, seed=0)


@compiled_once
def _arenas(collection: int) -> QuerySet[Arena, Arena]:
    return Arena.objects.filter(collection=collection)


def may_see_board(user: User, arena: Arena) -> bool:
    """Return those who always see the names of runs do; others once the board is open."""
    held = roles.role_of(user, arena.collection)
    return held is not None and (arena.is_board_open or held.includes(roles.TO_SEE_RUNS))


def arena_for_board(user: User, slug: str) -> Arena:
    arena = arena_for(user, slug)
    if not may_see_board(user, arena):
        raise BoardClosed("The vote board opens when an organizer ends the blind voting.")
    return arena


def battle_for(user: User, slug: str, battle_id: int) -> Battle:
    """Return a battle of the user's own, of a question or between two runs that still count."""
    battles = own_battles(user, collection_for(user, slug, needed=roles.TO_VOTE))
    related = ("topic", "left", "right", "collection", "question__topic")
    battle: Battle = get_object_or_404(battles.select_related(*related), pk=battle_id)
    return battle


def own_battles(user: User, collection: Collection) -> QuerySet[Battle]:
    """Return the battles that the user may open."""
    accepted = collection.runs.accepted()
    visible = Q(question__isnull=False) | Q(left__in=accepted, right__in=accepted)
    return Battle.objects.filter(visible, collection=collection, person=user)


def question_for(user: User, slug: str, question_id: int) -> Question:
    """Return the question for somebody who may make topics of questions."""
    collection = collection_for(user, slug, needed=roles.TO_EDIT_BANK)
    questions = collection.arena_questions.select_related("collection", "topic", "adopted_as")
    question: Question = get_object_or_404(questions, pk=question_id)
    return question
