"""Grades with a sequence-to-sequence model of the FLAN-T5 family through transformers.

Ratings come from the first decoder steps (first_step.py), and from greedy generation only where those do not
say a digit, or yes or no; answers are generated greedily. Prompts of similar length share a batch. A passage
that does not fit is cut between sentences, and the trace says how much of it the model saw.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from grading.errors import GraderUnavailable, ParseFailure
from grading.graders.base import GraderSpec, refuse_unknown_options, unasked
from grading.graders.first_step import ReplyScorer, Said
from grading.graders.hf_model import DTYPES, load
from grading.graders.text import longest_start
from grading.parsing import OnUnparsable
from grading.types import Grade, GradeFailure, Outcome, Pair, Trace

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

WINDOW = 2000
"""Pairs that are read ahead to be sorted by length."""
CPU_BATCH_TOKENS = 4096
CUDA_BATCH_TOKENS = 32768


@dataclass(frozen=True, slots=True)
class Options:
    """What GraderSpec.options may set."""

    max_input_tokens: int = 512
    """Longest prompt; the passage is cut to fit."""
    max_new_tokens: int = 64
    """Longest reply, where one is generated."""
    batch_tokens: int = 0
    """Tokens of a batch with its padding; 0 chooses by device."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, ..."""
    dtype: str = "auto"
    """auto, float32, bfloat16 or float16."""
    on_unparsable: str = "default"
    """default: a reply without a rating counts as 1, as in the papers; fail: it is stored as a failure."""

    @classmethod
    def of(cls, spec: GraderSpec) -> Options:
        """Raises GraderUnavailable for an option that does not exist or a value that it cannot have."""
        refuse_unknown_options(spec, [field.name for field in fields(cls)])
        options = cls(**cast("dict[str, Any]", spec.settings))  # checked below
        allowed = {"dtype": DTYPES, "on_unparsable": ("default", "fail")}
        for name, values in allowed.items():
            if getattr(options, name) not in values:
                raise GraderUnavailable(f"option {name} must be one of {', '.join(values)}")
        for name, least in {"max_input_tokens": 16, "max_new_tokens": 1, "batch_tokens": 0}.items():
            value = getattr(options, name)
            if type(value) is not int or value < least:
                raise GraderUnavailable(f"option {name} must be a whole number of at least {least}")
        return options


class _Asked(NamedTuple):
    """One prompt, ready for the model."""

    pair: Pair
    prompt: str
    tokens: list[int]
    context_chars: int | None


