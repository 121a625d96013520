"""Lines out of chunks."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.engine import pipes


@given(st.lists(st.binary().map(lambda line: line.replace(b"\n", b"")), max_size=5), st.integers(1, 7))
def test_lines_survive_any_chunking(lines: list[bytes], size: int) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"".join(line + b"\n" for line in lines))
    os.close(writing)
    with pytest.MonkeyPatch.context() as patch, os.fdopen(reading, "rb") as stream:
        patch.setattr(pipes, "CHUNK", size)
        assert list(pipes.lines(stream, patience=5)) == lines


def test_an_endless_line_is_nonsense(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "LONGEST_REPLY", 10)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream, os.fdopen(writing, "wb") as other:
        other.write(b"x" * 11)
        other.flush()
        with pytest.raises(pipes.InvalidMessage):
            next(pipes.lines(stream, patience=5))
