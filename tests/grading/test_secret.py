"""Keys and passwords show themselves in no spelling, and are refused where nothing could carry them."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip("openai")

from grading.errors import BadSecret, GraderUnavailable
from grading.graders import GraderSpec, openai_client
from grading.graders.connection import Address, Connection
from grading.graders.registry import build
from grading.secret import MASK, Secret, redacted
from grading.types import ErrorClass, GradeFailure
from tests.grading.secret_spellings import HOSTILE, SPELLINGS, shows
from tests.grading.servers.http import Reply, serving
from tests.grading.servers.replies import pairs, refuses, says

RATE = "QuestionSelfRatedPromptWithReminder"


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("value", [HOSTILE, "s3cr\u00e9t-\u4e2d-pass", "0123456789abcdef"])
def test_a_secret_is_redacted_in_every_spelling(value: str, spelling: str) -> None:
    text = f"before {SPELLINGS[spelling](value)} after"
    cleaned = redacted(text, [value])
    assert MASK in cleaned
    assert not shows(cleaned, value)
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" after")


def test_a_text_without_the_secret_stays_as_it_is() -> None:
    text = "The server cannot be reached: 401 at http://a.example/v1, key 'sk-other'."
    assert redacted(text, [HOSTILE, "", "  ", "abc"]) == text


def test_a_secret_is_stripped_and_never_shows_itself() -> None:
    key = Secret(f" {HOSTILE}\r\n", "RUBRIC_OPENAI_API_KEY", is_sent_in_header=True)
    assert key.value == HOSTILE
    assert (str(key), f"{key}", repr(key)) == (MASK, MASK, "Secret(RUBRIC_OPENAI_API_KEY)")
    assert (bool(key), bool(Secret(" ")), str(Secret())) == (True, False, "")
    assert key == Secret(HOSTILE)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("sk-abc\ndef", "MY_KEY has a line end or another control character"),
        ("sk-abc\x00def", "MY_KEY has a line end"),
        ("sk-abc\x7fdef", "MY_KEY has a line end"),
        ("sk-abc\u2013def", "MY_KEY has a character outside ASCII"),
        ("sk-abc\udcffdef", "MY_KEY has a line end"),
    ],
)
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(value: str, words: str) -> None:
    with pytest.raises(BadSecret, match=words) as caught:
        Secret(value, "MY_KEY", is_sent_in_header=True)
    assert "abc" not in str(caught.value)
    with pytest.raises(GraderUnavailable) as caught_by_server:
        Connection("http://127.0.0.1:9/v1", value)
    assert "abc" not in str(caught_by_server.value)


def test_a_key_with_blanks_around_it_is_sent_without_them() -> None:
    with serving(lambda *_: says("4")) as server:
        grader = build(GraderSpec("openai_compatible", "m", RATE), Connection(server.url, " sk-1234\n"))
        assert [getattr(result, "rating", None) for result in grader.grade(pairs())] == [4]
        grader.close()
        assert server.keys == ["Bearer sk-1234"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_a_server_quotes_of_the_key_is_redacted(
    spelling: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_client, "FIRST_WAIT", 0.0)
    quoted = f"Illegal header value {SPELLINGS[spelling](HOSTILE)} in {'x' * 280}"
    shown: list[str] = []
    for answer in (
        refuses(401, quoted),
        refuses(500, quoted),
        Reply(200, {"error": {"message": quoted, "code": 401}}),
        Reply(200, {"choices": [{"message": {"content": "2", "refusal": quoted}}]}),
        Reply(200, {"detail": f"{'y' * 270} {quoted}"}),
        Reply(200, quoted.encode()),
    ):
        with caplog.at_level(logging.DEBUG), serving(lambda *_, answer=answer: answer) as server:
            connection = Connection(server.url, HOSTILE)
            grader = build(GraderSpec("openai_compatible", "m", RATE), connection)
            [failure] = grader.grade(pairs())
            grader.close()
        assert isinstance(failure, GradeFailure)
        shown += [repr(failure), repr(connection)]
    assert not shows("\n".join([*shown, caplog.text]), HOSTILE)


def test_a_header_that_the_client_refuses_is_the_keys_fault_and_not_shown(monkeypatch) -> None:
    """As before keys were checked: the library's message quotes the whole header."""
    with serving(lambda *_: says("4")) as server:
        connection = Connection(server.url, "sk-1234")
        object.__setattr__(connection.key, "value", "sk-12\n34")
        grader = build(GraderSpec("openai_compatible", "m", RATE, {"attempts": 3}), connection)
        [failure] = grader.grade(pairs())
        grader.close()
    assert isinstance(failure, GradeFailure)
    assert (failure.error_class, len(server.asked)) == (ErrorClass.AUTH, 0)
    assert "sk-12" not in failure.reason


@pytest.mark.parametrize(
    ("url", "hidden"),
    [
        ("http://user:p%40ss-word@{}/v1", ("p%40ss-word", "p@ss-word")),
        ("http://{}/v1?api-version=1&key=hidden-key", ("hidden-key",)),
    ],
)
def test_credentials_in_the_address_are_redacted(url: str, hidden: tuple[str, ...]) -> None:
    def script(body: dict[str, object], _: int) -> Reply:
        return refuses(400, f"cannot serve {body['path']} for {' '.join(hidden)}")

    with serving(script) as server:
        connection = Connection(url.format(server.url.split("/")[2]))
        grader = build(GraderSpec("openai_compatible", "m", RATE), connection)
        [failure] = grader.grade(pairs())
        device = grader.device
        grader.close()
    assert isinstance(failure, GradeFailure)
    for secret in hidden:
        assert secret not in f"{failure!r} {connection!r} {device} {connection.host}"
        assert any(secret in each for each in Address.of(url).credentials)
