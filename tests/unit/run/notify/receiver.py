"""A real web server on this machine that receives messages, and can be slow, refuse them, redirect or fail."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.concurrency.waiting import until


class Receiver:
    """What was received, and how it is answered."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.messages: list[dict[str, Any]] = []
        self.answers: list[int] = []
        """The codes of the next answers; then 200."""
        self.open = threading.Event()
        """Nothing is answered until this is set."""
        self.open.set()
        self.url = f"http://127.0.0.1:{server.server_port}/hooks/T0K3N"

    def wait(self, count: int = 1) -> list[dict[str, Any]]:
        """The messages, as soon as there are so many."""
        until(lambda: len(self.messages) >= count)
        return self.messages


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A server, from here to the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.messages.append(json.loads(body))
            receiver.open.wait()
            self._answer(receiver.answers.pop(0) if receiver.answers else 200)

        def do_GET(self) -> None:
            self._answer(200)

        def _answer(self, code: int) -> None:
            self.send_response(code)
            if 300 <= code < 400:
                self.send_header("Location", "/login")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = Receiver(server)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield receiver
        finally:
            receiver.open.set()
            server.shutdown()
            thread.join()
