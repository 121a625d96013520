"""A real PostgreSQL server on loopback, from pgserver's wheel."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.servers.s3 import free_port

GUARDED = "guarded"
"""The one user that the server asks for a password; everybody else comes in without."""


@dataclass(frozen=True)
class PostgresServer:
    """A server that can be stopped and started again on the same port, with the same data."""

    port: int
    data: Path
    user: str | None
    """The system user that the server runs as; PostgreSQL refuses to be root."""

    @property
    def url(self) -> str:
        return self.url_of("postgres")

    @property
    def jdbc(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    def url_of(self, database: str, user: str = "postgres") -> str:
        """The address of one of its databases, as catchment.yaml writes it."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it again."""
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories= -c fsync=off"
        self._control("-w", "-l", str(self.data / "server.log"), "-o", options, "start")

    def pause(self) -> None:
        """Stop it at once, until it is started again: whoever is connected loses his connection."""
        self._control("-w", "-m", "fast", "stop")

    def copy(self) -> None:
        """Keep a copy of its data as they are now. It is stopped for that moment."""
        self.pause()
        shutil.rmtree(self._kept, ignore_errors=True)
        subprocess.run(["cp", "-a", str(self.data), str(self._kept)], check=True)
        self.start()

    def fail_over(self) -> None:
        """Go on with the last copy, as a standby does that had not received everything; later changes are lost."""
        self.pause()
        shutil.rmtree(self.data)
        self._kept.rename(self.data)
        self.start()

    @property
    def _kept(self) -> Path:
        return self.data.with_name("copy")

    def stop(self) -> None:
        """Stop it for good, without writing down what nobody will read."""
        self._control("-w", "-m", "immediate", "stop")
        shutil.rmtree(self.data.parent)

    def _control(self, *arguments: str) -> None:
        import pgserver

        pgserver.pg_ctl(list(arguments), pgdata=self.data, user=self.user)


def start() -> PostgresServer:
    """Make a cluster and start it on a free port.

    It lives in a temporary directory of its own: where the tests run as root the server is another user, and pytest
    closes its directories to others.
    """
    directory = Path(tempfile.mkdtemp(prefix="catchment-postgres-"))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(directory))  # pgserver warns without it, and warnings are errors
    import pgserver

    # pgserver makes the cluster and the user to run it, but would listen on a Unix socket only and, once restarted,
    # would not know its own server any more. From here on the server is ours.
    made = pgserver.get_server(directory / "data")
    made.cleanup()
    atexit.unregister(made._cleanup)
    rules = f"host all {GUARDED} 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
    (made.pgdata / "pg_hba.conf").write_text(rules)
    server = PostgresServer(free_port(), made.pgdata, made.system_user)
    server.start()
    return server
