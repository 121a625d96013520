"""The mailbox between engines and the thread that waits for them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

import pytest

from catchment.run.mailbox import Mailbox

TIMEOUT = 0.1
LATE = 20.0
"""Seconds after which a thread that waits for ever is woken, so that the test fails and does not hang."""


@pytest.fixture
def slow_signal() -> Iterator[None]:
    """A signal on its way to this thread, whose handler takes longer than anybody waits for a message."""

    def handle(_: int, __: FrameType | None) -> None:
        time.sleep(3 * TIMEOUT)

    earlier = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT / 2)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, earlier)


def test_messages_come_in_their_order() -> None:
    mailbox: Mailbox[int] = Mailbox()
    mailbox.put(1)
    mailbox.put(2)
    assert [mailbox.get(0), mailbox.get(-1), mailbox.get(0)] == [1, 2, None]


@pytest.mark.usefixtures("slow_signal")
def test_a_signal_whose_handler_is_slow_does_not_make_anybody_wait_for_ever() -> None:
    mailbox: Mailbox[str] = Mailbox()
    waking = threading.Timer(LATE, lambda: mailbox.put("woken"))
    waking.start()
    try:
        assert mailbox.get(TIMEOUT) is None
    finally:
        waking.cancel()
