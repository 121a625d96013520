"""Starts, lists and ends the resident engines of a project."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from catchment import process_identity
from catchment.engine.attached import AttachedEngine, Differs, NotThere, status
from catchment.engine.packages import install
from catchment.engine.protocol import Attach
from catchment.engine.residence import variables
from catchment.errors import Cancelled, RequestError, SetupError
from catchment.handover import code
from catchment.plan.fitting import available, named
from catchment.project.model import Engine, Project
from catchment.run.inspection import Tell
from catchment.run.residents import places
from catchment.run.residents.hold import STOP_SECONDS, Hold
from catchment.run.residents.places import Resident
from catchment.run.residents.plans import resident_plan
from catchment.run.services import control as services
from catchment.run.services import starting
from catchment.run.services.liveness import current
from catchment.run.services.processes import is_elsewhere
from catchment.run.services.supervisor_process import NameInUse
from catchment.store import read_store
from catchment.store.services import ENGINE, RestartPolicy, ServiceRecord, service_lease

IDLE_SECONDS = 600.0
"""How long an engine stays that a command on a terminal has left behind."""
LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class ResidentReport:
    """One resident engine. The order of the fields is their order in JSON."""

    service: str
    engine: str
    since: float | None
    """None, like what follows, if it does not answer: it may be starting."""
    idle_seconds: float | None
    """It ends after so many seconds without a client; None if it stays."""
    clients: Sequence[Mapping[str, Any]]
    abandoned: int
    """Commands that are still under way although their clients are gone."""
    jobs: int
    answered: int
    """Commands that it has answered, jobs among them."""
    heap_live: int | None
    """Bytes that were left after the last collection."""
    heap_most: int | None
    refuses: str | None = None
    """Why it lets nobody in any more; it ends when its last client has left."""


def start_service(project: Project, engine: str, depots: Collection[str], *, idle: float | None) -> str:
    """Start a resident engine as a service without waiting until it is ready; returns the name of the service."""
    return next(service for service, is_new in start_services(project, engine, depots, idle=idle) if is_new)


def start_services(
    project: Project, engine: str, depots: Collection[str], *, idle: float | None
) -> Iterator[tuple[str, bool]]:
    """The services of an engine that others have started, and then one that is started now (True)."""
    # An engine that a command leaves behind is started again by the next command.
    restart: RestartPolicy = "never" if idle else "on-failure"
    elsewhere = _names_elsewhere(project)
    for service in starting.numbered_names(f"{ENGINE}-{engine}"):
        if service in elsewhere:
            continue
        command = _command(project, engine, service, depots, idle)
        try:
            starting.start(project, ENGINE, engine, command, name=service, restart=restart)
        except NameInUse:
            yield service, False
        else:
            yield service, True
            return


def wait_for(project: Project, service: str, given_up: threading.Event) -> Resident | None:
    """The resident engine of a service that was just started, once it can be found.

    None if the service has failed, or has only its name in common with an engine of this project.
    """
    while not given_up.is_set():
        if (found := places.named(project, service)) and not found.is_dead:
            return found
        if not _may_appear(project, service):
            return None
        time.sleep(LOOK_SECONDS)
    raise Cancelled(f"service {service} is not needed any more")


def up(project: Project, names: Sequence[str], tell: Tell = lambda _: None) -> list[ResidentReport]:
    """Start engines of a project that stay, and wait until they are ready; those that run already stay, too."""
    wanted = [named(project, name) for name in names] or list(project.engines.values())
    _require_use(project, wanted)
    for each in places.residents(project):
        if each.engine not in available(project):
            _end_unwanted(project, each, "the project has no such engine", tell)
    begun = [(engine, _staying(project, engine, tell) or _begun(project, engine, tell)) for engine in wanted]
    return [_ready(project, engine, service) for engine, service in begun]


@contextmanager
def kept(project: Project, name: str) -> Iterator[None]:
    """Keep an engine ready while the context lasts. One that runs already is used, and stays afterwards."""
    engine = named(project, name)
    _require_use(project, [engine])
    wanted = _request(project, engine, f"{Path(sys.argv[0]).name or 'python'} (process {os.getpid()})")
    if (found := _fitting(project, engine)) is not None:
        with Hold(project, found.service, wanted):
            yield
        return
    # It ends after its idle time if this process is killed.
    service = start_service(project, engine.name, (), idle=IDLE_SECONDS)
    try:
        _ready(project, engine, service)
        with Hold(project, service, wanted):
            yield
    finally:
        if services.show(project, service).is_active and not _clients(places.named(project, service)):
            services.stop(project, service)  # otherwise it ends after its idle time


def _require_use(project: Project, engines: Iterable[Engine]) -> None:
    """Refuse engines that no command could use."""
    if project.resident == "never":
        raise RequestError(
            "the project file says `resident: never`, so that no command would use an engine that stays",
            code="residents-not-used",
            hint="remove `resident: never` from catchment.yaml",
        )
    for engine in engines:
        if engine.isolation != "shared":
            raise RequestError(
                f"engine {engine.name} has a process for each job, so that none can stay",
                code="engine-not-shared",
                hint="leave out `isolation: process` of the engine, or start the others: catchment up ENGINE",
            )


def down(project: Project, names: Sequence[str], tell: Tell = lambda _: None) -> list[str]:
    """End the resident engines of a project, or those of these names; returns the names of their services."""
    with read_store(project.metastore) as store:
        records = [each for each in store.services.all() if _is_of(project, each)]
    there = {each.order.command[1] for each in records}
    for name in (name for name in names if name not in there):
        named(project, name)  # raises if there is no such engine
    ended = []
    for service in (each.order.name for each in records if not names or each.order.command[1] in names):
        if services.show(project, service).is_active:
            tell(f"ending {service}{_used_by(places.named(project, service))}")
            services.stop(project, service)
            ended.append(service)
    return ended


def _clients(resident: Resident | None) -> Sequence[Mapping[str, Any]]:
    return _report(resident).clients if resident else ()


def _used_by(resident: Resident | None) -> str:
    clients = _clients(resident)
    return f", which is used by {', '.join(str(each['who']) for each in clients)}" if clients else ""


def reports(project: Project) -> list[ResidentReport]:
    """Every resident engine of the project on this machine that is alive."""
    return [_report(each) for each in places.residents(project) if not each.is_dead]


def _is_of(project: Project, record: ServiceRecord) -> bool:
    """Whether a service is a resident engine of this project on this machine; others may share the metastore."""
    log = str(starting.log_file(project, record.order.name))
    return record.order.kind == ENGINE and record.order.log == log and not is_elsewhere(record.supervisor)


def _names_elsewhere(project: Project) -> set[str]:
    """The names of living services that are no engines of this project; everybody may have some in the metastore."""
    with read_store(project.metastore) as store:
        active = [each for each in store.services.all() if current(store, each).is_active]
    return {each.order.name for each in active if not _is_within_reach(project, each)}


def _may_appear(project: Project, service: str) -> bool:
    """Whether the engine of a service that cannot be found yet may still be announced here."""
    with read_store(project.metastore) as store:
        record, holder = store.services.find(service), store.leases.holder(service_lease(service))
        if holder is not None and (record is None or record.supervisor.owner != holder.owner):
            return True  # somebody has taken the name a moment ago, and is about to record for what
        return record is not None and current(store, record).is_active and _is_within_reach(project, record)


def _is_within_reach(project: Project, record: ServiceRecord) -> bool:
    """Whether a service is one of this user, on this machine and in this directory, so that its engine can be found."""
    if record.order.kind != ENGINE or not process_identity.is_here(record.supervisor):
        return False
    try:
        ours = starting.log_file(project, record.order.name).parent.stat()
        return os.path.samestat(ours, Path(record.order.log).parent.stat()) and ours.st_uid == os.geteuid()
    except OSError:
        return False


def _begun(project: Project, engine: Engine, tell: Tell) -> str:
    install(resident_plan(project, engine), tell)
    service = start_service(project, engine.name, (), idle=None)
    tell(f"engine {engine.name} starts as service {service}")
    return service


def _command(
    project: Project, engine: str, service: str, depots: Collection[str], idle: float | None
) -> tuple[str, ...]:
    return (
        *("resident", engine, "--service", service, "--project", str(project.root)),
        *(("--env", project.environment) if project.environment else ()),
        *(("--idle", f"{idle:g}") if idle else ()),
        *(part for depot in depots if depot not in project.depots for part in ("--depot", depot)),
    )


def _staying(project: Project, engine: Engine, tell: Tell) -> str | None:
    """The service of a resident engine of this definition, which no longer ends when it is idle.

    Engines of the same name and of another definition are ended.
    """

    def end(resident: Resident, why: Differs) -> None:
        if why.is_outdated:
            _end_unwanted(project, resident, str(why), tell)

    found = _fitting(project, engine, end)
    if found is None:
        return None
    try:
        status(found.door, stay=True)
    except NotThere:  # it has ended just now
        return None
    return found.service


def _fitting(
    project: Project, engine: Engine, otherwise: Callable[[Resident, Differs], None] = lambda *_: None
) -> Resident | None:
    """A resident engine of this definition; others of the same name are handed to `otherwise`."""
    wanted = _request(project, engine, "catchment up")
    for each in (each for each in places.residents(project) if each.engine == engine.name):
        while not each.has_opened and not each.is_dead and each.is_announced:
            time.sleep(LOOK_SECONDS)
        try:
            attach = replace(wanted, token=each.token)
            AttachedEngine.attach(attach, each.door, lambda *_: None).stop(STOP_SECONDS)
        except Differs as why:
            otherwise(each, why)
        except NotThere:
            continue
        else:
            return each
    return None


def _request(project: Project, engine: Engine, who: str) -> Attach:
    """What a client of a resident engine of this definition asks for; its token is still missing."""
    plan = resident_plan(project, engine)
    return Attach("", plan, "", project.secrets, variables(plan), code(), who)


def _end_unwanted(project: Project, resident: Resident, why: str, tell: Tell) -> None:
    """End an engine that is not what the project asks for, unless somebody may be using it."""
    about = _report(resident)
    if resident.is_dead:
        resident.forget()
    elif about.since is None or about.clients:
        tell(f"{resident.service} is not what the project asks for now ({why}), and goes on for those who use it")
    else:
        tell(f"ending {resident.service}, which is not what the project asks for now: {why}")
        services.stop(project, resident.service)


def _ready(project: Project, engine: Engine, service: str) -> ResidentReport:
    found = wait_for(project, service, threading.Event())
    while found and not found.is_dead and services.show(project, service).is_active:
        if found.has_opened:
            return _report(found)
        time.sleep(LOOK_SECONDS)
    failed = services.show(project, service)
    raise SetupError(
        f"engine {engine.name} did not start: {failed.error or failed.status}",
        code="engine-not-started",
        hint=f"read {failed.log}, or `catchment services logs {service}`",
    )


def _report(resident: Resident) -> ResidentReport:
    try:
        return ResidentReport(resident.service, resident.engine, **status(resident.door))
    except NotThere:
        return ResidentReport(resident.service, resident.engine, None, None, (), 0, 0, 0, None, None)
