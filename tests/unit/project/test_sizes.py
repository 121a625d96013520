from __future__ import annotations

import re

import pytest

from catchment.project.sizes import parse_size


@pytest.mark.parametrize(
    ("text", "size"), [("512", 512), ("16MB", 16 * 1024**2), (" 1.5 gb ", 1_610_612_736), ("0", 0)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["?", "MB", "-1", "5 apples", "1e3"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        parse_size(text)
