"""Arrays come back as they were packed, or not at all."""

import numpy as np
import pytest

from rubricweb.core.packed import Damaged, of_texts, pack, texts, unpack

ARRAYS = {
    "ratings": np.arange(-1, 5, dtype=np.int8).reshape(2, 3),
    "none": np.zeros((0, 4), dtype=np.float64),
    "scores": np.array([0.1, np.nan]),
    "ids": of_texts(["d1", "größer"]),
}


def test_arrays_come_back_with_their_shapes_and_types():
    back = unpack("a key", memoryview(pack("a key", ARRAYS)))

    assert list(back) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)
    assert texts(back["ids"]) == ("d1", "größer")


def test_what_repeats_itself_is_kept_small_and_what_does_not_as_it_is():
    same = np.zeros(10_000, dtype=np.int8)
    random = np.random.default_rng(1).random(1_000)

    assert len(pack("key", {"same": same})) < 200
    assert len(pack("key", {"random": random})) >= random.nbytes
    np.testing.assert_array_equal(unpack("key", pack("key", {"same": same}))["same"], same)


@pytest.mark.parametrize("place", [0, 16, -1])
def test_a_byte_that_changed_is_noticed(place):
    content = bytearray(pack("key", ARRAYS))
    content[place] ^= 1

    with pytest.raises(Damaged):
        unpack("key", bytes(content))


def test_what_is_cut_off_empty_or_of_something_else_is_refused():
    content = pack("topic 1", ARRAYS)
    for key, part in (("topic 2", content), ("topic 1", content[:-1]), ("topic 1", b"")):
        with pytest.raises(Damaged):
            unpack(key, part)
