"""Rates from the first decoder step: which digit would the model say, and how sure is it?

A self-rating is one digit, so one pass of the encoder and a few one-token steps of the decoder say it: no
generation loop. A tokenizer may write a digit as two tokens, as T5's does with 0: then the step after the
first of them is scored too. A digit counts only where the model would stop after it: "3 years" and "1/8"
begin with one and are no ratings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from grading.graders.hf_model import LoadedModel

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SaidDigit:
    """What greedy generation would reply, with its probability among the digits of the scale (0..1)."""

    digit: int
    confidence: float


class DigitScorer:
    """Scores the digits of a scale for a batch of encoded prompts."""

    def __init__(self, loaded: LoadedModel, scale: tuple[int, int]) -> None:
        self._model = loaded.model
        self._digits = _digit_tokens(loaded.tokenizer, scale)
        starts = {tokens[:length] for tokens in self._digits.values() for length in range(len(tokens))}
        self._prefixes = sorted(starts, key=lambda prefix: (len(prefix), prefix))
        self._ends = _end_tokens(self._model)

    def score(self, encoded: Any, mask: torch.Tensor) -> list[SaidDigit | None]:
        """For each prompt the digit that is the model's whole reply; None where it would say anything else.

        `encoded` is the encoder's output for the batch, `mask` its attention mask.
        """
        import torch

        if not self._digits:
            return [None] * mask.shape[0]
        decoder = _Decoder(self._model, encoded, mask)
        after = {prefix: decoder.after(prefix) for prefix in self._prefixes}
        scores = torch.stack(
            [
                torch.stack([after[tokens[:i]][:, token] for i, token in enumerate(tokens)]).sum(0)
                for tokens in self._digits.values()
            ],
            dim=1,
        )
        confidences = scores.softmax(dim=1).tolist()
        digits = list(self._digits)
        said = self._greedy({prefix: step.argmax(dim=1).tolist() for prefix, step in after.items()})
        stops = self._stops(decoder, said)
        return [
            SaidDigit(digit, confidences[row][digits.index(digit)])
            if digit is not None and stops[row]
            else None
            for row, digit in enumerate(said)
        ]

    def _greedy(self, best_after: dict[Tokens, list[int]]) -> list[int | None]:
        """For each prompt the digit that the likeliest tokens spell, one after the other."""
        by_tokens = {tokens: digit for digit, tokens in self._digits.items()}
        said = []
        for row in range(len(best_after[()])):
            spelt: Tokens = ()
            while spelt in best_after:
                spelt = (*spelt, best_after[spelt][row])
            said.append(by_tokens.get(spelt))
        return said

    def _stops(self, decoder: _Decoder, said: list[int | None]) -> list[bool]:
        """For each prompt: is the end the likeliest token after the digit?"""
        spelt = [self._digits.get(digit, ()) if digit is not None else () for digit in said]
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


def _digit_tokens(tokenizer: Any, scale: tuple[int, int]) -> dict[int, Tokens]:
    """How the tokenizer writes each digit; one that it cannot write is left out."""
    written = {
        digit: tuple(tokenizer(str(digit), add_special_tokens=False)["input_ids"])
        for digit in range(scale[0], scale[1] + 1)
    }
    return {d: tokens for d, tokens in written.items() if tokens and tokenizer.unk_token_id not in tokens}


def _start_token(model: Any) -> int:
    start = model.generation_config.decoder_start_token_id
    return int(model.config.decoder_start_token_id if start is None else start)


def _end_tokens(model: Any) -> frozenset[int]:
    end = model.generation_config.eos_token_id
    end = model.config.eos_token_id if end is None else end
    return frozenset(end if isinstance(end, list) else [end])
