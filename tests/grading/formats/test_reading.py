"""Bytes to lines: what is accepted, and the place and the words of what is not."""

import bz2
import gzip
import io
import lzma
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from grading.errors import BadFormat
from grading.formats import reading, registry, trec
from grading.formats.official import read_official
from grading.formats.reading import encoded_lines, lines, write_lines
from grading.formats.topics import read_topics
from grading.formats.trec import read_run

BROKEN = Path(__file__).resolve().parents[3] / "fixtures" / "formats" / "broken"


def write(path, content):
    path.write_bytes(content)
    return path


def test_gzip_is_known_by_its_bytes(tmp_path):
    zipped = write(tmp_path / "plain.txt", gzip.compress(b"one\r\ntwo"))
    plain = write(tmp_path / "zipped.gz", b"\xef\xbb\xbfone\n\ntwo\n")
    assert list(lines(zipped)) == [(1, "one"), (2, "two")]
    assert list(lines(plain)) == [(1, "one"), (2, ""), (3, "two")]


def test_two_gzip_members_are_one_file(tmp_path):
    path = write(tmp_path / "two.gz", gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert [text for _, text in lines(path)] == ["one", "two"]


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("truncated.tsv.gz", "truncated, expected its end marker"),
        ("damaged.tsv.gz", "damaged"),
        ("latin1.tsv", r"byte 7 of the line is not UTF-8 \(in .*é.*\): save the file as UTF-8, expected"),
        ("empty.jsonl", "empty, expected at least one line"),
        ("blank.jsonl", "empty, expected at least one line"),
        ("missing.jsonl", "cannot be opened, expected a readable file"),
    ],
)
def test_bad_bytes_are_named(name, phrase):
    with pytest.raises(BadFormat, match=phrase) as caught:
        list(lines(BROKEN / name))
    assert caught.value.file == name


TEXT = "q1\tOne café\nq2\tTwo\n"


def _zipped() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("queries.tsv", TEXT)
    return content.getvalue()


def _archived() -> bytes:
    content, entry = io.BytesIO(), tarfile.TarInfo("queries.tsv")
    entry.size = len(TEXT.encode())
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(entry, io.BytesIO(TEXT.encode()))
    return content.getvalue()


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        (bz2.compress(TEXT.encode()), "packed with bzip2: unpack it first"),
        (lzma.compress(TEXT.encode()), "packed with xz: unpack it first"),
        (_zipped(), "a zip archive, or of an office program: unpack it first"),
        (_archived(), "a tar archive: unpack it first"),
        (
            gzip.compress(gzip.compress(TEXT.encode(), mtime=0), mtime=0),
            "packed with gzip twice: unpack it first",
        ),
        (TEXT.encode("utf-16"), "in UTF-16, as PowerShell writes it: save the file as UTF-8"),
        (TEXT.encode("utf-16-le"), "in UTF-16, as PowerShell writes it: save the file as UTF-8"),
        (TEXT.encode("utf-16-be"), "in UTF-16, as PowerShell writes it: save the file as UTF-8"),
        (TEXT.replace("\n", "\r").encode(), "in a carriage return alone: save the file with line feeds"),
    ],
)
def test_a_file_that_is_no_text_is_named_for_what_it_is(content, phrase, pack, tmp_path):
    for read in (lines, encoded_lines, registry.recognise):
        with pytest.raises(BadFormat, match=phrase) as caught:
            list(read(write(tmp_path / "queries.tsv", pack(content))))
        assert (caught.value.file, caught.value.line) == ("queries.tsv", 1)


def test_a_carriage_return_within_a_line_is_text(tmp_path):
    path = write(tmp_path / "one.tsv", b"q1\ta\rb\r\nq2\tc\r\n")
    assert list(lines(path)) == [(1, "q1\ta\rb"), (2, "q2\tc")]


def test_not_utf8_names_its_line():
    with pytest.raises(BadFormat) as caught:
        list(lines(BROKEN / "latin1.tsv"))
    assert caught.value.line == 2


def test_a_long_line_is_checked_in_portions(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_DECODED_AT_ONCE", 4)
    text = "abc\N{SNOWMAN}def\N{GRINNING FACE}"
    whole = write(tmp_path / "whole.txt", text.encode())
    assert list(lines(whole)) == [(1, text)]
    assert list(encoded_lines(whole)) == [(1, text.encode())]
    for damaged, place in ((text.encode()[:-1], 10), (b"abcdef\xffgh", 7)):
        with pytest.raises(BadFormat, match=f"byte {place} of the line is not UTF-8"):
            list(encoded_lines(write(tmp_path / "damaged.txt", damaged)))


@pytest.mark.parametrize("read", [lines, encoded_lines])
@pytest.mark.parametrize("portion", [2, 65_536])
def test_a_file_of_blanks_is_empty(tmp_path, monkeypatch, read, portion):
    monkeypatch.setattr(reading, "_DECODED_AT_ONCE", portion)
    blank = "\ufeff \N{NO-BREAK SPACE}\n\N{EM SPACE}\t\n"
    with pytest.raises(BadFormat, match="empty, expected at least one line"):
        list(read(write(tmp_path / "blank.txt", blank.encode())))


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b""])
def test_a_line_may_be_as_long_as_the_limit(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 10)
    assert list(lines(write(tmp_path / "a", b"x" * 10 + ending))) == [(1, "x" * 10)]
    with pytest.raises(BadFormat, match="too long, expected at most 10 bytes") as caught:
        list(lines(write(tmp_path / "b", b"short\n" + b"x" * 11 + ending)))
    assert caught.value.line == 2


def test_a_long_line_is_not_read_whole(tmp_path, monkeypatch):
    """A small gzip that unpacks to 50 MB without a line break stops at the limit."""
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 1_000_000)
    bomb = write(tmp_path / "bomb.gz", gzip.compress(b"x" * 50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(BadFormat, match="too long"):
            list(lines(bomb))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def test_written_gzip_is_the_same_every_time(tmp_path):
    for name in ("a.gz", "b.gz"):
        write_lines(tmp_path / name, [b"one", b"two"])
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"one\ntwo\n"


def test_a_file_is_as_long_as_its_limit_after_decompression(tmp_path):
    path = write(tmp_path / "bomb.gz", gzip.compress(b"line\n" * 4))
    assert len(list(lines(path, max_bytes=20))) == 4
    with pytest.raises(BadFormat, match=r"too long, expected at most 18 bytes, decompressed") as caught:
        list(lines(path, max_bytes=18))
    assert caught.value.line == 4


@pytest.mark.parametrize("read", [read_topics, read_official, lambda path: list(read_run(path))])
@pytest.mark.parametrize("row", [b"\n", b"x"])
def test_a_small_gzip_of_a_huge_text_is_refused_before_it_is_held(tmp_path, monkeypatch, read, row):
    monkeypatch.setattr(reading, "MAX_TEXT_BYTES", 20_000)
    monkeypatch.setattr(trec, "MAX_HELD_BYTES", 20_000)
    path = write(tmp_path / "bomb.gz", gzip.compress(row * 20_000_000, compresslevel=1))
    tracemalloc.start()
    try:
        with pytest.raises(BadFormat, match="too long, expected at most 20,000 bytes"):
            read(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000
