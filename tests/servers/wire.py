"""A wire to a TCP server that can lose an answer, so that nobody hears of what was done, or fall silent for a while."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading

CHUNK = 65536


class Wire:
    """Forwards connections to a port of this machine."""

    def __init__(self, port: int) -> None:
        self._behind = port
        self._words = b""
        self._keeps = False
        self._passes = threading.Event()
        self._passes.set()
        self.connections = 0
        """How many were asked for."""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        threading.Thread(target=self._accept, name="wire", daemon=True).start()

    def lose_answer_to(self, words: bytes) -> None:
        """The next request with these words is carried out; its answer is lost, and its connection with it."""
        self._keeps, self._words = False, words

    def keep_answer_to(self, words: bytes) -> None:
        """The same, but the connection stays open: whoever waits for the answer waits for as long as it likes."""
        self._keeps, self._words = True, words

    @property
    def has_lost(self) -> bool:
        """Whether the answer that was to be lost is lost."""
        return not self._words

    def cut(self) -> None:
        """Let nothing through any more; nobody is told, as if packets were lost."""
        self._passes.clear()

    def mend(self) -> None:
        """Let everything through again, also what was sent since the wire was cut."""
        self._passes.set()

    def stop(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._passes.wait()
        with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", self._behind)) as server:
            while self._forward(client, server):
                pass

    def _forward(self, client: socket.socket, server: socket.socket) -> bool:
        """Pass on what comes from either side; False where the connection has ended."""
        for source, target in ((source, server if source is client else client) for source in _ready(client, server)):
            data = source.recv(CHUNK)
            self._passes.wait()
            if not data:
                return False
            target.sendall(data)
            if source is client and self._words and self._words in data:
                self._words = b""
                server.recv(CHUNK)  # the answer says that it was done; it goes no further
                if self._keeps:
                    client.recv(CHUNK)  # until the client hangs up
                return False
        return True


def _ready(*connections: socket.socket) -> list[socket.socket]:
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
        ready = {key.fd for key, _ in selector.select()}
    return [connection for connection in connections if connection.fileno() in ready]
