"""Asks before changes that cannot be undone, and handles Ctrl-C: the first stops cleanly, the second at once."""

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
    """Raise unless the user agrees; without a terminal, there is nobody to ask."""
    require_somebody()
    if not agrees(question):
        raise refused()


def require_somebody() -> None:
    """Raise if there is no terminal to ask on."""
    if not sys.stdin.isatty():
        raise RequestError(
            "this needs confirmation, and there is no terminal to ask on",
            code="not-confirmed",
            hint="confirm it with --yes",
        )


def agrees(question: str) -> bool:
    """Ask a yes-or-no question."""
    return click.confirm(question, err=True)


def refused() -> RequestError:
    """The error to raise if the user does not agree."""
    return RequestError("nothing was changed", code="not-confirmed")


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """An event that SIGINT or SIGTERM sets; a SIGINT after that raises KeyboardInterrupt.

    A second SIGTERM insists on nothing: a machine that shuts down sends one to every process, and those that get it
    pass it on.
    """
    stop = threading.Event()

    def handle(number: int, _: FrameType | None) -> None:
        if not stop.is_set():
            stop.set()
            click.echo("stopping (press again to stop at once)", err=True)
        elif number == signal.SIGINT:
            raise KeyboardInterrupt

    earlier = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
