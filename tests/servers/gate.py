"""A gate in front of an HTTP server: it forwards every request, and in times of trouble answers 503 or hangs up.

It can also be late: the request that the trouble begins with is answered with 503, and is delivered when asked to. And
it can hold requests until it is opened.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit

Trouble = Literal["503", "hang-up", "late", "hold"]
_OF_ONE_HOP = {"connection", "content-length", "expect", "keep-alive", "transfer-encoding"}


@dataclass
class Gate:
    """A gate that is open until trouble is asked for."""

    upstream: str
    counted: Counter[str] = field(default_factory=Counter)
    """How many requests of each method came by."""
    refused: list[str] = field(default_factory=list)
    """The requests that were held or not answered, since the gate was last closed or opened."""
    _trouble: Trouble = "503"
    _pattern: re.Pattern[str] | None = None
    _seconds: float = 0.0
    _until: float | None = None
    _only: bool = False
    _kept: list[Callable[[], int]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _opened: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Passing", (_Passing,), {"gate": self}))
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, name="gate", daemon=True).start()

    def close(self, trouble: Trouble, *, at: str, seconds: float, only: bool = False) -> None:
        """From the first request that matches `at` (such as `PUT .*parquet`) on, let nothing through for a while.

        With `only`, requests that do not match are let through all the time.
        """
        with self._lock:
            self._trouble, self._pattern, self._seconds, self._until = trouble, re.compile(at), seconds, None
            self._only, self.refused = only, []
            self._opened.clear()

    def open(self) -> bool:
        """Let everything through again; says whether anything was held up since the gate was closed."""
        with self._lock:
            struck, self._pattern, self._until, self.refused = self._until is not None, None, None, []
            self._opened.set()
            return struck

    def await_opening(self) -> None:
        """Return when the gate is open again."""
        self._opened.wait()

    @property
    def keeps_one(self) -> bool:
        """Whether there is a request to deliver."""
        return bool(self._kept)

    def keep(self, request: Callable[[], int]) -> None:
        """Keep a request for later."""
        self._kept.append(request)

    def deliver(self) -> int:
        """Send on the request that was kept; returns the status that nobody heard of."""
        return self._kept.pop()()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def mood(self, method: str, path: str) -> Trouble | None:
        """What becomes of a request."""
        with self._lock:
            self.counted[method] += 1
            if self._pattern is None:
                return None
            matches = self._pattern.match(f"{method} {path}") is not None
            first = self._until is None and matches
            if first:
                self._until = time.monotonic() + self._seconds
            if self._until is None or time.monotonic() >= self._until or (self._only and not matches):
                return None
            return "503" if self._trouble == "late" and not first else self._trouble


class _Passing(BaseHTTPRequestHandler):
    gate: Gate
    protocol_version = "HTTP/1.1"

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        mood = self.gate.mood(self.command, self.path)
        if mood == "hang-up":
            self._hang_up()
        elif mood == "hold":
            self.gate.refused.append(f"{self.command} {self.path}")
            self.gate.await_opening()
            self._forward(body)
        elif mood is not None:
            self.gate.refused.append(f"{self.command} {self.path}")
            if mood == "late":
                # As it is now: the same connection, and this object with it, brings other requests later.
                self.gate.keep(partial(_send, self.gate.upstream, self.command, self.path, self.headers.items(), body))
            self._answer(503, {"Content-Type": "application/xml"}, b"<Error><Code>ServiceUnavailable</Code></Error>")
        else:
            self._forward(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass  # noqa: N815 - the names that the library looks for

    def _hang_up(self) -> None:
        self.gate.refused.append(f"{self.command} {self.path}")
        self.close_connection = True

    def _forward(self, body: bytes) -> None:
        try:
            behind, answer = _ask(self.gate.upstream, self.command, self.path, self.headers.items(), body)
        except (OSError, HTTPException):  # the server is gone
            self._hang_up()
            return
        self._answer(answer.status, _kept(answer), answer.read(), length=answer.getheader("Content-Length"))
        behind.close()

    def _answer(self, status: int, headers: dict[str, str], body: bytes, length: str | None = None) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Whoever wants to know what came by asks the gate."""


def _ask(
    upstream: str, method: str, path: str, headers: Iterable[tuple[str, str]], body: bytes
) -> tuple[HTTPConnection, HTTPResponse]:
    behind = HTTPConnection(urlsplit(upstream).netloc, timeout=300)
    # Headers go on as they are, `Host` included: they are signed.
    behind.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers:
        if name.lower() not in _OF_ONE_HOP:
            behind.putheader(name, value)
    behind.putheader("Content-Length", str(len(body)))
    behind.endheaders(body)
    return behind, behind.getresponse()


def _send(upstream: str, method: str, path: str, headers: Iterable[tuple[str, str]], body: bytes) -> int:
    behind, answer = _ask(upstream, method, path, headers, body)
    answer.read()
    behind.close()
    return answer.status


def _kept(answer: HTTPResponse) -> dict[str, str]:
    return {name: value for name, value in answer.getheaders() if name.lower() not in _OF_ONE_HOP}
