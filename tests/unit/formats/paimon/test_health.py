from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from catchment.formats.paimon.health import KEYED_TARGET, TARGET_DEFAULT, target_size


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
