"""How many partitions the sizes of a shuffle speak for."""

from __future__ import annotations

import random

import pytest

from catchment.formats.iceberg.fanout import MOST_OPEN_FILES, estimated


@pytest.mark.parametrize(("filled", "of", "keys"), [(0, 200, 0), (1, 200, 1), (12, 200, 12), (55, 200, 64)])
def test_few_keys_are_counted(filled: int, of: int, keys: int) -> None:
    assert round(estimated(filled, of)) == keys


@pytest.mark.parametrize(("filled", "of"), [(2, 2), (1, 1), (101, 200), (200, 200)])
def test_a_shuffle_that_is_well_filled_tells_nothing(filled: int, of: int) -> None:
    assert estimated(filled, of) == float("inf")


@pytest.mark.parametrize("of", [8, 50, 200, 1000])
def test_many_keys_are_never_taken_for_few(of: int) -> None:
    """Twice as many as may be open are taken for too many, whatever the hash does with them."""
    chance = random.Random(1)
    for _ in range(200):
        filled = len({chance.randrange(of) for _ in range(2 * MOST_OPEN_FILES)})
        assert estimated(filled, of) > MOST_OPEN_FILES
