import pytest

from tests.worked import Worked, worked


@pytest.fixture
def made(collection) -> Worked:
    return worked(collection)
