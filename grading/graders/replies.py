"""The only place where what a model sends becomes text that somebody reads.

Where a reply's thinking ends and its answer begins.

Models that reason write their thoughts before the answer, in marks of their own. These are the marks that
published chat templates write, as the reasoning parsers of vLLM and SGLang know them (vllm/reasoning,
sglang/srt/parser/reasoning_parser.py, 2026): tags of several names, with a namespace before or after it
(Qwen, DeepSeek, GLM, Seed-OSS, MiniMax, Hunyuan, EXAONE), Mistral's brackets, Kimi's triangles, Cohere's,
Apertus' and Gemma 4's tokens, the channels of gpt-oss, and Granite's sentences.

The only place where what a model sends becomes text that somebody reads.

A server's reply is JSON of any shape (completions.py), a local model's are tokens. Both become a `Reply`, the
answer without the thinking before it, or a `NoReply` with its reason. Nothing else is an answer: not a
refusal, a filtered or broken-off text, a call of a tool, or thinking that the limit of tokens cut off. An
empty text that the model ended itself is one: the papers count it as "unanswerable".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from grading.errors import GradingError
from grading.graders.connection import CallProblem
from grading.types import ErrorClass

if TYPE_CHECKING:
    from grading.graders.hf_model import LoadedModel


_TAG = (
    r"<(?P<end>/?)(?:[a-z0-9_]+:)?"
    r"(?P<name>think|thinking|thoughts?|reason|reasoning|reflection|analysis|scratchpad|inner_monologue)"
    r"(?::[a-z0-9_]+)?(?:\s[^<>]{0,80})?>"
)
_SAME = {"thinking": "think", "thought": "think", "thoughts": "think", "reason": "reasoning"}
"""Names that models mix up: each of them closes the others."""
_PAIRS = (
    ("[THINK]", "[/THINK]"),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    ("<|think|>", "<|/think|>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("<|think_start|>", "<|think_end|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel>", "<channel|>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    ("<|content_thinking|>", "<|end_message|>"),
    ("[unused16]", "[unused17]"),
)
_FAMILY = {mark.lower(): (pair[0], mark == pair[0]) for pair in _PAIRS for mark in pair}
_MARK = re.compile("|".join([_TAG, *(re.escape(mark) for pair in _PAIRS for mark in pair)]), re.IGNORECASE)
_CLOSES_TEXT_TOO = "<|content_thinking|>"
"""The pair whose closing mark ends answers as well, so that it tells nothing by itself."""
_ANY = "any"

# Around the answer of a model that thought before it.
_FRAMES = re.compile(
    r"<\|(?:START|END)_(?:RESPONSE|TEXT)\|>|<\|(?:begin|end)_of_solution\|>"
    r"|<\|(?:open|close)\|>(?:response|message)<\|sep\|>"
    r"|<\|(?:content_text|message_model|end_message|content_model_end_sampling)\|>"
)
_WRAPPED = re.compile(
    r"\s*<(answer|response|output|final|final_answer|solution)>(.*?)(?:</\1>\s*)?", re.IGNORECASE | re.DOTALL
)

# gpt-oss (harmony): <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...
_MESSAGE = "<|message|>"
_MESSAGE_END = re.compile(r"<\|(?:end|return|call|eom|eot|start|channel)\|>")
_HEADER = re.compile(r"<\|channel\|>\s*(?P<channel>\w+)|\bto=(?P<recipient>[\w.-]+)")
# The same where the server has removed the tokens.
_BARE_ANALYSIS = re.compile(r"\s*(?:assistant)?analysis(?=[A-Z\"'(])")
_BARE_FINAL = "assistantfinal"

_GRANITE = re.compile(r"\s*Here(?:'s| is) my thought process:")
_GRANITE_ANSWER = re.compile(r"Here(?:'s| is) my response:")


@dataclass(frozen=True, slots=True)
class Split:
    """A reply in two parts."""

    answer: str
    thought: str = ""
    is_open: bool = False
    """Whether the thinking was not closed: there is no answer then."""


def split_thinking(text: str, *, is_inside: bool = False, has_ended: bool = True) -> Split:
    """Return the answer without its thinking, whose marks go too.

    `is_inside`: the prompt ended with an opening mark, so the reply begins with thinking. `has_ended`: the
    model ended the reply by itself. A closing mark without an opening one closes what the template opened.

    >>> split_thinking("<think>Is it 2?</think>4").answer, split_thinking("Is it 2?</think>4").answer
    ('4', '4')
    >>> split_thinking("<think>Rating: 0 would mean").is_open
    True
    """
    if _MESSAGE in text or "<|channel|>" in text:
        return _of_channels(text)
    if bare := _BARE_ANALYSIS.match(text):
        thought, final, answer = text[bare.end() :].rpartition(_BARE_FINAL)
        return Split(answer, thought) if final else Split("", answer, is_open=True)
    if granite := _GRANITE.match(text):
        response = _GRANITE_ANSWER.search(text, granite.end())
        if response:
            return Split(text[response.end() :], text[granite.end() : response.start()])
        if not has_ended:
            return Split("", text, is_open=True)
    return _of_marks(text, is_inside=is_inside)


def is_left_open(prompt: str) -> bool:
    r"""Return whether a prompt, as the chat template wrote it, ends within thinking.

    >>> is_left_open("<|im_start|>assistant\n<think>\n"), is_left_open("<think>\n\n</think>\n\n")
    (True, False)
    """
    end = prompt.rstrip()[-100:]
    if end.endswith(f"<|channel|>analysis{_MESSAGE}"):
        return True
    marks = [mark for mark in _MARK.finditer(end) if mark.end() == len(end)]
    return bool(marks) and _read(marks[0])[1]


def _of_marks(text: str, *, is_inside: bool) -> Split:
    answer: list[str] = []
    thought: list[str] = []
    family, last, has_marks = _ANY if is_inside else "", 0, is_inside
    for mark in _MARK.finditer(text):
        name, opens = _read(mark)
        piece = text[last : mark.start()]
        if family and not opens and family in (name, _ANY):
            thought.append(piece)
            family = ""
        elif not family and opens:
            answer.append(piece)
            family = name
        elif not family and name != _CLOSES_TEXT_TOO:
            thought += [*answer, piece]  # the template had opened it
            answer.clear()
        else:
            continue
        last, has_marks = mark.end(), True
    (thought if family else answer).append(text[last:])
    rest = "".join(answer)
    if "<|" in rest:
        rest = _FRAMES.sub("", rest)
    if has_marks and (wrapped := _WRAPPED.fullmatch(rest)):
        rest = wrapped[2]
    return Split(rest, "".join(thought), is_open=bool(family))


def _of_channels(text: str) -> Split:
    """Take what is addressed to the user for the answer: no analysis, and no call of a tool."""
    header, *parts = text.split(_MESSAGE)
    answer: list[str] = []
    thought: list[str] = []
    for part in parts:
        end = _MESSAGE_END.search(part)
        body = part[: end.start()] if end else part
        fields = {
            name: value
            for match in _HEADER.finditer(header)
            for name, value in match.groupdict().items()
            if value
        }
        is_answer = fields.get("channel", "final") == "final" and fields.get("recipient", "user") == "user"
        (answer if is_answer else thought).append(body)
        header = part[end.start() :] if end else ""
    if not answer:
        return Split("", "".join(thought) or text, is_open=True)
    return Split("".join(answer), "".join(thought))


def _read(mark: re.Match[str]) -> tuple[str, bool]:
    """Return the family of a mark, and whether it opens."""
    if name := mark["name"]:
        return _SAME.get(name.lower(), name.lower()), not mark["end"]
    return _FAMILY[mark[0].lower()]


_ADVICE = "raise max_new_tokens, the longest reply"


@dataclass(frozen=True, slots=True)
class Step:
    """One token of a reply, and the probabilities (0..1) of what could have stood in its place."""

    token: str
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TokensUsed:
    """Tokens as the server counts them; 0 where it does not."""

    prompt: int = 0
    completion: int = 0

    def __add__(self, other: TokensUsed) -> TokensUsed:
        return TokensUsed(self.prompt + other.prompt, self.completion + other.completion)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered."""

    text: str
    """The answer; empty where the model ended its reply without a word."""
    raw: str
    """All that it wrote, with its thinking: for the trace."""
    finish_reason: str = ""
    """The server's word for it; empty where it gives none."""
    steps: tuple[Step, ...] = ()
    """The tokens of the answer; none where the server sends no probabilities, or such as cannot be."""
    used: TokensUsed = field(default_factory=TokensUsed)


