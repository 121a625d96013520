"""Is there a master to talk to? Spark itself would try for a minute and then say something else."""

from __future__ import annotations

import socket

from catchment.errors import SetupError

PATIENCE = 5.0


def require(master: str) -> None:
    """Raise unless the master of a standalone cluster (or one of several) takes connections."""
    if not master.startswith("spark://"):
        return
    problems = [problem for address in master.removeprefix("spark://").split(",") if (problem := _problem(address))]
    if len(problems) == master.count(",") + 1:
        raise unreachable(master, "; ".join(problems))


def unreachable(master: str, why: str, detail: str | None = None) -> SetupError:
    """The error for a master that does not take us."""
    return SetupError(
        f"the Spark master {master} cannot be reached: {why}",
        code="master-unreachable",
        hint="check that the master runs and that `master` of the engine names its host and port (spark://host:7077)",
        detail=detail,
    )


def _problem(address: str) -> str | None:
    host, _, port = address.strip().rpartition(":")
    if not host or not port.isdigit():
        return f"{address} is no host:port"
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except OSError as error:
        return f"{address}: {error.strerror or error}"
    return None
