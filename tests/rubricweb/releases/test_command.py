"""The command `release`."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from rubricweb.releases.parts import made_up_names
from tests.rubricweb.releases.conftest import unzipped


def test_it_writes_a_zip_and_says_what_is_open(made, tmp_path, capsys):
    out = tmp_path / "autumn.zip"
    call_command("release", "autumn", out=out, license="CC0")

    readme = unzipped(out)["README.md"].decode()
    assert "CC0" in readme
    assert "1 pair with a failed grade by lexical" in readme
    said = capsys.readouterr()
    assert "Rubric: 1 topic without items" in said.err
    assert "files, " in said.out
    assert list(tmp_path.iterdir()) == [out]


def test_the_mapping_of_made_up_names_is_kept_beside_it(made, tmp_path, capsys):
    out, kept = tmp_path / "autumn.zip", tmp_path / "names.tsv"
    call_command("release", "autumn", out=out, anonymous=kept)

    assert f"run\tboth\t{made_up_names(made.collection).run('both')}" in kept.read_text().splitlines()
    assert b"both" not in unzipped(out)["manifest.json"]


@pytest.mark.parametrize(
    ("slug", "out", "problem"),
    [("spring", "autumn.zip", "no collection spring"), ("autumn", "away/autumn.zip", "cannot write")],
)
def test_what_cannot_be_written_is_said(made, tmp_path, slug, out, problem):
    with pytest.raises(CommandError, match=problem):
        call_command("release", slug, out=tmp_path / out)
    assert list(tmp_path.iterdir()) == []
