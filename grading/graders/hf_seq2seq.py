"""Grades with a sequence-to-sequence model of the FLAN-T5 family through transformers.

Ratings come from the first decoder steps (first_step.py), and from greedy generation only where those do not
say a digit, or yes or no; answers are generated greedily.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grading.graders.base import GraderSpec
from grading.graders.first_step import ReplyScorer, Tokens
from grading.graders.hf_batches import Asked, GeneratingGrader, GeneratorOptions, padded
from grading.graders.hf_model import SEQ2SEQ, load
from grading.graders.results import Result, rated

if TYPE_CHECKING:
    import torch


class Seq2SeqGrader(GeneratingGrader):
    """Rates or extracts, as its prompt asks. Making one loads the model, or finds it loaded already."""

    def __init__(self, spec: GraderSpec) -> None:
        """Raises GraderUnavailable where the options are wrong or the model cannot be loaded."""
        options = GeneratorOptions.of(spec)
        loaded = load(spec.llm, SEQ2SEQ, dtype=options.dtype, device=options.device)
        super().__init__(spec, options, loaded)
        self._max_new_tokens = options.max_new_tokens
        short = self._prompt.first_tokens
        self._scorer = ReplyScorer(loaded.tokenizer, short, loaded.ends.__contains__) if short else None

    def _run(self, batch: Sequence[Asked]) -> list[Result]:
        import torch

        with torch.inference_mode():
            ids, mask = padded([asked.tokens for asked in batch], self._loaded.pad)
            mask = mask.to(self._loaded.device)
            encoder = self._loaded.model.get_encoder()
            encoded = encoder(input_ids=ids.to(self._loaded.device), attention_mask=mask)
            steps = _Decoder(self._loaded.model, encoded, mask) if self._scorer else None
            scored = self._scorer.score(steps) if self._scorer and steps else [None] * len(batch)
            open_rows = [row for row, said in enumerate(scored) if said is None]
            replies = dict(zip(open_rows, self._replies(encoded, mask, open_rows), strict=True))
        return [
            rated(asked.pair, said, asked.trace(said.reply)) if said else self._parsed(asked, replies[row])
            for row, (asked, said) in enumerate(zip(batch, scored, strict=True))
        ]

    def _replies(self, encoded: Any, mask: torch.Tensor, rows: list[int]) -> list[str]:
        """Greedily generated text for these rows of an encoded batch."""
        from transformers.modeling_outputs import BaseModelOutput

        if not rows:
            return []
        generated = self._loaded.model.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=encoded.last_hidden_state[rows]),
            attention_mask=mask[rows],
            max_new_tokens=self._max_new_tokens,
            num_beams=1,
            do_sample=False,
        )
        replies: list[str] = self._loaded.tokenizer.batch_decode(generated, skip_special_tokens=True)
        return replies


class _Decoder:
    """The decoder over one encoded batch; the encoder's keys and values are computed once."""

    def __init__(self, model: Any, encoded: Any, mask: torch.Tensor) -> None:
        self._model, self._encoded, self._mask = model, encoded, mask
        self._start, self._cache = self._step([[_start_token(model)]] * mask.shape[0], None)

    @property
    def rows(self) -> int:
        return self._mask.shape[0]

    def after(self, prefix: Tokens) -> torch.Tensor:
        logits = self._start if not prefix else self._branch([list(prefix)] * self.rows)
        return logits[:, -1].float().log_softmax(dim=1)

    def best_along(self, tokens: list[list[int]]) -> list[list[int]]:
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


def _start_token(model: Any) -> int:
    start = model.generation_config.decoder_start_token_id
    return int(model.config.decoder_start_token_id if start is None else start)
