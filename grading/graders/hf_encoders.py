"""Grades with models that have an encoder, through transformers: sequence-to-sequence ones, and span markers.

Of the FLAN-T5 family, ratings come from the first decoder steps (first_step.py), and from greedy generation
only where those do not say a rating; answers are generated greedily.

Models trained on SQuAD 2 answer a question with a span of the passage. Such a model scores where the answer
begins and ends, and, on its first token, that there is none. T5 models of this kind
(sjrhuschlee/flan-t5-large-squad2) learn that on a `<cls>` before the question, which their tokenizer knows
and does not write by itself. A long passage is read in windows that overlap: the best span of all windows
counts, unless every window would rather say that it holds no answer. The model is shown the question, not the
prompt's words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from grading.errors import GraderUnavailable
from grading.graders import GraderSpec, RatedReply, Result, failed, hf_kernels, parsed, rated
from grading.graders.backend_options import ExtractiveOptions, GeneratorOptions
from grading.graders.first_step import Tokens
from grading.graders.hf_batches import EncodedPrompt, GeneratingGrader, LocalGrader, padded
from grading.graders.hf_model import EXTRACTIVE, SEQ2SEQ, load
from grading.types import CellToGrade, ErrorClass, Grade, Outcome

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


class _Window(NamedTuple):
    """A part of the passage beside its question."""

    tokens: list[int]
    types: list[int]
    spans: list[tuple[int, int] | None]
    """For each token the characters of the passage that it stands for; None for all that is no passage."""


class _Span(NamedTuple):
    score: float
    no_answer: float
    start: int
    end: int


class ExtractiveGrader(LocalGrader):
    """Extracts answers. Making one loads the model, or finds it loaded already."""

    def __init__(self, spec: GraderSpec) -> None:
        """Load the model. Raises GraderUnavailable where that fails or the options are wrong."""
        self._options = ExtractiveOptions.of(spec)
        loaded = load(spec.llm, EXTRACTIVE, dtype=self._options.dtype, device=self._options.device)
        super().__init__(spec, self._options, loaded)
        if not loaded.tokenizer.is_fast:
            raise GraderUnavailable(f"the tokenizer of {spec.llm} does not tell where its tokens stand")
        self._takes_types = "token_type_ids" in loaded.tokenizer.model_input_names
        mark, written = loaded.tokenizer.cls_token, loaded.tokenizer("Who?", "I.")["input_ids"]
        self._mark = "" if mark is None or loaded.tokenizer.cls_token_id in written else str(mark)

    def _ask(self, pairs: Sequence[CellToGrade]) -> Iterator[EncodedPrompt | Result]:
        questions = [self._question(pair) for pair in pairs]
        lengths = self._loaded.token_ids(questions) if questions else []
        for pair, question, tokens in zip(pairs, questions, lengths, strict=True):
            room = self._options.window_tokens - len(tokens) - 2  # at most two more marks
            if room <= self._options.overlap_tokens:
                reason = f"the question leaves no room in a window of {self._options.window_tokens} tokens"
                yield failed(pair, reason, ErrorClass.CONTEXT)
            else:
                text = f"{question}\n{self._passage(pair)}"
                yield EncodedPrompt(pair, text, self._loaded.token_ids([text])[0], None)

    def _question(self, pair: CellToGrade) -> str:
        return self._mark + self._marks.broken(pair.item.text.strip())

    def _passage(self, pair: CellToGrade) -> str:
        return self._marks.broken(pair.passage.text)

    def _run(self, batch: Sequence[EncodedPrompt]) -> list[Result]:
        windows, owners = self._windows(batch)
        answers: list[list[_Span]] = [[] for _ in batch]
        size = max(1, self._size.tokens // max(len(window.tokens) for window in windows))
        for first in range(0, len(windows), size):
            some = windows[first : first + size]
            for owner, answer in zip(owners[first : first + size], self._answers(some), strict=True):
                answers[owner].append(answer)
        return [self._result(prompt, spans) for prompt, spans in zip(batch, answers, strict=True)]

    def _windows(self, batch: Sequence[EncodedPrompt]) -> tuple[list[_Window], list[int]]:
        """Return every window, and the row of the batch that it belongs to."""
        encoded = self._loaded.tokenized(
            [self._question(prompt.pair) for prompt in batch],
            [self._passage(prompt.pair) for prompt in batch],
            truncation="only_second",
            max_length=self._options.window_tokens,
            stride=self._options.overlap_tokens,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_token_type_ids=True,
        )
        windows = []
        for row, (tokens, offsets) in enumerate(
            zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
        ):
            parts = encoded.sequence_ids(row)
            spans = [span if part == 1 else None for span, part in zip(offsets, parts, strict=True)]
            windows.append(_Window(tokens, encoded["token_type_ids"][row], spans))
        return windows, encoded["overflow_to_sample_mapping"]

    def _answers(self, windows: Sequence[_Window]) -> list[_Span]:
        import torch

        device = self._loaded.device
        ids, mask = padded([window.tokens for window in windows], self._loaded.pad, device)
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask}
        if self._takes_types:
            inputs["token_type_ids"] = padded([window.types for window in windows], 0, device)[0]
        with torch.inference_mode():
            output = self._loaded.model(**inputs)
        starts, ends = output.start_logits.float().cpu(), output.end_logits.float().cpu()
        return [self._best(window, starts[row], ends[row]) for row, window in enumerate(windows)]

    def _best(self, window: _Window, starts: torch.Tensor, ends: torch.Tensor) -> _Span:
        """Return the span of the passage with the highest score, and the score of none."""
        import torch

        n = len(window.tokens)
        is_passage = torch.tensor([span is not None and span[1] > span[0] for span in window.spans])
        # The token that says that there is no answer.
        mark = self._loaded.tokenizer.cls_token_id
        nowhere = window.tokens.index(mark) if mark in window.tokens else 0
        no_answer = float(starts[nowhere] + ends[nowhere])
        if not is_passage.any():
            return _Span(-math.inf, no_answer, 0, 0)
        scores = starts[:n, None] + ends[None, :n]
        possible = torch.ones(n, n, dtype=torch.bool).triu().tril(self._options.max_answer_tokens - 1)
        possible &= is_passage[:, None] & is_passage[None, :]
        scores = scores.masked_fill(~possible, -math.inf)
        first, last = divmod(int(scores.argmax()), n)
        start, end = window.spans[first], window.spans[last]
        return _Span(float(scores[first, last]), no_answer, start[0] if start else 0, end[1] if end else 0)

    def _result(self, prompt: EncodedPrompt, answers: Sequence[_Span]) -> Result:
        best = max(answers, key=lambda answer: answer.score)
        no_answer = min(answer.no_answer for answer in answers) + self._options.no_answer_bias
        is_answered = best.score > no_answer
        reply = self._passage(prompt.pair)[best.start : best.end].strip() if is_answered else ""
        result = parsed(self._prompt, prompt.pair, reply, prompt.trace(reply), "default")
        if not isinstance(result, Grade):
            return result
        outcome = result.outcome if reply else Outcome.UNANSWERABLE
        margin = best.score - no_answer
        return replace(
            result,
            outcome=outcome,
            confidence=round(1 / (1 + math.exp(-abs(margin))), 6) if math.isfinite(margin) else 1.0,
        )
