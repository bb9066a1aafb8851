"""Counts of what an import did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Counts:
    new: int = 0
    changed: int = 0
    unchanged: int = 0


@dataclass(slots=True)
class Tally:
    """Counts by kind, and notes for the person who imports."""

    counts: dict[str, Counts] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    reordered: dict[str, int] = field(default_factory=dict)
    """Run tag -> topics that trec_eval 9 would order differently from the ranks."""
    close: dict[str, int] = field(default_factory=dict)
    """Run tag -> topics that trec_eval 9 and 10 order differently."""

    def of(self, kind: str) -> Counts:
        return self.counts.setdefault(kind, Counts())

    def has_changed(self, kinds: Iterable[str]) -> bool:
        return any(counts.new or counts.changed for kind in kinds if (counts := self.counts.get(kind)))

    @property
    def all_notes(self) -> tuple[str, ...]:
        if not self.close:
            return tuple(self.notes)
        topics = {tag: "1 topic" if n == 1 else f"{n} topics" for tag, n in self.close.items()}
        runs = some(f"{run_tag} ({counted})" for run_tag, counted in topics.items())
        return (*self.notes, f"trec_eval 9 and 10 order passages with close scores differently in {runs}")

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


def some(words: Iterable[str], *, shown: int = 5) -> str:
    """Join the first few for a sentence, with how many more there are."""
    listed = list(words)
    rest = f" and {len(listed) - shown} more" if len(listed) > shown else ""
    return ", ".join(listed[:shown]) + rest
