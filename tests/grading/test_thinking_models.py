"""Local models that think, from their template to the grade: tiny ones that learned what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import transformers

from grading import prompts
from grading.errors import GraderUnavailable
from grading.generation.models import CausalText
from grading.graders import GraderSpec
from grading.graders.completions import chat_template
from grading.graders.registry import build
from grading.graders.replies import ExpectedReply, NoReply, of_tokens
from grading.types import ErrorClass, Grade, GradeFailure
from tests.grading import tiny_writers
from tests.grading.servers.replies import pairs

pytestmark = pytest.mark.models

RATE = "QuestionSelfRatedPromptWithReminder"
ASKED = "Rate this passage."
OPENS = f"{tiny_writers.CHAT} <think>"
SWITCH = (
    tiny_writers.CHAT
    + "{% if enable_thinking is defined and not enable_thinking %} <think> </think>{% endif %}"
)


def graded(folder: Path, **options: Any) -> Grade | GradeFailure:
    spec = GraderSpec("hf_causal", str(folder), RATE, {"device": "cpu", "dtype": "float32", **options})
    grader = build(spec)
    [result] = grader.grade(pairs())
    grader.close()
    return result


def learned(folder: Path, reply: str, template: str = tiny_writers.CHAT, *, special: bool = False) -> Path:
    """A model that says this of the one pair."""
    prompt = " ".join(text for _, text in prompts.get(RATE).messages(pairs()[0]))
    tiny_writers.build_gpt2(folder, prompt, reply, template, begins=template[len(tiny_writers.CHAT) :])
    if special:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        tokenizer.add_special_tokens({"additional_special_tokens": ["<think>", "</think>"]})
        tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("special", [False, True], ids=["plain tokens", "special tokens"])
def test_a_grader_reads_what_comes_after_the_thinking(tmp_path: Path, special: bool) -> None:
    result = graded(learned(tmp_path, "<think> Rating: 2 </think> 4", special=special))
    assert isinstance(result, Grade)
    assert result.rating == 4
    assert result.trace is not None
    assert result.trace.reply == "<think> Rating: 2 </think> 4"


def test_thinking_that_the_limit_cuts_off_is_a_failed_grade(tmp_path: Path) -> None:
    result = graded(learned(tmp_path, "<think> Rating: 2 or 1 </think> 4"), max_new_tokens=3)
    assert isinstance(result, GradeFailure)
    assert result.error_class is ErrorClass.PARSE
    assert "did not stop thinking within 3 tokens; raise max_new_tokens" in result.reason
    assert result.trace is not None
    assert result.trace.reply == "<think> Rating: 2"


def test_a_template_that_opens_the_thinking_makes_the_first_step_no_rating(tmp_path: Path) -> None:
    """The likeliest digit is one of the thinking there."""
    folder = learned(tmp_path, "2 or 1 ? </think> 4", OPENS)
    result = graded(folder)
    assert isinstance(result, Grade)
    assert (result.rating, result.confidence) == (4, None)
    cut = graded(folder, max_new_tokens=2)
    assert isinstance(cut, GradeFailure)
    assert "did not stop thinking" in cut.reason
    with pytest.raises(GraderUnavailable, match="begins each reply by thinking"):
        graded(folder, constrained=True)


def test_thinking_is_turned_off_by_the_template(tmp_path: Path) -> None:
    tiny_writers.build_gpt2(tmp_path, ASKED, "<think> Hm. </think> Done.", SWITCH)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    write = chat_template(tokenizer, {"enable_thinking": False, "thinking": False})
    plain = chat_template(tokenizer)
    assert write is not None
    assert plain is not None
    assert write([("user", ASKED)]) == f"{plain([('user', ASKED)])} <think> </think>"
    on, off = (
        GraderSpec("hf_causal", str(tmp_path), RATE, {"thinking": thinking}) for thinking in ("on", "off")
    )
    assert on.fingerprint != off.fingerprint


def test_a_writer_writes_what_comes_after_the_thinking(tmp_path: Path) -> None:
    tiny_writers.build_gpt2(tmp_path, ASKED, "<think> Perhaps this. </think> That is it.", tiny_writers.CHAT)
    answer = CausalText(str(tmp_path)).complete([("user", ASKED)])
    assert (answer, answer.raw) == ("That is it.", "<think> Perhaps this. </think> That is it.")
    with pytest.raises(NoReply, match="raise max_new_tokens") as caught:
        CausalText(str(tmp_path), 3).complete([("user", ASKED)])
    assert caught.value.raw == "<think> Perhaps this."


def test_a_text_that_the_model_ended_at_once_is_an_answer_and_one_that_was_cut_off_is_none(
    smollm2_folder: Path,
) -> None:
    from grading.graders.hf_model import CAUSAL, load

    loaded = load(str(smollm2_folder), CAUSAL)
    [end, *_] = loaded.ends
    assert of_tokens(loaded, [end, loaded.pad], ExpectedReply(9)).text == ""
    [blank] = loaded.token_ids(["\n"], special=False)
    with pytest.raises(NoReply, match="said nothing within 9 tokens"):
        of_tokens(loaded, blank, ExpectedReply(9))
    [written] = loaded.token_ids(["<think>2</think>\n\n4"], special=False)
    assert of_tokens(loaded, [*written, end, end], ExpectedReply(9)).text == "4"
    assert of_tokens(loaded, written[-1:], ExpectedReply(9), is_inside=False).text == "4"
    with pytest.raises(NoReply, match="did not stop thinking"):
        of_tokens(loaded, written[-1:], ExpectedReply(9), is_inside=True)
