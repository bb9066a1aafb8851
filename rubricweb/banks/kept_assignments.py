"""Lines of assignment files, kept with the bank so that an export has them again.

The grades of an author say how far an answer supports each nugget; the kept line says all else: the order of
the lines, the type of the topic's id, blanks around texts, and keys that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from rubricweb.banks.models import Bank, BankTopic
from rubricweb.corpus.models import Topic

KEPT = "assignments"
"""The name among the foreign parts of a bank's topic."""


@dataclass(frozen=True, slots=True)
class KeptLine:
    """A line as its file had it."""

    by: str
    """Who assigned: people, or the name of a grader."""
    run_tag: str
    place: int
    """The line's place among all that the bank keeps, from 0."""
    line: dict[str, Any]
    """The JSON object; without the answer's text where that is the response's."""


def kept_lines(bank: Bank, by: str) -> list[tuple[int, KeptLine]]:
    """Return (topic, line) of what an author assigned, in the order of the files."""
    rows = bank.bank_topics.values_list("topic_id", "foreign")
    pairs = [(topic, KeptLine(**line)) for topic, foreign in rows for line in foreign.get(KEPT, ())]
    return sorted((pair for pair in pairs if pair[1].by == by), key=lambda pair: pair[1].place)


def keep_lines(bank: Bank, lines: Iterable[tuple[Topic, KeptLine]]) -> bool:
    """Keep these lines behind those of earlier files; an answer's own line takes its old one's place.

    Return whether anything is new.
    """
    rows = {row.topic_id: row for row in bank.bank_topics.all()}
    before = [line["place"] for row in rows.values() for line in row.foreign.get(KEPT, ())]
    following = max(before, default=-1) + 1
    changed: dict[int, BankTopic] = {}
    for topic, line in lines:
        row = rows.setdefault(topic.pk, BankTopic(bank=bank, topic=topic))
        of_topic: list[dict[str, Any]] = row.foreign.setdefault(KEPT, [])
        same = (n for n, old in enumerate(of_topic) if (old["by"], old["run_tag"]) == (line.by, line.run_tag))
        number = next(same, None)
        if number is None:
            of_topic.append(asdict(line) | {"place": following + line.place})
        elif of_topic[number]["line"] != line.line:
            of_topic[number] = of_topic[number] | {"line": line.line}
        else:
            continue
        changed[topic.pk] = row
    BankTopic.objects.bulk_update([row for row in changed.values() if row.pk], ["foreign"])
    BankTopic.objects.bulk_create([row for row in changed.values() if not row.pk])
    return bool(changed)
