"""Standard output and standard error in every state: closed, full, or a pipe that nobody reads any more."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from catchment.errors import CatchmentError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class AnswerLost(CatchmentError):
    """The answer cannot be written: exit code 1, whatever else has succeeded."""

    code = "output-failed"


class _Answer(io.FileIO):
    """Standard output. A reader that leaves early (`catchment runs | head`) is not an error; any other failure is."""

    left = False
    """Whether its reader has left."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            self.left = True
            return memoryview(data).nbytes
        except OSError as error:
            raise AnswerLost(
                f"standard output cannot be written: {error.strerror}",
                hint="write it somewhere else; what was done stays done",
            ) from error


class _Story(io.FileIO):
    """Standard error. If it cannot be written, the command continues as usual."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data) or 0
        except OSError:
            return memoryview(data).nbytes


def prepare() -> None:
    """Make the standard streams of this process safe to use."""
    for number in (0, 1, 2):
        _fill_gap(number)
    sys.stdout = _text(_Answer(1, "wb", closefd=False), sys.stdout, line_buffering=os.isatty(1))
    sys.stderr = _text(_Story(2, "wb", closefd=False), sys.stderr, line_buffering=True)


def nobody_reads() -> bool:
    """Whether the reader of standard output has left."""
    return getattr(getattr(getattr(sys.stdout, "buffer", None), "raw", None), "left", False)


def discard_answer() -> None:
    """Discard what could not be written to standard output, so that the program does not try again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _fill_gap(number: int) -> None:
    """Open a stream that was closed; otherwise the next file that is opened would get its number."""
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one


def _text(raw: io.FileIO, before: TextIO | None, *, line_buffering: bool) -> TextIO:
    encoding = before.encoding if before else "utf-8"
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, errors="backslashreplace", newline="\n", line_buffering=line_buffering
    )
