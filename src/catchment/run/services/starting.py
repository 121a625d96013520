"""Starts services: a supervisor of its own session for each, which outlives this process and its terminal."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import IO, Any, cast

from catchment import private_files
from catchment.errors import RequestError, SetupError
from catchment.own_program import own_program
from catchment.project.model import Project
from catchment.run.notify.sending import Notifier
from catchment.run.services.supervisor_process import Instructions, NameInUse
from catchment.store import read_store
from catchment.store.services import RestartPolicy, ServiceOrder

COMMAND = own_program("catchment.run.services.supervisor_process")
LOG = "service.log"
LONGEST_NAME = 48
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def start(
    project: Project,
    kind: str,
    subject: str,
    command: Sequence[str],
    *,
    name: str | None = None,
    restart: RestartPolicy = "never",
) -> str:
    """Start a command of `catchment` as a service, in this directory; returns its name.

    Without a name it gets one from its kind and its subject that no other service has.
    """
    order = ServiceOrder("", kind, tuple(command), str(Path.cwd()), "", restart)
    if name is not None:
        launch(project, _named(order, project, require_name(name)))
        return name
    for free in _free_names(project, kind, subject):
        try:
            launch(project, _named(order, project, free))
        except NameInUse:
            continue  # taken since we looked
        return free
    raise AssertionError("numbers do not end")


def launch(project: Project, order: ServiceOrder) -> None:
    """Start the supervisor of a service; returns when it has the service's lease, raises NameInUse if another has."""
    log = Path(order.log)
    private_files.make_directory(log.parent)
    private_files.make_file(log)
    with log.open("ab") as errors:
        process = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )
    # A program that goes on longer than the service would keep what is left of the supervisor.
    threading.Thread(target=process.wait, name=f"service {order.name}", daemon=True).start()
    _check(_ask(process, Instructions(order, project.metastore, project.secrets, Notifier.of(project))), order)


def log_file(project: Project, name: str) -> Path:
    """The log of a service that runs on this machine."""
    return project.home / "services" / name / LOG


def require_name(name: str) -> str:
    """The name, if a service can have it: it is part of a path and of the name of a lease."""
    if _NAME.fullmatch(name) and len(name) <= LONGEST_NAME:
        return name
    raise RequestError(
        f"`{name}` is not a name for a service",
        code="bad-service-name",
        hint=f"use at most {LONGEST_NAME} lower-case letters, digits and `-` inside, for example `{plain_name(name)}`",
    )


def _named(order: ServiceOrder, project: Project, name: str) -> ServiceOrder:
    return replace(order, name=name, log=str(log_file(project, name)))


def _free_names(project: Project, kind: str, subject: str) -> Iterator[str]:
    with read_store(project.metastore) as store:
        taken = {record.order.name for record in store.services.all()}
    return (name for name in numbered_names(f"{kind}-{subject}") if name not in taken)


def numbered_names(text: str) -> Iterator[str]:
    """The text as a name of a service, and the same name with the numbers from 2."""
    base = plain_name(text)
    yield base
    yield from (f"{base}-{number}" for number in count(2))


def plain_name(text: str) -> str:
    """The text as a name of a service, with space left for a number."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[: LONGEST_NAME - 8].strip("-") or "service"


def _ask(process: subprocess.Popen[bytes], told: Instructions) -> dict[str, Any]:
    stdin, stdout = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
    try:
        with stdout:
            with stdin:
                stdin.write(told.encode())
            answer: dict[str, Any] = json.loads(stdout.readline())
            return answer
    except (OSError, ValueError):
        return {"started": False}  # it has died; its log says why


def _check(answer: dict[str, Any], order: ServiceOrder) -> None:
    if answer["started"]:
        return
    message = answer.get("message") or "the supervisor of the service has ended before it could answer"
    hint = answer.get("hint") or f"read {order.log}"
    if answer.get("code") == NameInUse.code:
        raise NameInUse(message, hint=hint)
    raise SetupError(message, code=answer.get("code") or "service-not-started", hint=hint)
