"""Grades with a causal language model (Llama, OLMo, GPT-2) through transformers.

A model with a chat template is asked as its template says; another one reads the prompt's plain text.
Ratings come from the first steps after the prompt (first_step.py), and from greedy generation only where
those do not give a rating. A rating ends with the reply, or with its line, or where a text of its own begins:
models that were not trained to stop go on after a line break, and what follows it is not read.

The beginning that the prompts of a batch have in common is computed once.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from grading.errors import GraderUnavailable
from grading.graders import GraderSpec, RatedReply, Result, hf_kernels, rated, tokens_of_lines
from grading.graders.backend_options import CausalOptions, Thinking
from grading.graders.completions import chat_template
from grading.graders.first_step import ReplyScorer, Tokens
from grading.graders.hf_batches import EncodedPrompt, GeneratingGrader, batches, by_length, padded
from grading.graders.hf_model import CAUSAL, LoadedModel, load
from grading.graders.replies import ExpectedReply, is_left_open, token_text
from grading.prompts import ParseRule, Prompt
from grading.types import MAX_RATING, MIN_RATING, CellToGrade

if TYPE_CHECKING:
    import torch


ROOM = 16
"""Tokens: replies that rate have fewer."""


WORTHWHILE = 16
"""A shorter common beginning is not worth a pass of its own."""
UNKNOWN_CONTEXT = 2048
"""Tokens that a model is taken to read whose configuration does not say."""


def with_room(config: Any) -> Any:
    """Return an empty cache whose layers have room, or None for a model that does not keep every token."""
    from transformers.cache_utils import DynamicCache, DynamicLayer

    cache = DynamicCache(config=config)
    if not cache.layers or any(type(layer) is not DynamicLayer for layer in cache.layers):
        return None
    for layer in cache.layers:
        room = _Room(layer)
        layer.update, layer.batch_repeat_interleave = room.update, room.repeat
    return cache


class _Room:
    """Writes what follows behind what a `DynamicLayer` has, which by itself copies all of it each time."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._rooms: list[torch.Tensor] = []
        """Buffers of keys and values, which are their beginnings."""

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add keys and values, shape (rows, heads, tokens, width), and return all."""
        layer = self._layer
        if not layer.is_initialized:
            layer.lazy_initialization(keys, values)
            layer.keys, layer.values = keys[..., :0, :], values[..., :0, :]
        length, needed = layer.keys.shape[-2], layer.keys.shape[-2] + keys.shape[-2]
        if not self._is_enough(needed, len(keys)):
            self._rooms = [_moved(kept, needed + ROOM, len(keys)) for kept in (layer.keys, layer.values)]
        for room, states in zip(self._rooms, (keys, values), strict=True):
            room[..., length:needed, :] = states
        layer.keys, layer.values = (room[..., :needed, :] for room in self._rooms)
        return layer.keys, layer.values

    def repeat(self, repeats: int) -> None:
        """Show the only row so many times; `update` copies it to where each has its own."""
        layer = self._layer
        layer.keys, layer.values = (
            states.expand(repeats, -1, -1, -1) for states in (layer.keys, layer.values)
        )

    def _is_enough(self, tokens: int, rows: int) -> bool:
        if not self._rooms or self._rooms[0].data_ptr() != self._layer.keys.data_ptr():
            return False
        return len(self._rooms[0]) == rows and self._rooms[0].shape[-2] >= tokens


def _moved(kept: torch.Tensor, tokens: int, rows: int) -> torch.Tensor:
    room = kept.new_empty((rows, kept.shape[1], tokens, kept.shape[3]))
    room[..., : kept.shape[2], :] = kept
    return room


def common_start(rows: Sequence[list[int]]) -> int:
    """Return how many tokens all rows begin with.

    At least one token of each is left over, and 0 is too few.
    """
    if len(rows) < 2:
        return 0
    first, last = min(rows), max(rows)  # what these two share, all that lie between share
    most = min(map(len, rows)) - 1
    shared = next((place for place in range(most) if first[place] != last[place]), most)
    return shared if shared >= WORTHWHILE else 0


class Continuation:
    """The steps after the prompts (`first_step.Steps`)."""

    def __init__(self, loaded: LoadedModel, rows: Sequence[list[int]]) -> None:
        self._model, self._device = loaded.model, loaded.device
        self._takes = frozenset(inspect.signature(loaded.model.forward).parameters)
        self._n = len(rows)
        shared = common_start(rows)
        cache = self._read_shared(rows[0][:shared]) if shared else with_room(self._model.config)
        ids, mask = padded([row[shared:] for row in rows], loaded.pad, self._device, left=True)
        self._mask = _widened(mask, shared, left=True)
        self._first, self._cache = self._step(ids, self._mask, cache, last_only=True)

    @property
    def rows(self) -> int:
        return self._n

    def after(self, prefixes: Sequence[Tokens]) -> dict[Tokens, torch.Tensor]:
        """Return the log-probabilities after prefixes; longer ones are read with their own beginnings."""
        by_prefix: dict[Tokens, torch.Tensor] = {(): self._first[:, -1].float().log_softmax(dim=1)}
        for prefix in sorted(prefixes, key=len, reverse=True):
            if prefix not in by_prefix:
                steps = self._branch([list(prefix)] * self._n).float().log_softmax(dim=2)
                by_prefix |= {prefix[: place + 1]: steps[:, place] for place in range(len(prefix))}
        return by_prefix

    def extended(self, tokens: list[int]) -> torch.Tensor:
        """Read these tokens after all before them, of the only row; return the log-probabilities after."""
        import torch

        ids = torch.tensor([tokens], device=self._device)
        self._mask = _widened(self._mask, len(tokens))
        logits, self._cache = self._step(ids, self._mask, self._cache, last_only=True)
        return logits[0, -1].float().log_softmax(dim=0)

    def best_along(self, tokens: list[list[int]]) -> list[list[int]]:
        best: list[list[int]] = self._branch(tokens).argmax(dim=2).tolist()
        return best

    def _read_shared(self, start: list[int]) -> Any:
        """Return the cache of the common beginning, once for each row."""
        import torch

        ids = torch.tensor([start], device=self._device)
        _, cache = self._step(ids, torch.ones_like(ids), with_room(self._model.config), last_only=True)
        cache.batch_repeat_interleave(self._n)
        return cache

    def _branch(self, tokens: list[list[int]]) -> torch.Tensor:
        """Return the logits after each of the tokens; the cache is afterwards as before."""
        import torch
        from transformers.cache_utils import DynamicLayer

        ids = torch.tensor(tokens, device=self._device)
        can_crop = all(type(layer) is DynamicLayer for layer in self._cache.layers)
        cache = self._cache if can_crop else copy.deepcopy(self._cache)
        logits, _ = self._step(ids, _widened(self._mask, ids.shape[1]), cache)
        if can_crop:
            cache.crop(-ids.shape[1])
        return logits

    def _step(
        self, ids: torch.Tensor, mask: torch.Tensor, cache: Any, *, last_only: bool = False
    ) -> tuple[torch.Tensor, Any]:
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        extra: dict[str, Any] = {"position_ids": positions, "logits_to_keep": int(last_only)}
        output = self._model(
            input_ids=ids,
            attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
            **{name: value for name, value in extra.items() if name in self._takes},
        )
        return output.logits, output.past_key_values


def _widened(mask: torch.Tensor, by: int, *, left: bool = False) -> torch.Tensor:
    """Return the mask extended by this many tokens, after it or before."""
    import torch

    ones = mask.new_ones((mask.shape[0], by))
    return torch.cat([ones, mask] if left else [mask, ones], dim=1)


class LineWriter:
    """Writes the lines of a reply about several items; the model chooses what each says of its item.

    The prompt is read once, and each line in a step or two. A name of a rating that takes several tokens is
    chosen token by token.
    """

    def __init__(self, loaded: LoadedModel, prompt: Prompt) -> None:
        self._loaded = loaded
        low, high = prompt.scale or (MIN_RATING, MAX_RATING)
        self._names = [prompt.label_of(rating) for rating in range(low, high + 1)]

    def tokens(self, prompt: list[int], items: int) -> list[int]:
        """Return the tokens of the reply to a prompt about so many items."""
        text = Continuation(self._loaded, [prompt])
        reply: list[int] = []
        read = 0
        for number in range(1, items + 1):
            lines = self._lines(number)
            place = 0
            while len(lines) > 1:
                place = next(
                    at for at, tokens in enumerate(zip(*lines, strict=False)) if len(set(tokens)) > 1
                )
                new = [*reply, *lines[0][:place]]
                scores = text.extended(new[read:])
                read = len(new)
                best = max({line[place] for line in lines}, key=lambda token: float(scores[token]))
                lines = [line for line in lines if line[place] == best]
            reply += lines[0]
        return reply

    def _lines(self, number: int) -> list[list[int]]:
        """Return the tokens of each line that there can be; none begins another one, as all end the line."""
        return self._loaded.token_ids([f"{number}: {name}\n" for name in self._names], special=False)


class CausalGrader(GeneratingGrader):
    """Rates or extracts, as its prompt asks. Making one loads the model, or finds it loaded already."""

    def __init__(self, spec: GraderSpec) -> None:
        """Load the model. Raises GraderUnavailable where that fails or the options are wrong."""
        options = CausalOptions.of(spec)
        loaded = load(spec.llm, CAUSAL, dtype=options.dtype, device=options.device)
        super().__init__(spec, options, loaded)
        hf_kernels.quicken_llama(loaded.model)
        self._room = _max_input(loaded, replace(options, max_input_tokens=0))
        self._max_input_tokens = _max_input(loaded, options)
        thinking = Thinking(options.thinking, options.reasoning_effort)
        self._expected = ExpectedReply(options.max_new_tokens, thinks=thinking.is_on)
        self._template = chat_template(loaded.tokenizer, thinking.template_arguments)
        self._begins_inside = self._template is not None and is_left_open(self._template([("user", "Rate.")]))
        self._scorer = self._make_scorer()
        is_in_lines = self._prompt.rule is ParseRule.LINES
        self._writer = LineWriter(loaded, self._prompt) if is_in_lines and options.constrained else None

    def _make_scorer(self) -> ReplyScorer | None:
        """Return the scorer; None for a thinking model, whose likely first step is no rating."""
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

    def _longest_prompt(self, pair: CellToGrade) -> int:
        return min(self._max_input_tokens, self._room - tokens_of_lines(pair))

    def _text(self, pair: CellToGrade, context: str | None = None) -> str:
        if self._template is None:
            return super()._text(pair, context)
        return self._template(self._prompt.messages(pair, context, self._marks))

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        # A template writes the start mark itself.
        return self._loaded.token_ids(texts, special=self._template is None) if texts else []

    def _batches(self, encoded: Iterable[EncodedPrompt]) -> Iterator[list[EncodedPrompt]]:
        """Yield batches by length, or by their beginnings where so much is shared that this computes less."""
        by_size = by_length(encoded)
        orders = (by_size, sorted(by_size, key=lambda prompt: prompt.tokens))
        order = min(orders, key=lambda order: sum(map(_cost, batches(order, self._size))))
        return batches(order, self._size)

    def _run(self, batch: Sequence[EncodedPrompt]) -> list[Result]:
        import torch

        with torch.inference_mode():
            if self._writer:
                return [
                    self._reply(prompt, self._writer.tokens(prompt.tokens, len(prompt.pair.items)))
                    for prompt in batch
                ]
            scored: Sequence[RatedReply | None] = [None] * len(batch)
            if self._scorer:
                scored = self._scored(
                    self._scorer, Continuation(self._loaded, [prompt.tokens for prompt in batch])
                )
            rest = [prompt for prompt, rated_reply in zip(batch, scored, strict=True) if rated_reply is None]
            replies = iter(self._replies(rest))
        return [
            rated(prompt.pair, rated_reply, prompt.trace(rated_reply.reply))
            if rated_reply
            else self._reply(prompt, next(replies))
            for prompt, rated_reply in zip(batch, scored, strict=True)
        ]

    def _replies(self, batch: Sequence[EncodedPrompt]) -> list[list[int]]:
        """Generate tokens greedily."""
        from transformers import GenerationConfig

        if not batch:
            return []
        loaded = self._loaded
        rows = [prompt.tokens for prompt in batch]
        ids, mask = padded(rows, loaded.pad, loaded.device, left=True)
        plain = GenerationConfig(
            max_new_tokens=self._longest_reply(batch),
            do_sample=False,
            num_beams=1,
            eos_token_id=sorted(loaded.ends) or None,
            pad_token_id=loaded.pad,
        )
        generated = loaded.model.generate(ids, attention_mask=mask, generation_config=plain)
        replies: list[list[int]] = generated[:, ids.shape[1] :].tolist()
        return replies


def _max_input(loaded: LoadedModel, options: CausalOptions) -> int:
    """Return how many tokens a prompt may have.

    Raises GraderUnavailable where the reply would leave no room for a prompt.
    """
    reads = getattr(loaded.model.config, "max_position_embeddings", None)
    room = (reads or UNKNOWN_CONTEXT) - options.max_new_tokens
    if room < 1:
        raise GraderUnavailable(f"option max_new_tokens must be less than the {reads} that the model reads")
    return min(room, options.max_input_tokens or room)


def _cost(batch: Sequence[EncodedPrompt]) -> int:
    """Return the tokens that the model computes for a batch."""
    rows = [prompt.tokens for prompt in batch]
    shared = common_start(rows)
    return shared + len(rows) * (max(map(len, rows)) - shared)
