"""How much of a matrix runs when: every point is tried by `make test-all`, some of them by `make test-slow`."""

from __future__ import annotations

from typing import Any

import pytest

EXHAUSTIVE = (pytest.mark.slow, pytest.mark.exhaustive)
"""The marks of a point that lies between others, which are tried more often."""


def exhaustive(*values: Any) -> list[Any]:
    """Points of a matrix that only `make test-all` tries; a tuple has the values of several parameters."""
    return [pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=EXHAUSTIVE) for each in values]
