"""Asking before something cannot be undone, and Ctrl-C: first a stop in good order, then at once."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

from catchment.errors import RequestError


def require(question: str) -> None:
    """Go on only if a person agrees; where nobody can be asked, nobody has agreed."""
    require_somebody()
    if not agrees(question):
        raise refused()


def require_somebody() -> None:
    """Go on only if there is somebody who can be asked."""
    if not sys.stdin.isatty():
        raise RequestError("nobody can be asked whether to do this", code="not-confirmed", hint="agree with --yes")


def agrees(question: str) -> bool:
    """Ask a person."""
    return click.confirm(question, err=True)


def refused() -> RequestError:
    """The error where a person did not agree."""
    return RequestError("nothing was changed", code="not-confirmed")


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """An event that SIGINT or SIGTERM sets; the second signal raises KeyboardInterrupt."""
    stop = threading.Event()

    def handle(_: int, __: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        click.echo("stopping (once more to stop at once)", err=True)

    earlier = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
