"""Grades with a sequence-to-sequence model of the FLAN-T5 family through transformers.

Ratings come from the first decoder steps (first_step.py), and from greedy generation only where those do not
say a rating; answers are generated greedily.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grading.graders import GraderSpec, RatedReply, Result, hf_kernels, rated
from grading.graders.backend_options import GeneratorOptions
from grading.graders.first_step import Tokens
from grading.graders.hf_batches import EncodedPrompt, GeneratingGrader, padded
from grading.graders.hf_model import SEQ2SEQ, load

if TYPE_CHECKING:
    import torch

CPU_ENCODER_TOKENS = 1024
"""Tokens that a CPU's encoder reads at once; the decoder then reads the whole batch."""


class Seq2SeqGrader(GeneratingGrader):
    """Rates or extracts, as its prompt asks. Making one loads the model, or finds it loaded already."""

    def __init__(self, spec: GraderSpec) -> None:
        """Load the model. Raises GraderUnavailable where that fails or the options are wrong."""
        options = GeneratorOptions.of(spec)
        loaded = load(spec.llm, SEQ2SEQ, dtype=options.dtype, device=options.device)
        super().__init__(spec, options, loaded)
        self._is_quick = hf_kernels.quicken_t5(loaded.model)
        self._scorer = self._scorer_of(loaded.ends.__contains__)

    def _run(self, batch: Sequence[EncodedPrompt]) -> list[Result]:
        import torch

        with torch.inference_mode():
            encoded, mask = self._encode([prompt.tokens for prompt in batch])
            scored: Sequence[RatedReply | None] = [None] * len(batch)
            if self._scorer:
                scored = self._scored(self._scorer, _Decoder(self._loaded.model, encoded, mask))
            open_rows = [row for row, rated_reply in enumerate(scored) if rated_reply is None]
            written = self._replies(encoded, mask, open_rows, self._longest_reply(batch))
            replies = dict(zip(open_rows, written, strict=True))
        return [
            rated(prompt.pair, rated_reply, prompt.trace(rated_reply.reply))
            if rated_reply
            else self._reply(prompt, replies[row])
            for row, (prompt, rated_reply) in enumerate(zip(batch, scored, strict=True))
        ]

    def _encode(self, rows: Sequence[list[int]]) -> tuple[Any, torch.Tensor]:
        """Return the encoder's output and its mask; a CPU reads a few rows at a time, as its caches hold."""
        import torch
        from torch.nn.functional import pad
        from transformers.modeling_outputs import BaseModelOutput

        ids, mask = padded(rows, self._loaded.pad, self._loaded.device)
        width = ids.shape[1]
        is_cpu = self._loaded.device.type == "cpu"
        size = max(1, CPU_ENCODER_TOKENS // width) if is_cpu else len(rows)
        states = []
        for first in range(0, len(rows), size):
            some = slice(first, first + size)
            longest = max(map(len, rows[some]))
            states.append(
                pad(self._states(ids[some, :longest], mask[some, :longest]), (0, 0, 0, width - longest))
            )
        return BaseModelOutput(last_hidden_state=torch.cat(states)), mask

    def _states(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self._is_quick:
            return hf_kernels.encode(self._loaded.model, ids, mask)
        encoder = self._loaded.model.get_encoder()
        states: torch.Tensor = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return states

    def _replies(self, encoded: Any, mask: torch.Tensor, rows: list[int], longest: int) -> list[list[int]]:
        """Generate tokens greedily for these rows of an encoded batch."""
        from transformers.modeling_outputs import BaseModelOutput

        if not rows:
            return []
        generated = self._loaded.model.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=encoded.last_hidden_state[rows]),
            attention_mask=mask[rows],
            max_new_tokens=longest,
            num_beams=1,
            do_sample=False,
        )
        replies: list[list[int]] = generated.tolist()
        return replies


class _Decoder:
    """The decoder over one encoded batch, without a cache: it reads three tokens at most."""

    def __init__(self, model: Any, encoded: Any, mask: torch.Tensor) -> None:
        self._model, self._encoded, self._mask = model, encoded, mask

    @property
    def rows(self) -> int:
        return int(self._mask.shape[0])

    def after(self, prefixes: Sequence[Tokens]) -> dict[Tokens, torch.Tensor]:
        """Return the log-probabilities after prefixes; longer ones are read with their own beginnings."""
        by_prefix: dict[Tokens, torch.Tensor] = {}
        for prefix in sorted(prefixes, key=len, reverse=True):
            if prefix not in by_prefix:
                steps = self._step([list(prefix)] * self.rows).float().log_softmax(dim=2)
                by_prefix |= {prefix[:length]: steps[:, length] for length in range(len(prefix) + 1)}
        return by_prefix

    def best_along(self, tokens: list[list[int]]) -> list[list[int]]:
        best: list[list[int]] = self._step(tokens)[:, 1:].argmax(dim=2).tolist()
        return best

    def _step(self, tokens: list[list[int]]) -> torch.Tensor:
        """Return the logits after the start, and after each of the tokens."""
        import torch

        start = _start_token(self._model)
        logits: torch.Tensor = self._model(
            encoder_outputs=self._encoded,
            attention_mask=self._mask,
            decoder_input_ids=torch.tensor([[start, *row] for row in tokens], device=self._mask.device),
            use_cache=False,
        ).logits
        return logits


def _start_token(model: Any) -> int:
    start = model.generation_config.decoder_start_token_id
    return int(model.config.decoder_start_token_id if start is None else start)
