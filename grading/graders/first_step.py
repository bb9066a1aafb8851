"""Ratings from a model's first steps: which digit, or yes or no, would it say, and how sure is it?

A self-rating is one digit, so the prompt and a few one-token steps after it say it: no generation loop. A
tokenizer may write a digit as two tokens, as T5's does with 0: then the step after the first of them is
scored too. A reply counts only where the model would stop after it: "3 years" and "1/8" begin with a digit
and are no ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from grading.graders.results import Said, weighed

if TYPE_CHECKING:
    import torch

Tokens = tuple[int, ...]


class Steps(Protocol):
    """A model that has read a batch of prompts."""

    @property
    def rows(self) -> int: ...

    def after(self, prefixes: Sequence[Tokens]) -> Mapping[Tokens, torch.Tensor]:
        """For each prefix the log-probabilities (prompts, vocabulary) of the token after it."""
        ...

    def best_along(self, tokens: list[list[int]]) -> list[list[int]]:
        """The likeliest token after each of the given ones; row by row as long as those."""
        ...


class ReplyScorer:
    """Scores the short replies of a prompt (`Prompt.first_tokens`)."""

    def __init__(
        self,
        tokenizer: Any,
        ratings: Mapping[str, int],
        ends: Callable[[int], bool],
        lead_ins: Iterable[str] = ("",),
    ) -> None:
        """`ends` tells the tokens after which nothing belongs to the reply; `lead_ins` may precede one."""
        self._ratings = ratings
        self._ends = ends
        self._spellings = _spellings(tokenizer, ratings, lead_ins)
        starts = {tokens[:length] for tokens in self._spellings for length in range(len(tokens))}
        self._prefixes = sorted(starts, key=lambda prefix: (len(prefix), prefix))

    def score(self, steps: Steps) -> list[Said | None]:
        """For each prompt the short reply that the model would make; None where it would say another."""
        import torch

        if not self._spellings:
            return [None] * steps.rows
        after = steps.after(self._prefixes)
        scores = torch.stack(
            [
                torch.stack([after[tokens[:i]][:, token] for i, token in enumerate(tokens)]).sum(0)
                for tokens in self._spellings
            ],
            dim=1,
        )
        shares = scores.softmax(dim=1).tolist()
        spelt = self._greedy({prefix: step.argmax(dim=1).tolist() for prefix, step in after.items()})
        stops = self._stops(steps, spelt)
        return [
            self._said(tokens, shares[row]) if tokens and stops[row] else None
            for row, tokens in enumerate(spelt)
        ]

    def _said(self, tokens: Tokens, shares: list[float]) -> Said:
        reply = self._spellings[tokens]
        weights = dict.fromkeys(self._ratings.values(), 0.0)
        for other, share in zip(self._spellings.values(), shares, strict=True):
            weights[self._ratings[other]] += share
        return weighed(reply, self._ratings[reply], weights)

    def _greedy(self, best_after: Mapping[Tokens, list[int]]) -> list[Tokens]:
        """For each prompt the tokens of the reply that the likeliest ones spell, or none."""
        said: list[Tokens] = []
        for row in range(len(best_after[()])):
            spelt: Tokens = ()
            while spelt in best_after and spelt not in self._spellings:
                spelt = (*spelt, best_after[spelt][row])
            said.append(spelt if spelt in self._spellings else ())
        return said

    def _stops(self, steps: Steps, spelt: list[Tokens]) -> list[bool]:
        """For each prompt: is an end the likeliest token after the reply?"""
        if not any(spelt):
            return [False] * len(spelt)
        length = max(map(len, spelt))
        best = steps.best_along([[*tokens, *[0] * (length - len(tokens))] for tokens in spelt])
        return [bool(tokens) and self._ends(best[row][len(tokens) - 1]) for row, tokens in enumerate(spelt)]


def _spellings(tokenizer: Any, replies: Iterable[str], lead_ins: Iterable[str]) -> dict[Tokens, str]:
    """The ways in which the tokenizer writes each reply; left out is what it cannot write."""
    written: dict[Tokens, str] = {}
    lead_ins = tuple(lead_ins)
    for reply in replies:
        for lead_in in lead_ins:
            tokens = tuple(tokenizer(lead_in + reply, add_special_tokens=False)["input_ids"])
            if tokens and tokenizer.unk_token_id not in tokens:
                written.setdefault(tokens, reply)
    return written
