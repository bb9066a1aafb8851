"""A judge that counts shared words, and a measure that looks at the first passage."""

import numpy as np

from grading.graders import Backend
from grading.measures.base import ItemMeasure
from grading.prompts import Prompt
from grading.types import Grade, ItemKind, Outcome, Purpose


class SharedWordsGrader:
    device = "cpu"

    def __init__(self, spec):
        self.spec = spec

    def grade(self, pairs):
        for pair in pairs:
            item = set(pair.item.text.casefold().split())
            shared = item & set(pair.passage.text.casefold().split())
            rating = round(5 * len(shared) / max(len(item), 1))
            yield Grade(pair.item.item_id, pair.passage.passage_id, rating, Outcome.NUMERIC)

    def close(self):
        pass


KINDS = frozenset({ItemKind.QUESTION, ItemKind.NUGGET})
PROMPT = Prompt("SharedWords", "1", Purpose.RATE, KINDS, (0, 5), "", "no paper", min_grade=4)
GRADER = Backend(
    "shared_words", "Shared words", "shared_words:SharedWordsGrader", ("SharedWords",), False, "words"
)


def first_passage(topic):
    rated = topic.ratings[topic.ranked[:, 0]] >= topic.min_grade
    return np.where(topic.ranked[:, 0] >= 0, rated.mean(axis=1), 0.0)


MEASURE = ItemMeasure(
    name="first_passage",
    label="First passage",
    denominator="items that the first passage covers / all items of the topic",
    citation="no paper",
    scores=first_passage,
)
