"""Makes a collection of a track's size in the database: runs of varying quality over graded passages."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rubricweb.leaderboards.board.types import BoardSpec

RUNS, TOPICS, PASSAGES, ITEMS, DEPTH = 60, 54, 11_386, 20, 100
SEED = 7


def make(times: int = 1) -> Any:
    """Topics and passages `times` as many as in TREC DL 2020; returns the collection."""
    from django.db import transaction

    from grading.formats.ids import item_id
    from rubricweb.banks.models import Bank, Item, ItemRevision
    from rubricweb.core.reader import see_everything
    from rubricweb.corpus.models import Collection, Run
    from rubricweb.grades.configs import config_for

    see_everything()

    random = np.random.default_rng(SEED)
    with transaction.atomic():
        collection = Collection.objects.create(slug="track", name="Track")
        bank = Bank.objects.create(collection=collection, name="questions")
        config = config_for("lexical", "lexical", "LexicalBaseline")
        runs = Run.objects.bulk_create(
            Run(collection=collection, run_tag=f"run{number:02}") for number in range(RUNS)
        )
        sizes = np.full(TOPICS * times, PASSAGES // TOPICS)
        sizes[: PASSAGES * times - sizes.sum()] += 1
        for number, size in enumerate(sizes.tolist()):
            topic = collection.topics.create(query_id=f"q{number}", text=f"need {number}", position=number)
            texts = [f"Question {place} of need {number}?" for place in range(ITEMS)]
            wordings = ItemRevision.objects.bulk_create(
                ItemRevision(topic=topic, uid=item_id(topic.query_id, text), text=text) for text in texts
            )
            Item.objects.bulk_create(
                Item(bank=bank, topic=topic, kind="question", revision=wording, position=place)
                for place, wording in enumerate(wordings)
            )
            passages = _pool(collection, topic, size)
            ratings = _grade(config, topic, wordings, passages, random=random)
            _rank(topic, passages, runs, ratings.mean(axis=1) / 5, random=random)
    return collection


def _pool(collection: Any, topic: Any, size: int) -> list[Any]:
    from rubricweb.corpus.models import Passage, Pooled

    passages = Passage.objects.bulk_create(
        Passage(collection=collection, doc_id=f"{topic.query_id}-d{n}", text="A passage.")
        for n in range(size)
    )
    Pooled.objects.bulk_create(
        Pooled(topic=topic, passage=passage, position=place) for place, passage in enumerate(passages)
    )
    return passages


def _grade(config: Any, topic: Any, wordings: Any, passages: Any, *, random: Any) -> Any:
    """Good passages answer more. Returns the ratings, of shape (passages, items)."""
    from rubricweb.grades.store import GradeRow, save_grades

    worth = random.beta(1, 4, len(passages))
    chances = np.clip(worth[:, np.newaxis] * random.uniform(0.2, 1, ITEMS), 0, 1)
    ratings = random.binomial(5, chances)
    save_grades(
        config,
        [
            GradeRow(topic.pk, wording.pk, passage.pk, int(ratings[row, column]), "numeric")
            for row, passage in enumerate(passages)
            for column, wording in enumerate(wordings)
        ],
    )
    return ratings


def _rank(topic: Any, passages: Any, runs: Any, worth: Any, *, random: Any) -> None:
    """Good runs find good passages earlier."""
    from rubricweb.corpus.models import Judgment, Ranking

    Judgment.objects.bulk_create(
        Judgment(topic=topic, doc_id=passage.doc_id, relevance=int(3 * worth[row]))
        for row, passage in enumerate(passages)
    )
    rankings = []
    for place, run in enumerate(runs):
        guesses = worth * (1 - place / RUNS) + random.normal(0, 0.15, len(passages))
        best = np.argsort(-guesses)[:DEPTH]
        ids = [passages[row].doc_id for row in best]
        rankings.append(
            Ranking(run=run, topic=topic, doc_ids=ids, scores=np.round(guesses[best], 6).tolist())
        )
    Ranking.objects.bulk_create(rankings)


def spec(measure: str) -> BoardSpec:
    """A board of the collection; its other options as the commands have them by default."""
    from rubricweb.corpus.models import Collection
    from rubricweb.leaderboards.command_arguments import add_label_arguments, spec_of

    parser = ArgumentParser()
    add_label_arguments(parser)
    slug = Collection.objects.get().slug
    chosen = parser.parse_args([slug, "--prompt-class", "LexicalBaseline", "--llm", "lexical"])
    labelled = spec_of(vars(chosen))
    return replace(labelled, measure=replace(labelled.measure, name=measure))
