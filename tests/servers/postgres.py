"""A real PostgreSQL server on loopback, from pgserver's wheel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.s3 import free_port


@dataclass(frozen=True)
class PostgresServer:
    """A running server; its one user needs no password from loopback."""

    port: int
    server: Any

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def jdbc(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    def stop(self) -> None:
        self.server.cleanup()


def start(directory: Path) -> PostgresServer:
    """Make a cluster under `directory` and start it on a free port; pgserver alone would offer a Unix socket only."""
    import pgserver

    server, port = pgserver.get_server(directory / "postgres"), free_port()
    server.psql(f"ALTER SYSTEM SET port = {port}")
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c fsync=off -k {server.pgdata}"
    pgserver.pg_ctl(["-w", "-o", options, "restart"], pgdata=server.pgdata, user=server.system_user)
    return PostgresServer(port, server)