class Seq2SeqGrader:
    """Rates or extracts, as its prompt asks. Making one loads the model, or finds it loaded already."""

    def __init__(self, spec: GraderSpec) -> None:
        """Raises GraderUnavailable where the options are wrong or the model cannot be loaded."""
        self.spec = spec
        self._prompt = spec.prompt
        self._options = Options.of(spec)
        self._loaded = load(spec.llm, dtype=self._options.dtype, device=self._options.device)
        short = self._prompt.first_tokens
        self._scorer = ReplyScorer(self._loaded, short) if short else None
        is_cpu = self._loaded.device.type == "cpu"
        self._batch_tokens = self._options.batch_tokens or (CPU_BATCH_TOKENS if is_cpu else CUDA_BATCH_TOKENS)

    @property
    def device(self) -> str:
        return self._loaded.description

    def grade(self, pairs: Iterable[Pair]) -> Iterator[Grade | GradeFailure]:
        """Read WINDOW pairs ahead, then yield batch by batch, the longest prompts first."""
        stream = iter(pairs)
        while window := list(islice(stream, WINDOW)):
            asked = []
            for outcome in self._ask(window):
                if isinstance(outcome, _Asked):
                    asked.append(outcome)
                else:
                    yield outcome
            for batch in _batches(asked, self._batch_tokens):
                yield from self._grade_batch(batch)

    def _ask(self, window: Sequence[Pair]) -> Iterator[_Asked | Grade | GradeFailure]:
        settled = [unasked(self._prompt, pair) for pair in window]
        yield from filter(None, settled)
        pairs = [pair for pair, outcome in zip(window, settled, strict=True) if not outcome]
        prompts = [self._prompt.render(pair) for pair in pairs]
        for pair, prompt, tokens in zip(pairs, prompts, self._tokens(prompts), strict=True):
            if len(tokens) <= self._options.max_input_tokens:
                yield _Asked(pair, prompt, tokens, None)
            else:
                yield self._ask_cut(pair)

    def _ask_cut(self, pair: Pair) -> _Asked | GradeFailure:
        """Ask with as much of the passage as fits; the item is never cut."""
        limit = self._options.max_input_tokens

        def fits(context: str) -> bool:
            return len(self._tokens([self._prompt.render(pair, context)])[0]) <= limit

        context = longest_start(pair.passage.text, fits)
        if not context:
            return _failure(pair, f"the prompt without the passage is longer than {limit} tokens")
        prompt = self._prompt.render(pair, context)
        return _Asked(pair, prompt, self._tokens([prompt])[0], len(context))

    def _tokens(self, prompts: list[str]) -> list[list[int]]:
        return self._loaded.token_ids(prompts) if prompts else []

    def _grade_batch(self, batch: Sequence[_Asked]) -> Iterator[Grade | GradeFailure]:
        """Grade a batch; where that fails (out of memory, say) its halves, and in the end the pair alone."""
        problem = ""
        try:
            graded = self._run(batch)
        except Exception as error:  # noqa: BLE001 - one bad pair must not lose the others; it becomes a failure
            problem = f"{type(error).__name__}: {error}".strip()
        if not problem:
            yield from graded
        elif len(batch) == 1:
            logger.warning("pair of item %s failed: %s", batch[0].pair.item.item_id, problem.split(":", 1)[0])
            yield _failure(batch[0].pair, problem, Trace(batch[0].prompt, "", batch[0].context_chars))
        else:
            self._free_memory()
            half = len(batch) // 2
            yield from self._grade_batch(batch[:half])
            yield from self._grade_batch(batch[half:])

    def _run(self, batch: Sequence[_Asked]) -> list[Grade | GradeFailure]:
        import torch

        with torch.inference_mode():
            ids, mask = self._padded(batch)
            encoded = self._loaded.model.get_encoder()(input_ids=ids, attention_mask=mask)
            if self._scorer is None:
                return [self._parsed(*said) for said in zip(batch, self._replies(encoded, mask), strict=True)]
            scored = self._scorer.score(encoded, mask)
            open_rows = [row for row, said in enumerate(scored) if said is None]
            replies = self._replies(encoded, mask, open_rows)
        worded = dict(zip(open_rows, replies, strict=True))
        return [
            _rated(asked, said) if said else self._parsed(asked, worded[row])
            for row, (asked, said) in enumerate(zip(batch, scored, strict=True))
        ]

    def _padded(self, batch: Sequence[_Asked]) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        width = max(len(asked.tokens) for asked in batch)
        pad = self._loaded.tokenizer.pad_token_id
        ids = [asked.tokens + [pad] * (width - len(asked.tokens)) for asked in batch]
        mask = [[1] * len(asked.tokens) + [0] * (width - len(asked.tokens)) for asked in batch]
        device = self._loaded.device
        return torch.tensor(ids, device=device), torch.tensor(mask, device=device)

    def _replies(self, encoded: Any, mask: torch.Tensor, rows: list[int] | None = None) -> list[str]:
        """Greedily generated text for these rows of an encoded batch; for all of them by default."""
        from transformers.modeling_outputs import BaseModelOutput

        if rows == []:
            return []
        hidden = encoded.last_hidden_state
        if rows is not None:
            hidden, mask = hidden[rows], mask[rows]
        generated = self._loaded.model.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
            attention_mask=mask,
            max_new_tokens=self._options.max_new_tokens,
            num_beams=1,
            do_sample=False,
        )
        replies: list[str] = self._loaded.tokenizer.batch_decode(generated, skip_special_tokens=True)
        return replies

    def _parsed(self, asked: _Asked, reply: str) -> Grade | GradeFailure:
        trace = Trace(asked.prompt, reply, asked.context_chars)
        on_unparsable = cast("OnUnparsable", self._options.on_unparsable)
        pair = asked.pair
        try:
            rating, outcome, answer = self._prompt.parse(reply, pair, on_unparsable=on_unparsable)
        except ParseFailure as error:
            return _failure(pair, str(error), trace)
        return Grade(pair.item.item_id, pair.passage.passage_id, rating, outcome, answer, trace=trace)

    def _free_memory(self) -> None:
        import torch

        if self._loaded.device.type == "cuda":
            torch.cuda.empty_cache()


def _batches(asked: list[_Asked], batch_tokens: int) -> Iterator[list[_Asked]]:
    """Longest first, so that what does not fit into memory shows at once."""
    ordered = sorted(asked, key=lambda one: len(one.tokens), reverse=True)
    start = 0
    while start < len(ordered):
        size = max(1, batch_tokens // len(ordered[start].tokens))
        yield ordered[start : start + size]
        start += size


def _rated(asked: _Asked, said: Said) -> Grade:
    return Grade(
        asked.pair.item.item_id,
        asked.pair.passage.passage_id,
        said.rating,
        Outcome.NUMERIC,
        answer=asked.pair.answer or "",
        confidence=said.confidence,
        trace=Trace(asked.prompt, said.reply, asked.context_chars),
    )


def _failure(pair: Pair, reason: str, trace: Trace | None = None) -> GradeFailure:
    return GradeFailure(pair.item.item_id, pair.passage.passage_id, reason, trace)
