"""The worker's side of the protocol: reads commands and sends replies."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import IO

from catchment.engine.protocol import Command, Facts, Failed, Note, Reply, commands, encode
from catchment.project.secrets import Redactor


class Channel:
    """Reads commands from standard input and sends replies to the original standard output."""

    def __init__(self, commands_from: IO[bytes], replies_to: int) -> None:
        self._commands = commands_from
        self._replies = replies_to
        self._sending = threading.Lock()
        self._redactor = Redactor(())

    @classmethod
    def take_over(cls, stdin: IO[bytes]) -> Channel:
        """Reserve standard output for replies: everything else that is printed from now on goes to the log."""
        replies = os.dup(1)
        os.dup2(2, 1)
        return cls(stdin, replies)

    def redact(self, secrets: tuple[str, ...]) -> None:
        """Redact these texts in everything sent from now on, except in query results."""
        self._redactor = Redactor(secrets)

    def commands(self) -> Iterator[Command]:
        """Yield commands until the launcher closes its end."""
        for line in self._commands:
            yield commands.validate_json(line)

    def send(self, reply: Reply) -> None:
        """Send one reply, whole."""
        data = encode(self._redacted(reply))
        # If the launcher is gone, standard input is closed too, and whoever reads commands deals with that.
        with self._sending, contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._replies, data) :]

    def _redacted(self, reply: Reply) -> Reply:
        redact = self._redactor
        match reply:
            case Note() | Facts():
                return replace(reply, data=redact.data(reply.data))
            case Failed():
                message, hint, detail = redact.data((reply.message, reply.hint, reply.detail))
                return replace(reply, message=message, hint=hint, detail=detail)
            case _:
                return reply
