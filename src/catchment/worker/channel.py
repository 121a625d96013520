"""The worker's side of the protocol: reads commands and sends replies, through pipes or a socket."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import IO

from catchment.engine.protocol import Command, Facts, Failed, Note, Reply
from catchment.engine.wire import command, encode
from catchment.project.secrets import Redactor

SEND_SECONDS = 60
"""A client that takes nothing for so long is given up, so that others do not have to wait."""


class Channel:
    """Reads commands from one stream and sends replies to another."""

    def __init__(self, commands_from: IO[bytes], replies_to: int) -> None:
        self._commands = commands_from
        self._replies = replies_to
        self._sending = threading.Lock()
        self._redactor = Redactor(())
        self._broken = False

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
            yield command(line)

    def send(self, reply: Reply) -> None:
        """Send one reply, whole."""
        data = encode(self._redacted(reply))
        with self._sending:
            try:
                while data and not self._broken:
                    data = data[os.write(self._replies, data) :]
            except OSError:
                # Whoever reads commands finds their end and deals with it. A message that is half sent ends a
                # conversation: nothing may follow it.
                self._broken = True
                self._hang_up()

    def _hang_up(self) -> None:
        """Nothing to do for pipes: if the launcher is gone, both are closed."""

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


class SocketChannel(Channel):
    """The same through a socket."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
        super().__init__(connection.makefile("rb"), connection.fileno())
        self._connection = connection

    def close(self) -> None:
        """End the conversation; what the other side has not read yet is still delivered."""
        with self._sending:
            self._broken = True
            self._commands.close()
            self._connection.close()

    def _hang_up(self) -> None:
        self._connection.shutdown(socket.SHUT_RDWR)
