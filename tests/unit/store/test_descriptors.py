"""Descriptors in the ledger: what comes out is what went in."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest

from catchment.store.descriptors import Lines, lines_of, packed, unpacked

FILES: tuple[dict[str, Any], ...] = ({"path": "a\nb", "rows": 1}, {"path": "größe", "bounds": {"1": "00"}})


@pytest.mark.parametrize("files", [(), FILES[:1], FILES])
def test_what_is_packed_is_unpacked(files: tuple[dict[str, Any], ...]) -> None:
    found = unpacked(packed(files))
    assert (list(found), len(found)) == (list(files), len(files))
    assert packed(found) == packed(files)


def test_lines_are_handed_on_without_a_look_at_them() -> None:
    assert lines_of(Lines(("no JSON",))) == ("no JSON",)


def test_what_an_earlier_version_has_sealed_is_read() -> None:
    text = base64.b64encode(zlib.compress(json.dumps(FILES).encode())).decode()
    assert unpacked(text) == FILES
