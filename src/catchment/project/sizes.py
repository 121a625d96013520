"""Sizes as people write them: 512, 16MB, 1.5 GB. A kilobyte has 1024 bytes."""

from __future__ import annotations

import re

_UNITS = {"": 1, "b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3, "tb": 1024**4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?b)?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """The number of bytes; raises ValueError if the text is not a size."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    return int(float(found[1]) * _UNITS[(found[2] or "").lower()])
