"""Messages of engines on their way to a thread that signals may interrupt."""

from __future__ import annotations

from queue import Empty, Queue
from typing import Generic, TypeVar

Message = TypeVar("Message")


class Mailbox(Generic[Message]):
    """Takes messages from any thread and gives them to one that waits for them."""

    def __init__(self) -> None:
        # Not a SimpleQueue: if the handler of a signal outlasts the time-out of its `get`, that waits for ever.
        self._messages: Queue[Message] = Queue()

    def put(self, message: Message) -> None:
        """Add a message; never blocks. Handlers of signals must not call this."""
        self._messages.put(message)

    def get(self, timeout: float) -> Message | None:
        """The next message; None if there is none within so many seconds."""
        try:
            return self._messages.get(timeout=max(timeout, 0.0))
        except Empty:
            return None
