"""Ratings from a model's first steps: which digit, or yes or no, it would write, and how certain it is.

A self-rating is one digit, so the prompt and a few one-token steps after it say it: no generation loop. A
lead-in ("- ", "**", "Rating: ") may come before it, and the reply may go on after it, as in "- 5: The answer
is relevant": a few tokens are followed, until the reply ends or the prompt's rule reads the rating whatever
comes next. "3 years" and "1/8" begin with a digit and are no ratings: such replies are not decided here.

`likeliest` asks another question: which rating of the scale is the most probable, whatever the model would
rather say?
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from grading.errors import ParseFailure
from grading.graders import RatedReply, weighed
from grading.graders.replies import visible_text
from grading.prompts import Prompt
from grading.types import Outcome

if TYPE_CHECKING:
    import torch

Tokens = tuple[int, ...]

LEAD_INS = (("", " "), ("- ",), ("**",), ("Rating: ",))
"""What may precede a rating; those in one tuple are spellings of the same."""
FOLLOWED = 4
"""Tokens after a rating that are followed, to see whether the reply ends or goes on to something else."""
_GOES_ON = re.compile(r"\W[^\W\d_]")


class Steps(Protocol):
    """A model that has read a batch of prompts."""

    @property
    def rows(self) -> int: ...

    def after(self, prefixes: Sequence[Tokens]) -> Mapping[Tokens, torch.Tensor]:
        """Return for each prefix the log-probabilities (prompts, vocabulary) of the token after it.

        The beginnings of a prefix may come with it.
        """
        ...

    def best_along(self, tokens: list[list[int]]) -> list[list[int]]:
        """Return the likeliest token after each of the given ones; row by row as long as those."""
        ...


class ReplyScorer:
    """Scores the short replies of a prompt (`Prompt.first_tokens`)."""

    def __init__(
        self,
        tokenizer: Any,
        prompt: Prompt,
        ends: Callable[[int], bool],
        lead_ins: Sequence[Sequence[str]] = LEAD_INS,
    ) -> None:
        """Prepare the spellings of replies; after the tokens of `ends` nothing belongs to the reply."""
        self._tokenizer, self._prompt, self._ends = tokenizer, prompt, ends
        self._ratings = prompt.first_tokens
        self._groups: list[dict[Tokens, str]] = []
        for ways in lead_ins:
            taken = {tokens for group in self._groups for tokens in group}
            spelt = _spellings(tokenizer, self._ratings, ways)
            self._groups.append({tokens: reply for tokens, reply in spelt.items() if tokens not in taken})
        self._spellings = {tokens: reply for group in self._groups for tokens, reply in group.items()}
        self._starts = _starts(self._spellings)

    def __bool__(self) -> bool:
        """Return whether the tokenizer can write any reply of the prompt."""
        return bool(self._spellings)

    def score(self, steps: Steps) -> list[RatedReply | None]:
        """Return for each prompt the model's rating; None where it would write something else."""
        after = _After(steps)
        spelt = self._greedy(after)
        replies = self._followed(steps, spelt)
        scored: list[RatedReply | None] = [None] * steps.rows
        for group in self._groups:
            rows = [row for row, reply in enumerate(replies) if reply is not None and spelt[row] in group]
            shares = self._scores(group, after).softmax(dim=1).tolist() if rows else []
            for row in rows:
                weights = self._weights(group.values(), shares[row])
                scored[row] = weighed(str(replies[row]), self._ratings[group[spelt[row]]], weights)
        return scored

    def likeliest(self, steps: Steps) -> list[RatedReply]:
        """Return for each prompt the likeliest rating, after the likeliest lead-in of the model."""
        import torch

        after = _After(steps)
        groups = [group for group in self._groups if group]
        first = after[()].exp()
        begins = [first[:, sorted({tokens[0] for tokens in group})].sum(dim=1) for group in groups]
        chosen = torch.stack(begins, dim=1).argmax(dim=1).tolist()
        shares = {best: self._scores(groups[best], after).softmax(dim=1).tolist() for best in set(chosen)}
        return [
            self._likeliest(self._weights(groups[best].values(), shares[best][row]))
            for row, best in enumerate(chosen)
        ]

    def _likeliest(self, weights: Mapping[int, float]) -> RatedReply:
        rating = max(weights, key=lambda rating: weights[rating])
        reply = next(reply for reply, value in self._ratings.items() if value == rating)
        return weighed(reply, rating, weights)

    def _scores(self, group: Iterable[Tokens], after: _After) -> torch.Tensor:
        """Return the log-probabilities (prompts, spellings)."""
        import torch

        after.prepare(_starts(group))
        return torch.stack(
            [
                torch.stack([after[tokens[:i]][:, token] for i, token in enumerate(tokens)]).sum(0)
                for tokens in group
            ],
            dim=1,
        )

    def _weights(self, replies: Iterable[str], shares: list[float]) -> dict[int, float]:
        weights = dict.fromkeys(self._ratings.values(), 0.0)
        for reply, share in zip(replies, shares, strict=True):
            weights[self._ratings[reply]] += share
        return weights

    def _greedy(self, after: _After) -> list[Tokens]:
        """Return for each prompt the tokens of lead-in and reply that the likeliest ones spell, or none."""
        spelt: list[Tokens] = [()] * after.rows
        open_rows = set(range(after.rows)) if self else set()
        while open_rows:
            best = {path: after[path].argmax(dim=1).tolist() for path in {spelt[row] for row in open_rows}}
            for row in sorted(open_rows):
                path = (*spelt[row], best[spelt[row]][row])
                spelt[row] = path if path in self._spellings or path in self._starts else ()
                if path not in self._starts:
                    open_rows.discard(row)
        return spelt

    def _followed(self, steps: Steps, spelt: list[Tokens]) -> list[str | None]:
        """Return for each prompt the reply as far as it had to be read; None where that is no rating."""
        replies: list[str | None] = [None] * len(spelt)
        paths = list(spelt)
        open_rows = {row for row, tokens in enumerate(spelt) if tokens}
        for _ in range(FOLLOWED):
            if not open_rows:
                break
            length = max(len(paths[row]) for row in open_rows)
            best = steps.best_along([[*path[:length], *[0] * (length - len(path))] for path in paths])
            for row in sorted(open_rows):
                token = best[row][len(paths[row]) - 1]
                is_end = self._ends(token)
                paths[row] = paths[row] if is_end else (*paths[row], token)
                replies[row] = self._read(paths[row], spelt[row], is_end=is_end)
                if is_end or replies[row] is not None:
                    open_rows.discard(row)
        return replies

    def _read(self, tokens: Tokens, spelt: Tokens, *, is_end: bool) -> str | None:
        """Return the reply where the prompt's rule reads it as the spelt rating, whatever follows."""
        text = visible_text(self._tokenizer, tokens).strip()
        rest = text[len(visible_text(self._tokenizer, spelt).strip()) :]
        if not is_end and not _GOES_ON.search(rest):
            return None
        try:
            parsed = self._prompt.parse(text)
        except ParseFailure:
            return None
        rating = self._ratings[self._spellings[spelt]]
        return text if parsed.outcome is Outcome.NUMERIC and parsed.rating == rating else None


class _After(dict[Tokens, "torch.Tensor"]):
    """Log-probabilities after each prefix, computed when they are first asked for."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self._steps = steps

    @property
    def rows(self) -> int:
        return self._steps.rows

    def prepare(self, prefixes: Iterable[Tokens]) -> None:
        unread = [prefix for prefix in prefixes if prefix not in self]
        if unread:
            self.update(self._steps.after(unread))

    def __missing__(self, prefix: Tokens) -> torch.Tensor:
        self.prepare([prefix])
        return self[prefix]


def _starts(spellings: Iterable[Tokens]) -> frozenset[Tokens]:
    return frozenset(tokens[:length] for tokens in spellings for length in range(len(tokens)))


def _spellings(tokenizer: Any, replies: Iterable[str], lead_ins: Iterable[str]) -> dict[Tokens, str]:
    """Return the ways in which the tokenizer writes each reply; left out is what it cannot write."""
    written: dict[Tokens, str] = {}
    lead_ins = tuple(lead_ins)
    for reply in replies:
        for lead_in in lead_ins:
            tokens = tuple(tokenizer(lead_in + reply, add_special_tokens=False)["input_ids"])
            if tokens and tokenizer.unk_token_id not in tokens:
                written.setdefault(tokens, reply)
    return written
