"""Lists services, stops them and starts them again."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from catchment import process_identity
from catchment.errors import CatchmentError, RequestError
from catchment.project.model import Project
from catchment.run.services import processes
from catchment.run.services.liveness import current
from catchment.run.services.starting import launch, log_file
from catchment.store import Store, read_store
from catchment.store.services import ACTIVE, RestartPolicy, ServiceRecord, ServiceStatus

STOP_SECONDS = 60.0
"""How long the end of a service that was asked to stop is waited for."""
LOOK_SECONDS = 0.2


class NotStopped(CatchmentError):
    """A service has not ended in time after it was asked to stop: exit code 1."""

    code = "service-still-stopping"


@dataclass(frozen=True)
class ServiceReport:
    """One service. The order of the fields is their order in the JSON of `catchment services`."""

    name: str
    kind: str
    status: ServiceStatus
    command: tuple[str, ...]
    directory: str
    host: str
    pid: int
    """Of its supervisor."""
    started: datetime
    finished: datetime | None
    exit_code: int | None
    error: str | None
    restart: RestartPolicy
    restarts: int
    log: str

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self.status in ACTIVE


def all_services(project: Project) -> list[ServiceReport]:
    """Every service, those that started last first."""
    with read_store(project.metastore) as store:
        return [report(current(store, record)) for record in store.services.all()]


def show(project: Project, name: str) -> ServiceReport:
    """One service; raises RequestError if there is none of this name."""
    with read_store(project.metastore) as store:
        return report(_known(store, name))


def report(record: ServiceRecord) -> ServiceReport:
    """What is known of a service."""
    order, supervisor = record.order, record.supervisor
    return ServiceReport(
        order.name,
        order.kind,
        record.status,
        order.command,
        order.directory,
        supervisor.host,
        supervisor.pid,
        _moment(record.started),
        _moment(record.finished) if record.finished is not None else None,
        record.exit_code,
        record.error,
        order.restart,
        record.restarts,
        order.log,
    )


def stop(project: Project, name: str) -> ServiceReport:
    """Ask a service to stop and wait until it has ended; asked again, it stops at once."""
    with read_store(project.metastore) as store:
        record = _known(store, name)
        if not record.is_active:
            raise RequestError(
                f"service {name} is not running: {record.status}",
                code="service-not-running",
                hint=f"`catchment services restart {name}` starts it again",
            )
        return _stop(store, record)


def restart(project: Project, name: str) -> ServiceReport:
    """Start a service again with its recorded command, on this machine; one that is running is stopped before."""
    with read_store(project.metastore) as store:
        record = _known(store, name)
        _check_place(record)
        if record.is_active:
            _stop(store, record)
    launch(project, replace(record.order, log=str(log_file(project, name))))
    return show(project, name)


def _check_place(record: ServiceRecord) -> None:
    """Refuse to start a service again that is running on another machine, or whose directory is not here."""
    name = record.order.name
    if record.is_active and processes.is_elsewhere(record.supervisor):
        raise RequestError(
            f"service {name} is running on {record.supervisor.host}",
            code="service-elsewhere",
            hint=f"restart it there, or stop it first: catchment services stop {name}",
        )
    if not Path(record.order.directory).is_dir():
        raise RequestError(
            f"the directory {record.order.directory} of service {name} is not on this machine",
            code="service-elsewhere",
            hint=f"restart it on {record.supervisor.host}, or start it anew with its command",
        )


def _stop(store: Store, record: ServiceRecord) -> ServiceReport:
    """Ask a service to stop and wait until it has ended; it may have ended meanwhile."""
    # First the signal: read in the metastore before, it would count as a second request, to stop at once.
    process_identity.send(record.supervisor, signal.SIGINT if record.status == "stopping" else signal.SIGTERM)
    store.services.request_stop(record)
    return _await_end(store, record.order.name)


def _await_end(store: Store, name: str) -> ServiceReport:
    until = time.monotonic() + STOP_SECONDS
    while (now := _known(store, name)).is_active:
        if time.monotonic() > until:
            raise NotStopped(
                f"service {name} was asked to stop and has not ended after {STOP_SECONDS:.0f} s",
                hint=f"it may be finishing a commit: `catchment services show {name}`; stop it again to end it at once",
            )
        time.sleep(LOOK_SECONDS)
    return report(now)


def _known(store: Store, name: str) -> ServiceRecord:
    record = store.services.find(name)
    if record is None:
        raise RequestError(
            f"there is no service {name!r} in this project",
            code="unknown-service",
            hint="`catchment services ls` lists them",
        )
    return current(store, record)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)
