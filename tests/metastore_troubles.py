"""What may happen to a metastore while a lake is written: a restart, a failover that loses its tail, a cut wire."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from tests.servers import postgres
from tests.servers.postgres import PostgresServer
from tests.servers.wire import Wire

Trouble = Literal["restart", "failover", "cut"]
TROUBLES: tuple[Trouble, ...] = get_args(Trouble)


@dataclass
class Metastore:
    """A PostgreSQL server behind a wire."""

    cut_seconds: float
    server: PostgresServer = field(default_factory=postgres.start)
    happened: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._wire = Wire(self.server.port)
        self.url = self.server.url.replace(str(self.server.port), str(self._wire.port))

    def restart(self) -> None:
        """Every connection is lost, and for a moment there is no server."""
        self.server.pause()
        self.server.start()
        self.happened.append("restarted")

    def copy(self) -> None:
        """What a later failover goes back to."""
        self.server.copy()
        self.happened.append("copied")

    def fail_over(self) -> None:
        """The server that takes over has the state of the copy."""
        self.server.fail_over()
        self.happened.append("failed over to the copy")

    def cut(self) -> None:
        """Nothing gets through for a while, in either direction, and nobody is told."""
        self._wire.cut()
        time.sleep(self.cut_seconds)
        self._wire.mend()
        self.happened.append(f"cut off for {self.cut_seconds:g} s")

    def stop(self) -> None:
        self._wire.stop()
        self.server.stop()


def planned(metastore: Metastore, troubles: Sequence[Trouble], writes: int) -> list[tuple[int, Callable[[], None]]]:
    """The troubles, evenly spread, each with how many writes are acknowledged when it begins.

    The copy that a failover goes back to is taken half-way between the trouble before and the failover.
    """
    steps: list[tuple[float, Callable[[], None]]] = []
    for number, trouble in enumerate(troubles, 1):
        if trouble == "failover":
            steps += [(number - 0.5, metastore.copy), (number, metastore.fail_over)]
        else:
            steps += [(number, metastore.restart if trouble == "restart" else metastore.cut)]
    return [(int(writes * at / (len(troubles) + 1)), step) for at, step in steps]
