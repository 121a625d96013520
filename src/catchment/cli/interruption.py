"""Ctrl-C: the first asks a run to stop in good order, the second ends it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click


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