class ReplyText(str):
    """The text of a reply, for those who need nothing else of it (`TextModel`).

    `raw` is all that the model wrote, which is what was paid for.
    """

    __slots__ = ("raw",)
    raw: str

    @classmethod
    def of(cls, reply: Reply) -> ReplyText:
        answer = cls(reply.text)
        answer.raw = reply.raw
        return answer


class NoReply(GradingError):
    """No answer, after all attempts that could help; the message says why."""

    def __init__(self, problem: CallProblem, *, raw: str = "", attempts: int = 1) -> None:
        """Keep in `raw` what the model wrote, though it is no answer."""
        self.problem = replace(problem, reason=_storable(problem.reason))
        self.raw, self.attempts = _storable(raw), attempts
        reason = self.problem.reason
        super().__init__(f"{reason} (after {attempts} attempts)" if attempts > 1 else reason)

    @property
    def error_class(self) -> ErrorClass:
        return self.problem.error_class

    @property
    def is_of_model(self) -> bool:
        """Return whether this is what came of asking the model: asked again it would do the same."""
        return self.error_class in (ErrorClass.PARSE, ErrorClass.OTHER)

    @property
    def is_of_prompt(self) -> bool:
        """Return whether other prompts may well be answered: the server is there, and takes calls."""
        is_unreadable = self.error_class is ErrorClass.SERVER and not self.problem.is_passing
        return self.is_of_model or is_unreadable or self.error_class is ErrorClass.CONTEXT


