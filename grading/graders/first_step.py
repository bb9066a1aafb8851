"""Ratings from the first decoder steps: which digit, or yes or no, would the model say, and how sure is it?

A self-rating is one digit, so one pass of the encoder and a few one-token steps of the decoder say it: no
generation loop. A tokenizer may write a digit as two tokens, as T5's does with 0: then the step after the
first of them is scored too. A reply counts only where the model would stop after it: "3 years" and "1/8"
begin with a digit and are no ratings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from grading.graders.hf_model import LoadedModel

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """What greedy generation would reply, and the probability of its rating among all of the scale (0..1)."""

    reply: str
    rating: int
    confidence: float


class ReplyScorer:
    """Scores the short replies of a prompt (`Prompt.first_tokens`) for a batch of encoded prompts."""

    def __init__(self, loaded: LoadedModel, ratings: Mapping[str, int]) -> None:
        self._model = loaded.model
        self._ratings = ratings
        self._replies = _reply_tokens(loaded.tokenizer, ratings)
        starts = {tokens[:length] for tokens in self._replies.values() for length in range(len(tokens))}
        self._prefixes = sorted(starts, key=lambda prefix: (len(prefix), prefix))
        self._ends = _end_tokens(self._model)

    def score(self, encoded: Any, mask: torch.Tensor) -> list[Said | None]:
        """For each prompt the short reply that the model would make; None where it would say anything else.

        `encoded` is the encoder's output for the batch, `mask` its attention mask.
        """
        import torch

        if not self._replies:
            return [None] * mask.shape[0]
        decoder = _Decoder(self._model, encoded, mask)
        after = {prefix: decoder.after(prefix) for prefix in self._prefixes}
        scores = torch.stack(
            [
                torch.stack([after[tokens[:i]][:, token] for i, token in enumerate(tokens)]).sum(0)
                for tokens in self._replies.values()
            ],
            dim=1,
        )
        shares = scores.softmax(dim=1).tolist()
        said = self._greedy({prefix: step.argmax(dim=1).tolist() for prefix, step in after.items()})
        stops = self._stops(decoder, said)
        return [
            self._said(reply, shares[row]) if reply is not None and stops[row] else None
            for row, reply in enumerate(said)
        ]

    def _said(self, reply: str, shares: list[float]) -> Said:
        rating = self._ratings[reply]
        alike = [self._ratings[other] == rating for other in self._replies]
        return Said(reply, rating, sum(share for share, same in zip(shares, alike, strict=True) if same))

    def _greedy(self, best_after: dict[Tokens, list[int]]) -> list[str | None]:
        """For each prompt the reply that the likeliest tokens spell, one after the other."""
        by_tokens = {tokens: reply for reply, tokens in self._replies.items()}
        said = []
        for row in range(len(best_after[()])):
            spelt: Tokens = ()
            while spelt in best_after:
                spelt = (*spelt, best_after[spelt][row])
            said.append(by_tokens.get(spelt))
        return said

    def _stops(self, decoder: _Decoder, said: list[str | None]) -> list[bool]:
        """For each prompt: is the end the likeliest token after the reply?"""
        spelt = [self._replies.get(reply, ()) if reply is not None else () for reply in said]
        stops = [False] * len(said)
        if not any(spelt):
            return stops
        length = max(map(len, spelt))
        best = decoder.best_along([[*tokens, *[0] * (length - len(tokens))] for tokens in spelt])
        return [bool(tokens) and best[row][len(tokens) - 1] in self._ends for row, tokens in enumerate(spelt)]


class _Decoder:
    """The decoder over one encoded batch; the encoder's keys and values are computed once."""

    def __init__(self, model: Any, encoded: Any, mask: torch.Tensor) -> None:
        self._model, self._encoded, self._mask = model, encoded, mask
        start = _start_token(model)
        self._start, self._cache = self._step([[start]] * mask.shape[0], None)

    def after(self, prefix: Tokens) -> torch.Tensor:
        """Log-probabilities (prompts, vocabulary) of the token after `prefix`."""
        logits = self._start if not prefix else self._branch([list(prefix)] * self._mask.shape[0])
        return logits[:, -1].float().log_softmax(dim=1)

    def best_along(self, tokens: list[list[int]]) -> list[list[int]]:
        """The likeliest token after each of the given ones; row by row as long as those."""
        best: list[list[int]] = self._branch(tokens).argmax(dim=2).tolist()
        return best

    def _branch(self, tokens: list[list[int]]) -> torch.Tensor:
        logits, _ = self._step(tokens, self._cache)
        self._cache.crop(-len(tokens[0]))  # back to the start token
        return logits

    def _step(self, tokens: list[list[int]], cache: Any) -> tuple[torch.Tensor, Any]:
        import torch

        output = self._model(
            encoder_outputs=self._encoded,
            attention_mask=self._mask,
            decoder_input_ids=torch.tensor(tokens, device=self._mask.device),
            past_key_values=cache,
            use_cache=True,
        )
        return output.logits, output.past_key_values


def _reply_tokens(tokenizer: Any, replies: Iterable[str]) -> dict[str, Tokens]:
    """How the tokenizer writes each reply; left out is what it cannot write, or writes as another one."""
    written: dict[Tokens, str] = {}
    for reply in replies:
        tokens = tuple(tokenizer(reply, add_special_tokens=False)["input_ids"])
        if tokens and tokenizer.unk_token_id not in tokens:
            written.setdefault(tokens, reply)
    return {reply: tokens for tokens, reply in written.items()}


def _start_token(model: Any) -> int:
    start = model.generation_config.decoder_start_token_id
    return int(model.config.decoder_start_token_id if start is None else start)


def _end_tokens(model: Any) -> frozenset[int]:
    end = model.generation_config.eos_token_id
    end = model.config.eos_token_id if end is None else end
    return frozenset(end if isinstance(end, list) else [end])
