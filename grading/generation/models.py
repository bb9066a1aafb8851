"""Language models that write, from the graders' back-ends. To add one: its line in WRITERS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, cast

from grading.errors import UnknownGrader
from grading.generation import TextModel, repeats
from grading.graders import hf_kernels, hf_model
from grading.graders.backend_options import AS_IT_IS, Thinking
from grading.graders.completions import chat_template
from grading.graders.connection import Connection
from grading.graders.openai_client import ChatClient, ChatOptions
from grading.graders.registry import Backend, known_backends
from grading.graders.replies import ExpectedReply, ReplyText, is_left_open, of_tokens, visible_text
from grading.prompts.chat import marks_of

if TYPE_CHECKING:
    import torch

WRITERS = {
    "hf_seq2seq": "grading.generation.models:Seq2SeqText",
    "hf_causal": "grading.generation.models:CausalText",
    "openai_compatible": "grading.generation.models:ServerText",
}
"""By back-end: `module:Class`, called with a model's name, its longest reply, what it is told of thinking,
and a server's connection.
"""

LONGEST_REPLY = 512
"""Tokens."""
SERVER_SECONDS = 120.0
"""The longest time for one reply of a server."""
CLIENTS = 8
"""Clients (by server, model and length of replies) that a process keeps."""
GUESSED = 7
"""Tokens that a causal model reads at once: those that followed the same words before, in prompt or reply.

The weights are read once for all of them. What the model would not have written is dropped.
"""
LOOK_TOKENS = 8
"""So often a local model's reply is looked at for repetitions."""

OnTokens = Callable[[int, int], None]
"""Called as a local model writes, with its tokens so far and at most. What it raises ends the reply."""


def drafting_backends() -> tuple[Backend, ...]:
    """Return the back-ends whose models can write, in the order offered."""
    return tuple(backend for backend in known_backends() if backend.name in WRITERS)


def drafting_backend(name: str) -> Backend:
    """Return the back-end of that name.

    Raises UnknownGrader, which names those that can write.
    """
    able = {backend.name: backend for backend in drafting_backends()}
    if name not in able:
        raise UnknownGrader(f"{name} cannot write questions or nuggets; these can: {', '.join(able)}")
    return able[name]


def text_model(
    backend: str,
    llm: str,
    connection: Connection | None = None,
    *,
    longest_reply: int = 0,
    thinking: Thinking = AS_IT_IS,
    on_tokens: OnTokens | None = None,
) -> TextModel:
    """Load the model, which writes at most `longest_reply` tokens with its thinking; 0 for LONGEST_REPLY.

    Raises UnknownGrader, or GraderUnavailable with what is missing.
    """
    drafter = drafting_backend(backend)
    module, _, name = WRITERS[drafter.name].partition(":")
    make = cast("Callable[..., TextModel]", getattr(import_module(module), name))
    longest = longest_reply or LONGEST_REPLY
    arguments = (llm, longest, thinking)
    return make(*arguments, connection) if drafter.needs_server else make(*arguments, on_tokens)


