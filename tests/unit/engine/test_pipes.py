"""Lines out of chunks."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.engine import pipes
from catchment.project.secrets import Redactor


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


def copied(text: bytes, path: Path) -> pipes.LogPump:
    """Copy a text that is too long for a pipe to a log."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        pump = pipes.LogPump(stream, pipes.LogFile(path), Redactor(()))
        with os.fdopen(writing, "wb") as other:
            other.write(text)  # stands still if nobody reads
        pump.finish(10)
    return pump


@pytest.mark.parametrize("name", ["/dev/full", "no/such/directory/engine.log"])
def test_a_log_that_cannot_be_written_is_read_to_its_end(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert copied(b"working\n" * 50_000 + b"the end\n", Path(name)).last_line == "the end"
    assert len(caplog.records) == 1


def test_a_log_goes_on_when_there_is_space_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = pipes.LogFile(tmp_path / "later" / "engine.log")
    log.write("first\n")
    log.write("second\n")
    (tmp_path / "later").mkdir()
    log.write("third\n")
    log.close()
    missing, third = (tmp_path / "later" / "engine.log").read_text().splitlines()
    assert (missing, third) == ("[2 lines are missing here: the log could not be written]", "third")
    assert len(caplog.records) == 1


def test_a_log_of_limited_size_keeps_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    log = pipes.LogFile(path, limit=20)
    for number in range(1, 8):
        log.write(f"line {number}\n")
    log.close()
    assert path.read_text() == "line 7\n"
    assert pipes.older_log(path).read_text() == "line 4\nline 5\nline 6\n"
    assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o600}


def test_a_log_that_was_closed_goes_on(tmp_path: Path) -> None:
    log = pipes.LogFile(tmp_path / "service.log")
    for line in ("first\n", "second\n"):
        log.write(line)
        log.close()
    assert log.path.read_text() == "first\nsecond\n"


def test_a_log_that_another_thread_closes_misses_no_line(tmp_path: Path) -> None:
    log, over, lines = pipes.LogFile(tmp_path / "service.log"), threading.Event(), [f"{n}\n" for n in range(5000)]

    def close() -> None:
        while not over.is_set():
            log.close()

    with ThreadPoolExecutor(1) as thread:
        closing = thread.submit(close)
        try:
            for line in lines:
                log.write(line)
        finally:
            over.set()
        closing.result()
    log.close()
    assert log.path.read_text() == "".join(lines)
