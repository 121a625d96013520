from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from catchment.formats.paimon.health import KEYED_TARGET, TARGET_DEFAULT, target_size, values_of


@pytest.mark.parametrize(
    ("given", "keys", "size"),
    [
        ("64 mb", (), 64 * 1024**2),
        ("1kb", (), 1024),
        ("1000", (), 1000),
        ("", (), TARGET_DEFAULT),
        ("", ("id",), KEYED_TARGET),
        ("much", (), TARGET_DEFAULT),
    ],
)
def test_the_size_that_a_table_aims_at(given: str, keys: tuple[str, ...], size: int) -> None:
    options = {"target-file-size": given} if given else {}
    assert target_size(cast("Any", SimpleNamespace(options=options, keys=keys))) == size


def test_partitions_are_in_the_names_of_directories() -> None:
    assert values_of("day=2026-03-01/what=a%2Fb/none=-", "-") == {"day": "2026-03-01", "what": "a/b", "none": None}
    assert values_of("", "-") == {}
