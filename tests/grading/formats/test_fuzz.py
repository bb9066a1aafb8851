"""Damaged files of every format are refused with file and line; nothing else is raised."""

import random
from contextlib import suppress
from itertools import islice

import pytest

from grading.errors import BadFormat
from grading.formats import registry
from tests.grading.formats.mutations import damaged, mutations
from tests.grading.formats.samples import READ

MUTATIONS = mutations(150)


@pytest.mark.parametrize(("path", "name"), READ, ids=lambda value: getattr(value, "name", value))
def test_damaged_files_are_refused_with_their_place(path, name, tmp_path):
    one, chance = registry.find(name), random.Random(f"{path.name} {name}")
    file, refusals = tmp_path / "damaged", []
    for content in islice(damaged(path, chance), MUTATIONS):
        file.write_bytes(content)
        with suppress(BadFormat):
            registry.candidates(file)
        try:
            rows = list(one.read(file))
        except BadFormat as error:
            refusals.append(error)
        else:
            with suppress(BadFormat):
                one.write and one.write(tmp_path / "written", rows)
    assert refusals
    assert {error.file for error in refusals} == {"damaged"}
    assert [error for error in refusals if error.line is None or not error.problem] == []
