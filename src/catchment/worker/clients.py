"""Those whose commands a worker runs: its launcher, and the clients of a resident engine, who come through a socket."""

from __future__ import annotations

import hmac
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from catchment.engine.protocol import (
    HEARTBEAT_SECONDS,
    Alive,
    AskStatus,
    Attach,
    Facts,
    Residence,
    Start,
    failure,
)
from catchment.engine.residence import OTHER_SURROUNDINGS, OTHER_VERSION, OUTDATED, other_surroundings, outdated
from catchment.errors import RequestError
from catchment.handover import within
from catchment.worker.channel import Channel, SocketChannel

BACKLOG = 64
ACCEPT_SECONDS = 0.5
"""The pause after a connection that could not be accepted."""


@dataclass(frozen=True)
class Client:
    """Somebody whose commands the worker runs, and who gets the answers."""

    number: int
    """0 for the launcher."""
    channel: Channel
    log_dir: str
    who: str = "its launcher"
    since: float = field(default_factory=time.time)


class Door:
    """The socket of a resident engine: lets in clients that know the token and need this very engine."""

    def __init__(
        self,
        start: Start,
        residence: Residence,
        serve: Callable[[Client], None],
        status: Callable[[tuple[Client, ...]], Mapping[str, Any]],
    ) -> None:
        self._start, self._residence = start, residence
        self._serve, self._status = serve, status
        self._numbers = itertools.count(1)
        self._clients: dict[int, Client] = {}
        self._lock = threading.Lock()
        self._idle_seconds = residence.idle_seconds
        self._empty_since = time.monotonic()
        self._closed = False
        self._refusal: str | None = None

    def open(self) -> None:
        """Let clients in from now on; each is served by a thread of its own."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with suppress(FileNotFoundError):  # of an engine that was killed here
            Path(self._residence.socket).unlink()
        with within(self._residence.socket) as name:
            listener.bind(name)
        listener.listen(BACKLOG)
        threading.Thread(target=self._accept, args=(listener,), name="door", daemon=True).start()

    @property
    def idle_seconds(self) -> float | None:
        """How long the engine may be without clients; None if it is to stay."""
        return self._idle_seconds

    def clients(self) -> tuple[Client, ...]:
        """Those who are in."""
        with self._lock:
            return tuple(self._clients.values())

    def close_if_idle(self) -> bool:
        """Let nobody in any more if nobody has been here for too long; returns whether that is so."""
        return self._idle_seconds is not None and self.close_if_empty(self._idle_seconds)

    def close_if_empty(self, seconds: float = 0.0) -> bool:
        """The same if nobody has been here for so long."""
        with self._lock:
            if not self._clients and time.monotonic() - self._empty_since >= seconds:
                self._closed = True
                with suppress(OSError):
                    Path(self._residence.socket).unlink()
        return self._closed

    def refuse(self, why: str) -> None:
        """Let nobody in any more, and tell them why; those who are in stay."""
        self._refusal = why

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # too many open files: those who are in may leave
                time.sleep(ACCEPT_SECONDS)
                continue
            threading.Thread(target=self._converse, args=(connection,), name="client", daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        channel = SocketChannel(connection)
        try:
            self._answer(channel)
        except (OSError, ValueError):
            pass  # it has hung up, or said what no client says
        finally:
            channel.close()

    def _answer(self, channel: SocketChannel) -> None:
        try:
            first = next(channel.commands(), None)
        except ValidationError:
            first = None
        if not isinstance(first, Attach | AskStatus) or not self._knows_token(first):
            channel.send(failure(RequestError(OTHER_VERSION, code=OUTDATED)))
        elif isinstance(first, AskStatus):
            channel.send(self._described(first))
        elif self._refusal is not None:
            channel.send(failure(RequestError(self._refusal, code=OTHER_SURROUNDINGS)))
        elif why := outdated(self._start, self._residence, first):
            channel.send(failure(RequestError("; ".join(why), code=OUTDATED)))
        elif why := other_surroundings(self._start, self._residence, first):
            channel.send(failure(RequestError("; ".join(why), code=OTHER_SURROUNDINGS)))
        else:
            self._admit(channel, first)

    def _knows_token(self, first: Attach | AskStatus) -> bool:
        return hmac.compare_digest(first.token.encode(), self._residence.token.encode())

    def _described(self, question: AskStatus) -> Facts:
        with self._lock:
            clients = tuple(self._clients.values())
            self._idle_seconds = None if question.stay else self._idle_seconds
        return Facts("status", {**self._status(clients), "idle_seconds": self._idle_seconds, "refuses": self._refusal})

    def _admit(self, channel: SocketChannel, attach: Attach) -> None:
        channel.redact(attach.secrets)
        client = Client(next(self._numbers), channel, attach.log_dir, attach.who)
        with self._lock:
            if self._closed:
                return
            self._clients[client.number] = client
        try:
            with _heartbeats(channel):
                self._serve(client)
        finally:
            with self._lock:
                del self._clients[client.number]
                self._empty_since = time.monotonic()


@contextmanager
def _heartbeats(channel: Channel) -> Iterator[None]:
    """Say that the engine is alive, from a thread of its own: a client that does not read delays nobody else."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(HEARTBEAT_SECONDS):
            channel.send(Alive())

    threading.Thread(target=beat, name="heartbeat", daemon=True).start()
    try:
        yield
    finally:
        over.set()
