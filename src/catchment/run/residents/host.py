"""The service of a resident engine: starts it, lets clients find it, and replaces it when it is worn out."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Collection
from dataclasses import dataclass, replace

from catchment import process_identity
from catchment.engine.launcher import EngineProcess
from catchment.engine.protocol import Ending, Failed, Preparing, Ready, Reply, Residence
from catchment.engine.residence import variables
from catchment.errors import EngineLost, SetupError
from catchment.handover import code
from catchment.plan.fitting import named
from catchment.plan.model import EnginePlan
from catchment.project.model import Project
from catchment.run.inspection import Tell
from catchment.run.mailbox import Mailbox
from catchment.run.residents import places
from catchment.run.residents.places import SOCKET, Resident
from catchment.run.residents.plans import resident_plan
from catchment.run.residents.preloaded import Preloaded

ENDINGS = {
    "idle": "nobody has used it for its time",
    "worn-out": "it does not give its memory back any more",
    "stuck": "work that was cancelled does not end",
}
TICK_SECONDS = 0.2
STOP_SECONDS = 20.0
"""How long the engine may take to end."""


def host(
    project: Project,
    engine: str,
    service: str,
    depots: Collection[str],
    idle: float | None,
    stop: threading.Event,
    tell: Tell,
) -> None:
    """Keep an engine until nobody needs it any more, or until the service is stopped."""
    plan = resident_plan(project, named(project, engine), depots)
    directory = places.directory_of(project, service)
    log = str(directory / f"engine-{plan.key}.log")
    resident = Resident(service, engine, directory, secrets.token_hex(32), process_identity.identity(), log)
    places.announce(resident)
    residence = Residence(str(directory / SOCKET), resident.token, variables(plan), code(), idle)
    with Preloaded(directory) as commands:
        while (ending := _Engine(project, plan, residence, resident, commands, stop, tell).ends()) is not None:
            if ending.reason == "idle":
                break
            tell(f"engine {engine} is replaced")
            residence = replace(residence, idle_seconds=ending.idle_seconds)
    resident.forget()  # of one that was lost, the next command finds what is left, and says so


@dataclass(frozen=True)
class _Engine:
    """One engine, from its start to its end."""

    project: Project
    plan: EnginePlan
    residence: Residence
    resident: Resident
    commands: Preloaded
    stop: threading.Event
    tell: Tell

    def ends(self) -> Ending | None:
        """Run it; returns why it has ended by itself, if it has, and raises if it was lost."""
        inbox: Mailbox[Reply | EngineLost] = Mailbox()
        process = EngineProcess.start(
            self.plan,
            log_dir=self.resident.directory,
            secrets=self.project.secrets,
            inbox=lambda _, reply: inbox.put(reply),
            residence=self.residence,
        )
        try:
            while not self.stop.is_set():
                reply = inbox.get(TICK_SECONDS)
                if reply is not None:
                    if ending := self._hear(reply):
                        return ending
                elif not self.resident.is_announced:  # nobody can find it any more
                    return None
            return None
        finally:
            process.stop(STOP_SECONDS)

    def _hear(self, reply: Reply | EngineLost) -> Ending | None:
        """Why the engine has ended by itself, if it has."""
        match reply:
            case Preparing():
                self.tell(reply.message)
            case Ready():
                self.tell(f"engine {self.plan.key} is ready: Spark {reply.spark_version}")
                self.commands.start()  # not before: it would take from the engine what that needs to start
            case Ending():
                self.tell(f"engine {self.plan.key} ends: {ENDINGS[reply.reason]}")
                return reply
            case EngineLost():
                raise reply
            case Failed():
                raise SetupError(reply.message, code=reply.code, hint=reply.hint, detail=reply.detail)
        return None
