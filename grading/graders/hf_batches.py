"""The common part of graders that run a local model: reading ahead, sorting, cutting, and halving.

How many tokens a batch has: as asked, or as many as the device has memory for.

On a GPU the first batch is of a known, moderate size. What it took tells how many tokens fit into the memory
that is free; a batch that runs out of memory all the same lowers that for good.

Prompts of similar length share a batch. A passage that does not fit is cut between sentences, and the trace
records how much of it the model saw. A batch that fails is halved until only the pair at fault fails.

Two threads keep the device busy: one turns the next prompts into tokens, one runs the model, a batch ahead of
whoever takes the results. Pairs are read by whoever takes the results, and by no thread.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, cast

from grading.errors import GraderUnavailable
from grading.graders.backend_options import GeneratorOptions, ModelOptions
from grading.graders.base import (
    GraderSpec,
    RatedReply,
    Result,
    failed,
    parsed,
    result_without_model,
    tokens_of_lines,
    unanswered,
)
from grading.graders.first_step import ReplyScorer, Steps
from grading.graders.hf_model import LoadedModel, is_out_of_memory, let_go_of_latest
from grading.graders.replies import ExpectedReply, NoReply, of_tokens
from grading.graders.server_calls import ahead
from grading.in_context import longest_seen, parts_of
from grading.parsing import OnUnparsable
from grading.prompts.chat import marks_of
from grading.types import CellToGrade, ErrorClass, Trace

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

CPU_TOKENS = 4096
"""More would not fit into the caches."""
CUDA_FIRST_TOKENS = 16_384
CUDA_MOST_TOKENS = 131_072
"""Larger batches gain nothing: the cores have been busy for long."""
FREE_SHARE = 0.7
"""Share of the free memory; the allocator needs some for what does not fit between other things."""


class BatchSize:
    """The size of a grader's batches; it is kept as long as the grader."""

    def __init__(self, tokens: int, device: torch.device) -> None:
        """Limit batches to `asked` tokens; 0 leaves it to the device."""
        self._device = device
        self._is_measured = bool(tokens) or device.type != "cuda"
        self._most = tokens or (CUDA_MOST_TOKENS if device.type == "cuda" else CPU_TOKENS)
        self.tokens = self._most if self._is_measured else CUDA_FIRST_TOKENS
        """Tokens of a batch, with its padding."""

    @contextmanager
    def measuring(self, tokens: int) -> Iterator[None]:
        """Note what the first batch, of so many tokens, takes of the device's memory."""
        if self._is_measured:
            yield
            return
        before = start_of_peak(self._device)
        yield
        taken = peak(self._device) - before
        self.fit(tokens, taken, free(self._device))

    def fit(self, tokens: int, taken: int, available: int) -> None:
        """Set the size by what a batch of so many tokens took, in bytes, and by the bytes that are free."""
        self._is_measured = True
        wished = int(FREE_SHARE * available * tokens / max(1, taken))
        self.tokens = max(1, min(self._most, wished))
        logger.info(
            "batches of %d tokens on %s: %d bytes a token, %d bytes free",
            self.tokens,
            self._device,
            taken // max(1, tokens),
            available,
        )

    def lower(self, tokens: int) -> None:
        """Note that a batch of so many tokens ran out of memory: later ones have at most half as many."""
        self._is_measured = True
        self._most = self.tokens = max(1, min(self.tokens, tokens // 2))
        logger.warning("out of memory with %d tokens; batches have %d from now on", tokens, self.tokens)


def start_of_peak(device: torch.device) -> int:
    """Return the bytes that tensors take now; `peak` is counted from here."""
    import torch

    torch.cuda.reset_peak_memory_stats(device)
    return int(torch.cuda.memory_allocated(device))


def peak(device: torch.device) -> int:
    """Return the most bytes that tensors took."""
    import torch

    return int(torch.cuda.max_memory_allocated(device))


def free(device: torch.device) -> int:
    """Return the bytes that tensors could take: unused ones, and what the allocator keeps for reuse."""
    import torch

    unused, _ = torch.cuda.mem_get_info(device)
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(unused + kept)


WINDOW = 2000
"""Pairs that are read ahead and sorted."""
ASKED_AT_ONCE = 256
"""Pairs that are turned into tokens at once: the model begins when the first of them are ready."""


class EncodedPrompt(NamedTuple):
    """One prompt, ready for the model."""

    pair: CellToGrade
    prompt: str
    tokens: list[int]
    context_chars: int | None

    def trace(self, reply: str) -> Trace:
        return Trace(self.prompt, reply, self.context_chars)


class LocalGrader(ABC):
    """Reads pairs ahead and grades them batch by batch, the longest prompts first."""

    def __init__(self, spec: GraderSpec, options: ModelOptions, loaded: LoadedModel) -> None:
        self.spec = spec
        self._prompt = spec.prompt
        self._loaded = loaded
        self._marks = marks_of(loaded.tokenizer)
        self._size = BatchSize(options.batch_tokens, loaded.device)

    @property
    def device(self) -> str:
        return self._loaded.description

    def close(self) -> None:
        """Release the model: its memory is freed once no other grader uses it."""
        del self._loaded
        let_go_of_latest()

    def grade(self, pairs: Iterable[CellToGrade]) -> Generator[Result]:
        """Read WINDOW pairs ahead, then yield batch by batch. To close it waits for the batch under way."""
        stream = iter(pairs)
        while window := list(islice(stream, WINDOW)):
            settled = [result_without_model(self._prompt, pair) for pair in window]
            yield from filter(None, settled)
            open_pairs = [pair for pair, result in zip(window, settled, strict=True) if not result]
            with closing(ahead(self._graded(open_pairs))) as graded:
                for results in graded:
                    yield from results

    def _graded(self, pairs: list[CellToGrade]) -> Generator[list[Result]]:
        """Yield the results, batch by batch; last come those of pairs that could not be asked."""
        refused: list[Result] = []
        with closing(ahead(self._prepared(pairs))) as prepared:
            for batch in self._batches(_encoded(prepared, refused)):
                yield list(self._grade_batch(batch))
        yield refused

    def _prepared(self, pairs: list[CellToGrade]) -> Generator[list[EncodedPrompt | Result]]:
        """Yield prompts and results, some at once, the longest texts first."""
        ordered = iter(
            sorted(pairs, key=lambda pair: len(pair.passage.text) + len(pair.item.text), reverse=True)
        )
        while some := list(islice(ordered, ASKED_AT_ONCE)):
            yield list(self._ask(some))

    @abstractmethod
    def _ask(self, pairs: Sequence[CellToGrade]) -> Iterator[EncodedPrompt | Result]:
        """Encode each pair, or say why it cannot be asked."""

    @abstractmethod
    def _run(self, batch: Sequence[EncodedPrompt]) -> list[Result]:
        """Return one result for each prompt of the batch."""

    def _batches(self, encoded: Iterable[EncodedPrompt]) -> Iterator[list[EncodedPrompt]]:
        """Yield batches, the longest first, so that a lack of memory shows at once."""
        return batches(encoded, self._size)

    def _grade_batch(self, batch: Sequence[EncodedPrompt]) -> Iterator[Result]:
        """Grade a batch; if that fails (out of memory, say) its halves, and finally single pairs."""
        problem, error_class = "", ErrorClass.OTHER
        try:
            with self._size.measuring(_padded_tokens(batch)):
                graded = self._run(batch)
        except Exception as error:  # noqa: BLE001 - one bad pair must not lose the others; it becomes a failure
            problem = f"{type(error).__name__}: {error}".strip()
            error_class = ErrorClass.MEMORY if is_out_of_memory(error) else ErrorClass.OTHER
        if not problem:
            yield from graded
        elif len(batch) == 1:
            logger.warning("pair of item %s failed: %s", batch[0].pair.item.item_id, problem.split(":", 1)[0])
            yield failed(batch[0].pair, problem, error_class, batch[0].trace(""))
        else:
            if error_class is ErrorClass.MEMORY:
                self._size.lower(_padded_tokens(batch))
            self._loaded.free_memory()
            half = len(batch) // 2
            yield from self._grade_batch(batch[:half])
            yield from self._grade_batch(batch[half:])


class GeneratingGrader(LocalGrader):
    """Renders the prompt, and parses what the model writes."""

    def __init__(self, spec: GraderSpec, options: GeneratorOptions, loaded: LoadedModel) -> None:
        super().__init__(spec, options, loaded)
        self._max_input_tokens, self._max_new_tokens = options.max_input_tokens, options.max_new_tokens
        self._expected, self._begins_inside = ExpectedReply(options.max_new_tokens), False
        self._on_unparsable = cast("OnUnparsable", options.on_unparsable)
        self._is_constrained = options.constrained

    def _scorer_of(self, ends: Callable[[int], bool]) -> ReplyScorer | None:
        """Return a scorer for prompts with short replies.

        Raises GraderUnavailable where a constrained model has none.
        """
        if not self._prompt.first_tokens:
            return None
        scorer = ReplyScorer(self._loaded.tokenizer, self._prompt, ends)
        if self._is_constrained and not scorer:
            raise GraderUnavailable(f"{self.spec.llm} has no tokens for the ratings; leave out constrained")
        return scorer

    def _scored(self, scorer: ReplyScorer, steps: Steps) -> Sequence[RatedReply | None]:
        return scorer.likeliest(steps) if self._is_constrained else scorer.score(steps)

    def _longest_prompt(self, pair: CellToGrade) -> int:
        return self._max_input_tokens

    def _longest_reply(self, batch: Sequence[EncodedPrompt]) -> int:
        return self._max_new_tokens + max(tokens_of_lines(prompt.pair) for prompt in batch)

    def _text(self, pair: CellToGrade, context: str | None = None) -> str:
        return self._prompt.render(pair, context, self._marks)

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        return self._loaded.token_ids(texts) if texts else []

    def _ask(self, pairs: Sequence[CellToGrade]) -> Iterator[EncodedPrompt | Result]:
        texts = [self._text(pair) for pair in pairs]
        for pair, text, tokens in zip(pairs, texts, self._tokens(texts), strict=True):
            if len(tokens) <= self._longest_prompt(pair):
                yield EncodedPrompt(pair, text, tokens, None)
            else:
                yield self._ask_cut(pair)

    def _ask_cut(self, pair: CellToGrade) -> EncodedPrompt | Result:
        """Encode as much of the passage as fits; the item is never cut."""
        limit = self._longest_prompt(pair)

        def fits(context: str) -> bool:
            return len(self._tokens([self._text(pair, context)])[0]) <= limit

        context = longest_seen(pair.passage.text, fits)
        if not context:
            least = "with only the part to rate" if parts_of(pair.passage.text) else "without the passage"
            reason = f"the prompt {least} is longer than {limit} tokens"
            return failed(pair, reason, ErrorClass.CONTEXT)
        text = self._text(pair, context)
        return EncodedPrompt(pair, text, self._tokens([text])[0], len(context))

    def _reply(self, encoded: EncodedPrompt, tokens: Sequence[int]) -> Result:
        """Return the grade from the tokens that the model wrote."""
        try:
            reply = of_tokens(self._loaded, tokens, self._expected, is_inside=self._begins_inside)
        except NoReply as error:
            return unanswered(encoded.pair, error, encoded.trace(""))
        return parsed(self._prompt, encoded.pair, reply.text, encoded.trace(reply.raw), self._on_unparsable)


def by_length(encoded: Iterable[EncodedPrompt]) -> list[EncodedPrompt]:
    return sorted(encoded, key=lambda prompt: len(prompt.tokens), reverse=True)


def batches(ordered: Iterable[EncodedPrompt], size: BatchSize) -> Iterator[list[EncodedPrompt]]:
    """Split in this order, each batch as large as its padded tokens allow by then."""
    batch: list[EncodedPrompt] = []
    width = 0
    for prompt in ordered:
        width = max(width, len(prompt.tokens))
        if batch and (len(batch) + 1) * width > size.tokens:
            yield batch
            batch, width = [], len(prompt.tokens)
        batch.append(prompt)
    if batch:
        yield batch


def _encoded(
    prepared: Iterable[list[EncodedPrompt | Result]], refused: list[Result]
) -> Iterator[EncodedPrompt]:
    """Yield the prompts, about the longest first; the others go to `refused`."""
    for some in prepared:
        refused += [each for each in some if not isinstance(each, EncodedPrompt)]
        yield from by_length(each for each in some if isinstance(each, EncodedPrompt))


def _padded_tokens(batch: Sequence[EncodedPrompt]) -> int:
    return len(batch) * max(len(prompt.tokens) for prompt in batch)


def padded(
    rows: Sequence[list[int]], pad: int, device: torch.device, *, left: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids and attention mask (rows, longest row), on the device."""
    import torch

    lengths = torch.tensor([len(row) for row in rows])[:, None]
    width = int(lengths.max())
    places = torch.arange(width)
    there = places >= width - lengths if left else places < lengths
    ids = torch.full(there.shape, pad)
    ids[there] = torch.tensor(list(chain.from_iterable(rows)))
    return on_device(ids, device), on_device(there.long(), device)


def on_device(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy a tensor to the device.

    A copy to a GPU is not waited for: what is computed with it there comes after it.
    """
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)
