"""A real Hive metastore: the server that is in Spark's own jars, on a database in its memory."""

from __future__ import annotations

import subprocess
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from socket import create_connection

from catchment.engine import java, packages
from tests.servers.s3 import free_port

PATIENCE = 180.0


@dataclass(frozen=True)
class HiveServer:
    """Where the metastore listens, and how to stop it."""

    uri: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def start(directory: Path) -> HiveServer:
    """Start a metastore that knows nothing yet."""
    port, log = free_port(), directory / "hive.log"
    (directory / "hive-site.xml").write_text(_site(directory))
    jars = packages._own_pyspark() / "jars"
    command = [
        str(java.find().executable),
        "-Xmx512m",
        f"-Dderby.system.home={directory}",
        "-cp",
        f"{directory}:{jars}/*",
    ]
    with log.open("wb") as out:
        server = [*command, "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)]
        process = subprocess.Popen(server, stdout=out, stderr=subprocess.STDOUT, cwd=directory)
    _await(port, process, log)
    return HiveServer(f"thrift://127.0.0.1:{port}", process)


def _site(directory: Path) -> str:
    settings = {
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": str(directory / "warehouse"),
        "hive.metastore.server.min.threads": "5",
        "hive.async.log.enabled": "false",  # needs a jar that Spark does not have
    }
    entry = "<property><name>{}</name><value>{}</value></property>"
    return f"<configuration>{''.join(entry.format(*each) for each in settings.items())}</configuration>"


def _await(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with closing(create_connection(("127.0.0.1", port), timeout=1)):
                return
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
