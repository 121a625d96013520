"""The replies of one engine, sorted by the questions that they answer, which several threads may ask at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Lock

from catchment.engine.protocol import Reply
from catchment.errors import EngineLost

Replies = SimpleQueue[Reply | EngineLost]


class ReplyQueues:
    """A queue for each question that waits. An answer that nobody waits for any more is dropped."""

    def __init__(self) -> None:
        self._waiting: dict[str | None, Replies] = {}
        self._unheard: list[Reply | EngineLost] = []
        """What the engine said of itself while no question was waiting; the next one hears it."""
        self._lock = Lock()

    @contextmanager
    def replies_to(self, question: str | None) -> Iterator[Replies]:
        """Where the replies to a question will be; without its id, what the engine says of itself."""
        replies = Replies()
        with self._lock:
            self._waiting[question] = replies
            for reply in self._unheard:
                replies.put(reply)
            self._unheard = [reply for reply in self._unheard if isinstance(reply, EngineLost)]
        try:
            yield replies
        finally:
            with self._lock:
                del self._waiting[question]
                self._unheard += [reply for reply in _unread(replies) if getattr(reply, "attempt", None) is None]

    def deliver(self, reply: Reply | EngineLost) -> None:
        """Sort a reply; an engine that is lost answers every question with that."""
        with self._lock:
            if isinstance(reply, EngineLost):
                self._unheard.append(reply)
                hearers = list(self._waiting.values())
            elif (question := getattr(reply, "attempt", None)) is not None:
                hearers = [self._waiting[question]] if question in self._waiting else []
            else:
                hearers = list(self._waiting.values())[:1]
                self._unheard += [] if hearers else [reply]
            for replies in hearers:
                replies.put(reply)


def _unread(replies: Replies) -> Iterator[Reply]:
    """What nobody has read of the replies; that an engine is lost is known anyway."""
    while not replies.empty():
        reply = replies.get_nowait()
        if not isinstance(reply, EngineLost):
            yield reply
