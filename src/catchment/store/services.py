"""Services: what each one runs, who supervises it, and what became of it. Only its supervisor changes its status."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import Row, Select, and_, case, delete, func, insert, select, update

from catchment.process_identity import ProcessIdentity
from catchment.store.database import Database, database_time, repeatable
from catchment.store.leases import Lease, Leases, give_back, is_held
from catchment.store.schema import leases, services

ENGINE = "engine"
"""The kind of resident engines; the kind of any other service is the name of its verb."""
PREFIX = "service/"
"""The prefix of the names of service leases."""

RestartPolicy = Literal["never", "on-failure"]
Outcome = Literal["succeeded", "failed", "stopped"]
ServiceStatus = Literal["running", "restarting", "stopping", "succeeded", "failed", "stopped", "dead"]
ACTIVE: tuple[ServiceStatus, ...] = ("running", "restarting", "stopping")
"""The statuses of a service whose supervisor is alive."""


def service_lease(name: str) -> str:
    """The lease that the supervisor of a service holds while it lives."""
    return f"{PREFIX}{name}"


@dataclass(frozen=True)
class ServiceOrder:
    """What a service is to run."""

    name: str
    kind: str
    """The verb, or `engine`."""
    command: tuple[str, ...]
    """The arguments of `catchment`; never with a secret."""
    directory: str
    """The working directory of the command."""
    log: str
    """The path of its log, on the host where it runs."""
    restart: RestartPolicy = "never"

    @property
    def matters(self) -> bool:
        """Whether its death is worth a report; the next command simply replaces an engine that was left behind."""
        return self.kind != ENGINE or self.restart != "never"


@dataclass(frozen=True)
class SupervisorProcess(ProcessIdentity):
    """The process that supervises a service."""

    owner: str
    """The owner of the service's lease."""
    host: str


@dataclass(frozen=True)
class ServiceRecord:
    """One service and what became of it so far. Times are seconds since 1970, UTC."""

    order: ServiceOrder
    supervisor: SupervisorProcess
    status: ServiceStatus
    """`dead` if its end was not recorded and nobody holds its lease."""
    started: float
    finished: float | None
    """When it ended; for a dead service when its lease expired."""
    restarts: int
    exit_code: int | None
    """The exit code of the last process of the command that has ended."""
    error: str | None
    stop_requested: bool

    @property
    def is_active(self) -> bool:
        """Whether the supervisor is alive, as far as the metastore knows."""
        return self.status in ACTIVE


class Services:
    """Records and reads services, and requests to stop them."""

    def __init__(self, database: Database, leases: Leases) -> None:
        self._database = database
        self._leases = leases

    @repeatable
    def begin(self, lease: Lease, order: ServiceOrder, supervisor: SupervisorProcess) -> None:
        """Record a service that starts; it replaces an ended one of the same name."""
        row = {
            **asdict(order),
            "command": list(order.command),
            **asdict(supervisor),
            "status": "running",
            "started": database_time(),
            "restarts": 0,
            "stop_requested": False,
            "reported": False,
        }
        with self._leases.holding(lease) as connection:
            connection.execute(delete(services).where(services.c.name == order.name))
            connection.execute(insert(services).values(row))

    @repeatable
    def failed(self, lease: Lease, name: str, exit_code: int, error: str | None) -> None:
        """Record that the command has failed and will be started again after a pause."""
        self._change(lease, name, status="restarting", exit_code=exit_code, error=error)

    def restarted(self, lease: Lease, name: str) -> None:
        """Record that the command is started again, and count it."""
        self._change(lease, name, status="running", restarts=services.c.restarts + 1)

    @repeatable
    def finish(self, lease: Lease, name: str, outcome: Outcome, exit_code: int | None, error: str | None) -> bool:
        """Record the end of a service and release its lease in one transaction: its name is free once it has ended.

        Returns whether the service still belonged to this supervisor.
        """
        this = services.c.name == name, services.c.owner == lease.owner
        values = {"status": outcome, "finished": database_time(), "exit_code": exit_code, "error": error}
        with self._database.writing() as connection:
            found = connection.execute(update(services).where(*this).values(values)).rowcount
            give_back(connection, lease)
        return found == 1

    def request_stop(self, record: ServiceRecord) -> None:
        """Ask a service to stop; its supervisor polls for this request, on whichever machine it runs."""
        this = services.c.name == record.order.name, services.c.owner == record.supervisor.owner
        with self._database.writing() as connection:
            connection.execute(update(services).where(*this).values(stop_requested=True))

    def is_stop_requested(self, name: str) -> bool:
        """Whether the service was asked to stop. Does not wait for a metastore that does not answer."""
        asked = select(services.c.name).where(services.c.name == name, services.c.stop_requested)
        with self._database.reading() as connection:
            return connection.scalar(asked) is not None

    def unreported(self) -> list[ServiceRecord]:
        """Services whose end was not recorded, and that have not been reported as dead yet."""
        open_ = services.c.finished.is_(None), ~services.c.reported
        with self._database.reading() as connection:
            return [_record(row) for row in connection.execute(_records().where(*open_))]

    def report(self, record: ServiceRecord) -> bool:
        """Claim the report that a service has died; False if another process has claimed it."""
        this = services.c.name == record.order.name, services.c.owner == record.supervisor.owner, ~services.c.reported
        with self._database.writing() as connection:
            return connection.execute(update(services).where(*this).values(reported=True)).rowcount == 1

    @repeatable
    def all(self) -> list[ServiceRecord]:
        """Every service, the last started first."""
        query = _records().order_by(services.c.started.desc(), services.c.name)
        with self._database.reading() as connection:
            return [_record(row) for row in connection.execute(query)]

    @repeatable
    def find(self, name: str) -> ServiceRecord | None:
        """One service; None if there is none with this name."""
        with self._database.reading() as connection:
            row = connection.execute(_records().where(services.c.name == name)).one_or_none()
        return _record(row) if row else None

    def _change(self, lease: Lease, name: str, **values: Any) -> None:
        with self._leases.holding(lease) as connection:
            connection.execute(update(services).where(services.c.name == name).values(**values))


def _records() -> Select[Any]:
    # The owner is compared, too: a new supervisor has the lease a moment before it replaces the row.
    held = func.coalesce(and_(is_held(leases), leases.c.owner == services.c.owner), False)
    ran_out = func.coalesce(func.nullif(leases.c.expires, 0.0), services.c.started)
    return select(
        services,
        held.label("held"),
        case((and_(services.c.finished.is_(None), ~held), ran_out), else_=services.c.finished).label("ended"),
    ).select_from(services.outerjoin(leases, leases.c.name == PREFIX + services.c.name))


def _record(row: Row[Any]) -> ServiceRecord:
    order = ServiceOrder(row.name, row.kind, tuple(row.command), row.directory, row.log, row.restart)
    supervisor = SupervisorProcess(row.machine, row.pid, row.born, row.owner, row.host)
    return ServiceRecord(
        order,
        supervisor,
        _status(row),
        row.started,
        row.ended,
        row.restarts,
        row.exit_code,
        row.error,
        bool(row.stop_requested),
    )


def _status(row: Row[Any]) -> ServiceStatus:
    if row.status not in ACTIVE:
        ended: ServiceStatus = row.status
        return ended
    if not row.held:
        return "dead"
    return "stopping" if row.stop_requested else row.status