class _LoadedText:
    """A local model: greedy first; asked the same again, it samples, since it would only repeat itself.

    A reply ends where its lines begin to repeat (`repeats`): a small model would go on so to the last token.
    """

    task: hf_model.ModelTask
    quicken: staticmethod[[Any], bool]
    guesses: ClassVar[Mapping[str, int]] = {}
    """How `generate` guesses several tokens, which the model then reads at once."""

    def __init__(
        self,
        llm: str,
        longest_reply: int = LONGEST_REPLY,
        thinking: Thinking = AS_IT_IS,
        on_tokens: OnTokens | None = None,
    ) -> None:
        """Load the model, unless one that grades in this process is loaded.

        Raises GraderUnavailable.
        """
        self._loaded = hf_model.load(llm, self.task)
        self._marks = marks_of(self._loaded.tokenizer)
        self.quicken(self._loaded.model)
        self._longest_reply, self._thinking, self._on_tokens = longest_reply, thinking, on_tokens
        self._prompts: set[str] = set()

    def _generated(self, prompt: str, *, special: bool = True) -> tuple[list[int], int]:
        """Return the generated tokens, and the number of tokens sent."""
        import torch

        loaded = self._loaded
        prompt_tokens = loaded.token_ids([prompt], special=special)
        tokens = torch.tensor(prompt_tokens, device=loaded.device)
        begin = 1 if loaded.model.config.is_encoder_decoder else len(prompt_tokens[0])
        with torch.inference_mode(), hf_model.few_threads(loaded.model):
            generated = loaded.model.generate(
                input_ids=tokens,
                attention_mask=torch.ones_like(tokens),
                max_new_tokens=self._longest_reply,
                num_beams=1,
                do_sample=prompt in self._prompts,
                pad_token_id=loaded.pad,
                stopping_criteria=[self._watch(begin)],
                **({} if loaded.model._is_stateful else self.guesses),
            )
        self._prompts.add(prompt)
        return generated[0].tolist(), len(prompt_tokens[0])

    def _without_marks(self, messages: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the messages, in which no text of others spells a control token of this model."""
        return [(role, self._marks.broken(text)) for role, text in messages]

    def _watch(self, begin: int) -> Callable[..., torch.Tensor]:
        """Return what tells after each step whether a reply, which starts at `begin`, shall end.

        It raises what `on_tokens` raises.
        """
        looked_at = 0

        def shall_end(ids: torch.Tensor, _: object, **__: object) -> torch.Tensor:
            nonlocal looked_at
            written, is_over = ids.shape[1] - begin, False
            if self._on_tokens:
                self._on_tokens(written, self._longest_reply)
            if written - looked_at >= LOOK_TOKENS:
                looked_at = written
                is_over = repeats(visible_text(self._loaded.tokenizer, ids[0, begin:].tolist()))
            return ids.new_full((1,), is_over).bool()

        return shall_end


class Seq2SeqText(_LoadedText):
    """The T5 family."""

    task = hf_model.SEQ2SEQ
    quicken = staticmethod(hf_kernels.quicken_t5)

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        tokens, _ = self._generated(_plain(self._without_marks(messages)))
        return ReplyText.of(of_tokens(self._loaded, tokens, ExpectedReply(self._longest_reply)))


class CausalText(_LoadedText):
    """Llama, OLMo, GPT-2: uses the tokenizer's chat template if there is one."""

    task = hf_model.CAUSAL
    quicken = staticmethod(hf_kernels.quicken_llama)
    guesses = MappingProxyType({"prompt_lookup_num_tokens": GUESSED})

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        messages = self._without_marks(messages)
        template = chat_template(self._loaded.tokenizer, self._thinking.template_arguments)
        prompt = template(messages) if template else _plain(messages)
        tokens, n_prompt = self._generated(
            prompt, special=template is None
        )  # a template writes the start mark
        expected = ExpectedReply(self._longest_reply, thinks=self._thinking.is_on)
        is_inside = template is not None and is_left_open(prompt)
        return ReplyText.of(of_tokens(self._loaded, tokens[n_prompt:], expected, is_inside=is_inside))


class ServerText:
    """A model behind an OpenAI-compatible server."""

    def __init__(
        self, llm: str, longest_reply: int, thinking: Thinking, connection: Connection | None
    ) -> None:
        """Connect to the server. Raises GraderUnavailable where there is no connection."""
        call = ChatOptions(llm, longest_reply, thinking=thinking, timeout_s=SERVER_SECONDS)
        self._client = _client(connection, call)

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        return ReplyText.of(self._client.ask(messages))


@lru_cache(maxsize=CLIENTS)
def _client(connection: Connection | None, options: ChatOptions) -> ChatClient:
    """Return the one client for all topics of a process: opening one takes as long as several calls."""
    return ChatClient(connection, options)


def _plain(messages: Sequence[tuple[str, str]]) -> str:
    return "\n\n".join(text for _, text in messages)
