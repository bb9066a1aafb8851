"""A try of a grader: five pairs, beside people's grades of these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.urls import reverse

from grading.prompts import Prompt
from grading.types import ItemKind, Purpose
from rubricweb.banks.models import Item
from rubricweb.core.http import Context, parse_id
from rubricweb.corpus.models import Collection
from rubricweb.graders.dry_runs import DryRunReply, TrialSample, results, sample_of
from rubricweb.graders.forms import why_not_ask
from rubricweb.graders.models import DryRun
from rubricweb.graders.rated_cells import human_labels

PAIRS = 5


@dataclass(frozen=True, slots=True)
class TriedPair:
    """One pair of the try, with people's label and the grader's reply."""

    dry_run: DryRun
    item: str
    passage: str
    label: int | None
    """People's label; None where nobody rated the pair."""
    reply: DryRunReply | None

    @property
    def difference(self) -> int | None:
        if self.reply is None or self.reply.rating is None or self.label is None:
            return None
        return abs(self.reply.rating - self.label)


def five_samples(
    collection: Collection, chosen: Sequence[Prompt], seed: int
) -> list[tuple[Prompt, TrialSample]]:
    """Return five pairs with the prompt that rates them, preferring pairs that people rated."""
    prompts = [
        prompt for prompt in chosen if prompt.purpose is not Purpose.EXTRACT and not prompt.needs_answer
    ]
    kinds = {kind: prompt for prompt in reversed(prompts or list(chosen)) for kind in prompt.kinds}
    pairs = _rated_pairs(collection, set(kinds) - {ItemKind.DIRECT}, seed) if kinds else []
    samples = []
    for item, doc_id in pairs:
        fields = {"topic": str(item.topic_id), "item": str(item.revision_id), "passage_1": doc_id}
        if sample := sample_of(collection, {ItemKind(item.kind)}, fields):
            samples.append((kinds[ItemKind(item.kind)], sample))
    topics = list(collection.topics.values_list("pk", flat=True))
    np.random.default_rng(seed).shuffle(topics)
    for pk in topics[: PAIRS - len(samples)]:
        for kind, prompt in sorted(kinds.items(), reverse=True):  # questions before nuggets
            sample = sample_of(collection, {kind}, {"topic": str(pk)})
            if (
                sample is None
                or not sample.doc_ids
                or (sample.revision is None and kind is not ItemKind.DIRECT)
            ):
                continue
            sample = sample.only_first()
            if not why_not_ask(sample):
                samples.append((prompt, sample))
                break
    return samples


def _rated_pairs(collection: Collection, kinds: set[ItemKind], seed: int) -> list[tuple[Item, str]]:
    """Return five pairs that people rated, spread over the grades, in an order that `seed` shuffles."""
    items = Item.objects.filter(bank__collection=collection).active().of_kinds(kinds)
    by_revision = {item.revision_id: item for item in items.exclude(revision__text="")}
    labels = human_labels(collection)
    doc_ids = dict(collection.passages.filter(pk__in={pk for _, pk in labels}).values_list("pk", "doc_id"))
    pooled = set(collection.topics.filter(pool__passage__in=doc_ids).values_list("pk", "pool__passage"))
    by_rating: dict[int, list[tuple[Item, str]]] = defaultdict(list)
    for (revision, passage), rating in sorted(labels.items()):
        item = by_revision.get(revision)
        if item is not None and (item.topic_id, passage) in pooled:
            by_rating[rating].append((item, doc_ids[passage]))
    chance = np.random.default_rng(seed)
    for pairs in by_rating.values():
        chance.shuffle(pairs)
    chosen: list[tuple[Item, str]] = []
    while by_rating and len(chosen) < PAIRS:
        for rating in sorted(by_rating, reverse=True):
            chosen.append(by_rating[rating].pop())
            if not by_rating[rating]:
                del by_rating[rating]
    return chosen[:PAIRS]


def trial_context(collection: Collection, query: Any) -> Context:
    """Return the pairs of a try, given by the primary keys of its dry runs in the query."""
    pks = [parse_id(text) for text in query.get("tries", "").split(",") if text.strip()][:PAIRS]
    tries = _tries(collection, pks) if pks else []
    doc_ids = {doc_id for each in tries for doc_id in each.doc_ids}
    passages = {row.doc_id: row for row in collection.passages.filter(doc_id__in=doc_ids)} if tries else {}
    labels = human_labels(collection) if tries else {}
    pairs = [_pair(each, passages, labels) for each in tries]
    compared = [pair.difference for pair in pairs if pair.difference is not None]
    return {
        "collection": collection,
        "pairs": pairs,
        "trial_address": f"{reverse('graders:trial', args=[collection.slug])}?tries={query.get('tries', '')}",
        "waiting": next((each for each in tries if each.is_live), None),
        "error": next((each.error for each in tries if each.error), ""),
        "compared": len(compared),
        "close": sum(difference <= 1 for difference in compared),
    }


def _tries(collection: Collection, pks: Sequence[int]) -> list[DryRun]:
    here = collection.dry_runs.filter(pk__in=pks).order_by("pk")
    return list(here.select_related("collection", "topic", "revision", "by"))


def _pair(dry_run: DryRun, passages: Mapping[str, Any], labels: Mapping[tuple[int, int], int]) -> TriedPair:
    passage = passages.get(dry_run.doc_ids[0])
    replies = results(dry_run)
    place = (dry_run.revision_id or 0, passage.pk if passage else 0)
    question = dry_run.revision.text if dry_run.revision else dry_run.topic.text
    text = passage.text[:200] if passage else ""
    return TriedPair(dry_run, question, text, labels.get(place), replies[0] if replies else None)
