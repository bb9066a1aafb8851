"""What the back-ends can be told: values, ranges, and which of them are part of a fingerprint."""

from dataclasses import replace
from pathlib import Path

import pytest

from grading import prompts
from grading.errors import BadOption
from grading.graders import GraderSpec, registry
from grading.graders.backend_options import CausalOptions, GeneratorOptions, ServerOptions, read_options
from grading.graders.registry import BACKENDS

RATING = prompts.get("QuestionSelfRatedUnanswerablePromptWithChoices")
EXTRACTION = prompts.get("QuestionCompleteConciseUnanswerablePromptWithChoices")
SERVER, T5 = BACKENDS["openai_compatible"], BACKENDS["hf_seq2seq"]


def test_every_option_has_a_default_within_its_range_and_a_sentence() -> None:
    for backend in registry.known_backends():
        for name, option in backend.options.items():
            assert option.name == name
            option.check(option.default)
            assert option.read(option.default_words) == option.default
            assert option.help[-1] in ".?"
    assert not BACKENDS["lexical"].options


def test_one_back_end_never_has_an_option_for_speed_that_is_for_grades_in_another() -> None:
    kinds: dict[str, set[bool]] = {}
    for backend in registry.known_backends():
        for name, option in backend.options.items():
            kinds.setdefault(name, set()).add(option.changes_grades)
    assert all(len(flags) == 1 for flags in kinds.values())


def test_what_only_changes_speed_is_not_in_the_fingerprint() -> None:
    spec = GraderSpec(SERVER.name, "gpt", RATING.prompt_class)
    fast = replace(spec, options={"concurrency": 64, "timeout_s": 5.0, "attempts": 9})
    assert fast.fingerprint == spec.fingerprint
    assert ServerOptions.of(fast).concurrency == 64
    for options in ({"max_new_tokens": 100}, {"on_unparsable": "fail"}, {"json_mode": True}, {"attempt": 2}):
        assert replace(spec, options=options).fingerprint != spec.fingerprint


def test_a_second_attempt_is_no_option_of_the_back_end_itself() -> None:
    spec = GraderSpec(T5.name, "tiny", RATING.prompt_class, {"attempt": 2})
    assert GeneratorOptions.of(spec) == GeneratorOptions()


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ({"max_new_tokens": " 100 "}, 100),
        ({"json_mode": "Yes"}, True),
        ({"json_mode": "false"}, False),
        ({"timeout_s": "2.5"}, 2.5),
        ({"on_unparsable": "fail"}, "fail"),
        ({"attempt": "2"}, 2),
        ({"thinking": "off"}, "off"),
        ({"request_fields": ' {"b": [1], "a": {"c": "\u00e9"}} '}, '{"a":{"c":"\u00e9"},"b":[1]}'),
    ],
)
def test_reads_what_a_person_typed(said: dict[str, str], value: object) -> None:
    assert list(read_options(SERVER.name, said, SERVER.options).values()) == [value]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"beams": "5"}, "openai_compatible has no option beams; it takes attempt, attempts, concurrency"),
        (
            {"max_new_tokens": "200000"},
            "max_new_tokens must be a whole number of at least 1 and at most 131,072, and '200000' is not",
        ),
        ({"max_new_tokens": "many"}, "a whole number .* and 'many' is not"),
        ({"max_new_tokens": "1.5"}, "a whole number"),
        ({"timeout_s": "nan"}, "a number of at least 0.1 and at most 3,600"),
        ({"timeout_s": "inf"}, "a number of at least 0.1"),
        ({"json_mode": "perhaps"}, "must be true or false"),
        ({"on_unparsable": "ignore"}, "one of default, fail"),
        ({"attempt": "0"}, "at least 1 and at most 100"),
        ({"attempt": ""}, "and '' is not"),
        ({"thinking": "yes"}, "one of default, on, off"),
        ({"reasoning_effort": "some"}, "one of default, none, minimal, low, medium, high"),
        ({"request_fields": "top_k=20"}, "a JSON object without model, messages, stream"),
        ({"request_fields": "[1]"}, "a JSON object"),
        ({"request_fields": '{"model": "other"}'}, "a JSON object without model"),
        ({"request_fields": '{"API_KEY": "sk-1"}'}, "a JSON object without"),
    ],
)
def test_refuses_with_the_range(said: dict[str, str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        read_options(SERVER.name, said, SERVER.options)


def test_only_what_can_change_the_grades_of_a_prompt_is_frozen() -> None:
    chosen = {
        "json_mode": True,
        "on_unparsable": "fail",
        "concurrency": 2,
        "max_new_tokens": 64,
        "attempt": 2,
    }
    assert SERVER.frozen_options(chosen, RATING) == {"json_mode": True, "on_unparsable": "fail", "attempt": 2}
    assert SERVER.frozen_options(chosen, EXTRACTION) == {"attempt": 2}
    direct = prompts.get("UmbrelaStyle")
    assert "on_unparsable" not in SERVER.frozen_options(chosen, direct)
    assert SERVER.running_options(chosen) == {"concurrency": 2}


def test_the_documentation_lists_every_option_as_it_is() -> None:
    text = (Path(__file__).parents[2] / "docs" / "help" / "graders.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    for backend in registry.known_backends():
        for name, option in backend.options.items():
            ends = f"| {'yes' if option.changes_grades else 'no'} | {option.help} |"
            cells = f"| {option.default_words} | {option.range_words} {ends}"
            assert [
                r for r in rows if r.startswith(f"| `{name}` ") and backend.name in r and r.endswith(cells)
            ]


def test_defaults_never_change() -> None:
    # They are what configs without options have graded with.
    assert (GeneratorOptions().max_new_tokens, ServerOptions().max_new_tokens) == (64, 64)
    assert (GeneratorOptions().max_input_tokens, CausalOptions().max_input_tokens) == (512, 0)
    assert (ServerOptions().top_logprobs, ServerOptions().json_mode) == (10, False)
    assert (GeneratorOptions().on_unparsable, GeneratorOptions().constrained) == ("default", False)
