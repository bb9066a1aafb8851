"""The systems that answer a question in the arena."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from grading.systems.pipeline import LABELS, Answering, SystemSpec
from rubricweb.corpus.writers import Writer

FEW = 3
"""Passages of the smaller stand-in."""
DRAWN = ""
"""The choice of those who let the system be drawn."""


@dataclass(frozen=True, slots=True)
class FreshSystem:
    """One way to answer a question: a method over the first passages by BM25."""

    name: str
    answering: Answering
    sources: int = 0
    """Passages it reads; 0 for the method's own number."""

    @property
    def label(self) -> str:
        """For people, with the model's calls: "RIFER, about 43 calls"."""
        spec = self.spec(Writer("any", "any"))
        over = f" of {spec.n_sources} passages" if self.answering is Answering.SENTENCES else ""
        calls = spec.calls(spec.depth)
        about = "" if not calls else (", 1 call" if calls == 1 else f", about {calls} calls")
        return f"{LABELS[self.answering]}{over}{about}"

    @property
    def needs_model(self) -> bool:
        return self.answering is not Answering.SENTENCES

    def spec(self, writer: Writer | None) -> SystemSpec:
        """Raises ValueError without a model that it needs."""
        spec = SystemSpec(Answering.SENTENCES, sources=self.sources)
        if not self.needs_model:
            return spec
        model = writer or Writer("", "")
        return replace(spec, answering=self.answering, backend=model.backend, llm=model.llm)


SYSTEMS = {
    system.name: system
    for system in (
        FreshSystem("sentences", Answering.SENTENCES),
        FreshSystem("few-sentences", Answering.SENTENCES, FEW),
        FreshSystem("ragnarok", Answering.RAGNAROK),
        FreshSystem("rifer", Answering.RIFER),
        FreshSystem("eifrp", Answering.EIFRP),
        FreshSystem("question", Answering.QUESTION),
    )
}
"""By name, those without a model first."""


def offered(writer: Writer | None) -> list[FreshSystem]:
    return [system for system in SYSTEMS.values() if writer or not system.needs_model]


def two_systems(
    chosen: Sequence[str], writer: Writer | None, random: np.random.Generator
) -> tuple[FreshSystem, FreshSystem]:
    """Left and right: those chosen by name, the others drawn, and the sides drawn.

    Raises ValueError for the same system twice, or one that needs a model where there is none.
    """
    names = {system.name for system in offered(writer)}
    named = [name for name in chosen if name != DRAWN]
    if len(set(named)) < len(named) or not names.issuperset(named):
        raise ValueError("two different systems are needed, of those that are offered")
    left = sorted(names - set(named))
    drawn = random.choice(left, size=len(chosen) - len(named), replace=False).tolist()
    both = random.permutation([*named, *drawn]).tolist()
    return SYSTEMS[both[0]], SYSTEMS[both[1]]
