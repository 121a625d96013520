"""A real S3 server: s3proxy on the local disk, with an optional latency on every request."""

from __future__ import annotations

import random
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from catchment.engine import java, maven, packages
from catchment.formats.traits import Package

PACKAGE = Package("org.gaul:s3proxy:4.1.0", alone=True, classifier="jar-with-dependencies")
KEY, SECRET = "catchment-access", "catchment-secret-value"


@dataclass
class S3Server:
    """Where the server listens, and how to stop it and start it again."""

    endpoint: str
    log: Path
    data: Path
    """Its buckets are directories here."""
    command: tuple[str, ...]

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start it, also again, on the same port and with the same data."""
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(self.command, stdout=out, stderr=subprocess.STDOUT)
        await_answer(f"{self.endpoint}/", self.process, self.log)

    def spark_conf(self) -> dict[str, str]:
        """Settings that make `s3a://` reach this server."""
        return {
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.access.key": KEY,
            "spark.hadoop.fs.s3a.secret.key": SECRET,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        }

    def has_unread(self) -> bool:
        """Whether somebody has sent what the server has not read yet: it is stopped, or busy."""
        port = f":{int(self.endpoint.rpartition(':')[2]):04X}"
        lines = [line for kind in ("tcp", "tcp6") for line in Path("/proc/net", kind).read_text().splitlines()[1:]]
        queues = [fields[4].split(":") for fields in map(str.split, lines) if fields[1].endswith(port)]
        return any(int(received, 16) for _, received in queues)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def jar() -> str:
    """The server's jar, downloaded once."""
    [found] = maven.jars((PACKAGE,), java.find(), packages.ivy(), print, Event())
    return found


def start(
    jar: str, directory: Path, *, buckets: tuple[str, ...] = ("lake",), latency_ms: int = 0, log_level: str = "info"
) -> S3Server:
    """Start s3proxy from its jar; its buckets are directories under `directory`. At `debug` it logs every request."""
    for bucket in buckets:
        (directory / "data" / bucket).mkdir(parents=True, exist_ok=True)
    port = free_port()
    settings = directory / "s3proxy.properties"
    settings.write_text(_properties(directory / "data", port, latency_ms))
    command = ("java", "-Xmx512m", f"-DLOG_LEVEL={log_level}", "-jar", jar, "--properties", str(settings))
    return S3Server(f"http://127.0.0.1:{port}", directory / "s3proxy.log", directory / "data", command)


def free_port() -> int:
    """A port nobody listens on, out of the range from which the system gives ports to connections meanwhile."""
    for port in iter(lambda: random.randrange(10_000, 32_000), None):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("there is always another port")


def _properties(data: Path, port: int, latency_ms: int) -> str:
    lines = {
        "s3proxy.endpoint": f"http://127.0.0.1:{port}",
        "s3proxy.authorization": "aws-v2-or-v4",
        "s3proxy.identity": KEY,
        "s3proxy.credential": SECRET,
        "jclouds.provider": "filesystem-nio2",
        "jclouds.filesystem.basedir": str(data),
    }
    if latency_ms:
        lines["s3proxy.latency-blobstore.*.latency"] = str(latency_ms)
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def await_answer(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server of ours answers, whatever it says; end it where it does not."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 - our own loopback server
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
        else:
            return
    process.kill()
    process.wait()
    raise RuntimeError(f"{log.stem} did not start: {log.read_text()[-2000:]}")
