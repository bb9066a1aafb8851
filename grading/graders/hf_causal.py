"""Grades with a causal language model (Llama, OLMo, GPT-2) through transformers.

A model with a chat template is asked as its template says; another one reads the prompt's plain words.
Ratings come from the first steps after the prompt (first_step.py), and from greedy generation only where
those do not say a rating. A rating ends with the reply, or with its line, or where a text of its own begins:
models that were not trained to stop go on after a line break, and what follows it is not read.

The beginning that the prompts of a batch have in common is computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from grading.errors import GraderUnavailable
from grading.graders import hf_llama
from grading.graders.backend_options import CausalOptions, Thinking
from grading.graders.base import GraderSpec, RatedReply, Result, rated
from grading.graders.chat import chat_template
from grading.graders.first_step import ReplyScorer
from grading.graders.hf_batches import (
    EncodedPrompt,
    GeneratingGrader,
    batches,
    by_length,
    padded,
)
from grading.graders.hf_model import CAUSAL, LoadedModel, load
from grading.graders.hf_prefix import Continuation, common_start
from grading.graders.replies import Expected, is_left_open, token_text
from grading.types import CellToGrade

UNKNOWN_CONTEXT = 2048
"""Tokens that a model is taken to read whose configuration does not say."""


class CausalGrader(GeneratingGrader):
    """Rates or extracts, as its prompt asks. Making one loads the model, or finds it loaded already."""

    def __init__(self, spec: GraderSpec) -> None:
        """Raises GraderUnavailable where the options are wrong or the model cannot be loaded."""
        options = CausalOptions.of(spec)
        loaded = load(spec.llm, CAUSAL, dtype=options.dtype, device=options.device)
        super().__init__(spec, options, loaded)
        hf_llama.quicken(loaded.model)
        self._max_new_tokens = options.max_new_tokens
        self._max_input_tokens = _max_input(loaded, options)
        thinking = Thinking(options.thinking, options.reasoning_effort)
        self._expected = Expected(options.max_new_tokens, thinks=thinking.is_on)
        self._template = chat_template(loaded.tokenizer, thinking.template_arguments)
        self._begins_inside = self._template is not None and is_left_open(self._template([("user", "Rate.")]))
        self._scorer = self._make_scorer()

    def _make_scorer(self) -> ReplyScorer | None:
        """None where the first step is one of thinking: what is likely there is no rating."""
        if self._begins_inside and self._is_constrained:
            raise GraderUnavailable(
                f"{self.spec.llm} begins each reply by thinking: leave out constrained, or turn thinking off"
            )
        if self._begins_inside:
            return None
        ends, tokenizer = self._loaded.ends, self._loaded.tokenizer

        @lru_cache(maxsize=1024)
        def is_end(token: int) -> bool:
            return token in ends or token_text(tokenizer, token).startswith("\n")

        return self._scorer_of(is_end)

    def _text(self, pair: CellToGrade, context: str | None = None) -> str:
        if self._template is None:
            return super()._text(pair, context)
        return self._template(self._prompt.messages(pair, context, self._marks))

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        # A template writes the start mark itself.
        return self._loaded.token_ids(texts, special=self._template is None) if texts else []

    def _batches(self, encoded: Iterable[EncodedPrompt]) -> Iterator[list[EncodedPrompt]]:
        """By length, or by their beginnings where so much is shared that this computes less."""
        by_size = by_length(encoded)
        orders = (by_size, sorted(by_size, key=lambda prompt: prompt.tokens))
        order = min(orders, key=lambda order: sum(map(_cost, batches(order, self._size))))
        return batches(order, self._size)

    def _run(self, batch: Sequence[EncodedPrompt]) -> list[Result]:
        import torch

        with torch.inference_mode():
            scored: Sequence[RatedReply | None] = [None] * len(batch)
            if self._scorer:
                scored = self._scored(self._scorer, self._read(batch))
            rest = [prompt for prompt, rated_reply in zip(batch, scored, strict=True) if rated_reply is None]
            replies = iter(self._replies(rest))
        return [
            rated(prompt.pair, rated_reply, prompt.trace(rated_reply.reply))
            if rated_reply
            else self._reply(prompt, next(replies))
            for prompt, rated_reply in zip(batch, scored, strict=True)
        ]

    def _read(self, batch: Sequence[EncodedPrompt]) -> Continuation:
        return Continuation(self._loaded, [prompt.tokens for prompt in batch])

    def _replies(self, batch: Sequence[EncodedPrompt]) -> list[list[int]]:
        """Greedily generated tokens."""
        from transformers import GenerationConfig

        if not batch:
            return []
        loaded = self._loaded
        rows = [prompt.tokens for prompt in batch]
        ids, mask = padded(rows, loaded.pad, loaded.device, left=True)
        plain = GenerationConfig(
            max_new_tokens=self._max_new_tokens,
            do_sample=False,
            num_beams=1,
            eos_token_id=sorted(loaded.ends) or None,
            pad_token_id=loaded.pad,
        )
        generated = loaded.model.generate(ids, attention_mask=mask, generation_config=plain)
        replies: list[list[int]] = generated[:, ids.shape[1] :].tolist()
        return replies


def _max_input(loaded: LoadedModel, options: CausalOptions) -> int:
    """Raises GraderUnavailable where the reply would leave no room for a prompt."""
    reads = getattr(loaded.model.config, "max_position_embeddings", None)
    room = (reads or UNKNOWN_CONTEXT) - options.max_new_tokens
    if room < 1:
        raise GraderUnavailable(f"option max_new_tokens must be less than the {reads} that the model reads")
    return min(room, options.max_input_tokens or room)


def _cost(batch: Sequence[EncodedPrompt]) -> int:
    """Tokens that the model computes for a batch."""
    rows = [prompt.tokens for prompt in batch]
    shared = common_start(rows)
    return shared + len(rows) * (max(map(len, rows)) - shared)
