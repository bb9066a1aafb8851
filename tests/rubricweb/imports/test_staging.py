"""Zips that nobody should trust."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile
from pathlib import Path

import pytest

from grading.errors import BadFormat
from rubricweb.imports import staging
from tests.rubricweb.imports.conftest import zipped


@pytest.fixture
def packed(tmp_path):
    def write(content: bytes) -> Path:
        path = tmp_path / "all.zip"
        path.write_bytes(content)
        return path

    return write


def refused(path: Path) -> str:
    with pytest.raises(BadFormat) as error:
        staging.zip_entries(path, name="all.zip")
    return str(error.value)


def test_folders_and_what_macos_and_windows_add_are_no_files(packed):
    added = ("__MACOSX/runs/._a.run", ".DS_Store", "runs/.DS_Store", "runs/Thumbs.db", "Desktop.ini")
    path = packed(zipped({"runs/": "", "runs/a.run": "x"} | dict.fromkeys(added, "x")))
    assert staging.zip_entries(path, name="all.zip") == ["runs/a.run"]
    assert b"".join(staging.zip_chunks(path, "runs/a.run", name="all.zip")) == b"x"


@pytest.mark.parametrize("name", ["../a.run", "/etc/passwd", "a/../../b", "C:/a.run", "..\\a.run"])
def test_no_place_outside(packed, name):
    assert "names a place outside of the zip" in refused(packed(zipped({"good.run": "x", name: "x"})))


@pytest.mark.parametrize("other", ["runs/a.run", "runs\\a.run"])
def test_two_files_of_one_name_are_refused(packed, other):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive, warnings.catch_warnings(action="ignore"):
        archive.writestr("runs/a.run", "one")
        archive.writestr("runs/b.run", "two")
        archive.writestr(other, "three")
    expected = f"all.zip: {other}: is in the zip twice, here and as runs/a.run, expected each name once"
    assert refused(packed(content.getvalue())) == expected


def test_no_symbolic_link(packed):
    link = zipfile.ZipInfo("a.run")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    assert refused(packed(content.getvalue())) == "all.zip: a.run: is a symbolic link, expected a file"


def test_no_password(packed):
    """The flag of both headers of the entry."""
    content = bytearray(zipped({"a.run": "x"}))
    for header, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.index(header) + offset
        content[place : place + 2] = struct.pack("<H", 1)
    assert "is encrypted" in refused(packed(bytes(content)))


def test_not_too_many_files(packed):
    many = packed(zipped({f"{n}.run": "x" for n in range(10_000)}))
    assert refused(many) == "all.zip: the zip has 10,000 files, expected at most 1,000"


def test_no_bomb(packed, monkeypatch):
    assert "times its size, expected at most 300" in refused(packed(zipped({"a.run": bytes(11_000_000)})))
    monkeypatch.setattr(staging, "MAX_UNPACKED_BYTES", 100)
    assert "unpacks to 120 bytes, expected at most 100" in refused(
        packed(zipped({"a": "x" * 60, "b": "y" * 60}))
    )


def test_no_zip_in_a_zip_and_none_without_files(packed):
    assert "is a zip within the zip" in refused(packed(zipped({"inner.zip": zipped({"a": "x"})})))
    assert "has no files" in refused(packed(zipped({"runs/": ""})))


def test_a_damaged_zip_says_so(packed):
    whole = zipped({"a.run": "t1 Q0 d1 1 1.0 bm25\n" * 100})
    assert "the zip is damaged" in refused(packed(whole[:-30]))
    place = whole.index(b"a.run") + 20
    path = packed(whole[:place] + b"\xff\xff\xff" + whole[place + 3 :])
    with pytest.raises(BadFormat, match=r"all\.zip: a\.run: cannot be unpacked"):
        list(staging.zip_chunks(path, "a.run", name="all.zip"))


def test_a_file_that_is_longer_than_the_zip_says_is_refused(packed):
    """The size in the directory is a lie: reading stops there, and the checksum does not match."""
    content = bytearray(zipped({"a.run": "x" * 1_000}))
    place = content.index(b"PK\x01\x02") + 24
    content[place : place + 4] = struct.pack("<I", 10)
    with pytest.raises(BadFormat, match=r"all\.zip: a\.run"):
        list(staging.zip_chunks(packed(bytes(content)), "a.run", name="all.zip"))


@pytest.mark.django_db
def test_a_listing_that_is_only_written_is_refused_in_one_sentence(upload):
    formats = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
    listing = (formats / "bad_question.txt").read_bytes()
    (file,) = upload({"track.zip": zipped({"bad_question.txt": listing})}).files.all()
    assert file.problem.endswith("which is not imported; expected a format of Read as")