@dataclass(frozen=True, slots=True)
class ExpectedReply:
    """What is known of a reply before it comes."""

    longest: int = 0
    """Tokens; 0 where it is not known."""
    thinks: bool = False
    """Whether the model was told to think: a reply cut off before any mark of thinking is all thinking."""


UNKNOWN = ExpectedReply()


def of_tokens(
    loaded: LoadedModel, tokens: Sequence[int], expected: ExpectedReply, *, is_inside: bool = False
) -> Reply:
    """Return the answer in the tokens that a local model wrote. Raises NoReply.

    `is_inside`: its prompt ended within thinking (`replies.is_left_open`).
    """
    end = next((place for place, token in enumerate(tokens) if token in loaded.ends), None)
    kept = list(tokens if end is None else tokens[:end])
    # Marks of thinking are special tokens to many tokenizers, which would leave them out.
    raw = str(loaded.tokenizer.decode(kept, skip_special_tokens=False))
    split = split_thinking(raw, is_inside=is_inside, has_ended=end is not None)
    if split == Split(raw):
        raw = visible_text(loaded.tokenizer, kept)
        split = Split(raw)
    else:
        for mark in loaded.tokenizer.all_special_tokens:
            split = replace(split, answer=split.answer.replace(mark, ""))
    return answered(split, expected, raw=raw, is_cut=end is None)


def of_text(text: str) -> str:
    """Return the answer in a text that was kept as some model wrote it. Raises NoReply."""
    return answered(split_thinking(text), UNKNOWN, raw=text, is_cut=False).text


def visible_text(tokenizer: Any, tokens: Sequence[int]) -> str:  # Any: as `LoadedModel` has it
    """Return the text of tokens, without those that mark something."""
    return str(tokenizer.decode(list(tokens), skip_special_tokens=True))


def token_text(tokenizer: Any, token: int) -> str:  # Any: as above
    """Return the text of one token, also of one that marks something."""
    return str(tokenizer.decode([token]))


def answered(split: Split, expected: ExpectedReply, *, raw: str, is_cut: bool) -> Reply:
    """Return the answer, if there is one. Raises NoReply."""
    within = f" within {expected.longest} tokens" if is_cut and expected.longest else ""
    has_thought = bool(split.thought.strip())
    problem = ""
    if split.is_open or (is_cut and expected.thinks and not has_thought):
        problem = f"the model did not stop thinking{within}; {_ADVICE}, or turn thinking off"
    elif not split.answer.strip() and has_thought:
        problem = f"the model thought, and answered nothing{within}; {_ADVICE}, or turn thinking off"
    elif not split.answer.strip() and is_cut:
        problem = f"the reply said nothing{within}; {_ADVICE}"
    if problem:
        raise NoReply(CallProblem(ErrorClass.PARSE, problem), raw=raw)
    answer = split.answer if split.answer == raw else split.answer.strip()
    return Reply(_storable(answer), _storable(raw))


def _storable(text: str) -> str:
    """Leave out what databases refuse: NUL, and halves of characters."""
    text = text.replace("\0", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
