"""A resident engine as one of its clients sees it: the same conversation as with a new one, through a socket."""

from __future__ import annotations

import os
import queue
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from catchment.engine import wire
from catchment.engine.launcher import SILENCE_SECONDS, Inbox
from catchment.engine.pipes import InvalidMessage, Silence, lines
from catchment.engine.protocol import Alive, AskStatus, Attach, Command, Facts, Failed, Ready, Reply, Stop
from catchment.engine.residence import OTHER_SURROUNDINGS, OTHER_VERSION
from catchment.errors import EngineLost, EngineOutOfMemory
from catchment.handover import within
from catchment.plan.model import EnginePlan

CONNECT_SECONDS = 10.0
EXIT_SECONDS = 5.0


class NotThere(Exception):
    """Nobody answers at the socket."""


class Differs(Exception):
    """The engine is another one than the client needs; the text says why."""

    def __init__(self, why: str, *, is_outdated: bool = True) -> None:
        super().__init__(why)
        self.is_outdated = is_outdated
        """Whether the project file defines another engine now; otherwise the client is in other surroundings."""


@dataclass(frozen=True)
class Door:
    """Where a resident engine is reached."""

    socket: str
    token: str
    log: Path


@dataclass(frozen=True)
class Conversation:
    """A connection on which a first command was answered."""

    connection: socket.socket
    answer: Reply | None
    """None if it is not understood."""
    replies: Iterator[bytes]
    """What comes after it."""


class AttachedEngine:
    """One client's conversation with a resident engine. Replies are delivered to the inbox from a thread of its own."""

    is_chosen_late = True

    def __init__(self, engine: EnginePlan, begun: Conversation, ready: Ready, log: Path, inbox: Inbox) -> None:
        self.engine = engine
        self._connection = begun.connection
        self._replies = begun.replies
        self._log = log
        self._inbox = inbox
        self._outbox: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._asked_to_end = threading.Event()
        self._ended = threading.Event()
        self._deliver(ready)
        self._reading = threading.Thread(target=self._read, name=f"engine {engine.key}", daemon=True)
        self._reading.start()
        threading.Thread(target=self._write, name=f"to engine {engine.key}", daemon=True).start()

    @classmethod
    def attach(cls, attach: Attach, door: Door, inbox: Inbox) -> AttachedEngine:
        """Begin a conversation; raises `Differs` if it is another engine, `NotThere` if it is none."""
        begun = _begin(attach, door)
        if isinstance(begun.answer, Ready):
            return cls(attach.engine, begun, begun.answer, door.log, inbox)
        begun.connection.close()
        raise _difference(begun.answer)

    def send(self, command: Command) -> None:
        """Queue a command; never blocks. Commands to an engine that has ended are dropped."""
        self._outbox.put(command)

    def stop(self, grace: float) -> None:
        """End the conversation; the engine goes on, and cancels what this client has not finished."""
        self._asked_to_end.set()
        self.send(Stop())
        if not self._ended.wait(grace):
            self.kill()

    def kill(self) -> None:
        """The same, without another word."""
        self._asked_to_end.set()
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        if threading.current_thread() is not self._reading:  # the inbox itself may call this
            self._ended.wait(EXIT_SECONDS)

    def _read(self) -> None:
        lost: EngineLost | None = None
        try:
            for line in self._replies:
                reply = _decoded(line)
                if isinstance(reply, Failed) and reply.attempt is None:
                    lost = _lost(reply)
                elif not isinstance(reply, Alive):
                    self._deliver(reply)
            fault = "has ended"
        except Silence:
            fault = f"did not respond for {SILENCE_SECONDS:.0f} seconds"
        except InvalidMessage as error:
            fault = f"sent an invalid message: {error}"
        except OSError as error:
            fault = f"has ended ({error.strerror})"
        self._outbox.put(None)
        self._connection.close()
        self._ended.set()
        if not self._asked_to_end.is_set():
            hint = f"read {self._log}; the next command starts another one"
            unexplained = EngineLost(f"the resident engine {self.engine.key} {fault}", hint=hint)
            self._inbox(self.engine.key, lost or unexplained)

    def _write(self) -> None:
        # A broken connection is ignored here: the reading side notices it and reports it.
        with suppress(OSError):
            while (command := self._outbox.get()) is not None:
                self._connection.sendall(wire.encode(command))

    def _deliver(self, reply: Reply) -> None:
        self._inbox(self.engine.key, reply)


def _difference(answer: Reply | None) -> Differs:
    if not isinstance(answer, Failed):
        return Differs(OTHER_VERSION)
    return Differs(answer.message, is_outdated=answer.code != OTHER_SURROUNDINGS)


def status(door: Door, *, stay: bool = False) -> Mapping[str, Any]:
    """How a resident engine is; raises `NotThere` if it does not answer."""
    begun = _begin(AskStatus(door.token, stay), door)
    begun.connection.close()
    if not isinstance(begun.answer, Facts):
        raise NotThere(OTHER_VERSION)
    return begun.answer.data


def _begin(command: Attach | AskStatus, door: Door) -> Conversation:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with within(door.socket) as name:
            connection.settimeout(CONNECT_SECONDS)
            connection.connect(name)
        _require_same_user(connection)
        connection.settimeout(None)
        connection.sendall(wire.encode(command))
        replies = lines(connection, SILENCE_SECONDS)
        return Conversation(connection, _first(replies), replies)
    except (OSError, Silence) as error:
        connection.close()
        raise NotThere(str(error) or "it does not answer") from error


def _require_same_user(connection: socket.socket) -> None:
    """Whoever listens is told secrets, so it must be this user's process."""
    if hasattr(socket, "SO_PEERCRED"):
        _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if user != os.geteuid():
            raise PermissionError("the engine belongs to another user")


def _first(replies: Iterator[bytes]) -> Reply | None:
    for line in replies:
        try:
            reply = _decoded(line)
        except InvalidMessage:
            return None
        if not isinstance(reply, Alive):
            return reply
    raise Silence


def _lost(last: Failed) -> EngineLost:
    """The error of an engine whose last words were these."""
    kind = EngineOutOfMemory if last.code == EngineOutOfMemory.code else EngineLost
    return kind(last.message, hint=last.hint)


def _decoded(line: bytes) -> Reply:
    try:
        return wire.reply(line)
    except ValidationError as error:
        raise InvalidMessage(repr(line[:200].decode("utf-8", errors="replace"))) from error
