"""Chooses the engine of a command: a resident one that fits, a new one that stays, or one of the command's own."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from catchment.engine import protocol
from catchment.engine.attached import AttachedEngine, Differs, NotThere
from catchment.engine.launcher import EngineProcess, Inbox
from catchment.engine.packages import install
from catchment.engine.protocol import Attach, Command, Preparing, Residence, Start
from catchment.engine.residence import differences, variables
from catchment.errors import Cancelled, CatchmentError, MetastoreUnavailable, SetupError
from catchment.handover import code
from catchment.plan.model import EnginePlan
from catchment.process_identity import identity
from catchment.project import load
from catchment.project.model import Project
from catchment.run.engine_pool import Launch, Process
from catchment.run.residents import places
from catchment.run.residents.places import Resident
from catchment.run.residents.plans import may_stay, resident_plan

LOOK_SECONDS = 0.05
ANSWER_SECONDS = 60.0
"""How long an engine that is there may refuse to answer: one that hangs is ended by its service before that."""
CHOICE_SECONDS = 10.0
"""How long the end of a choice is waited for that nobody needs any more."""


def launching(project: Project) -> Launch:
    """How the commands of a project get their engines."""
    # Without a way to tell whether a process is alive, nobody could tell whether an engine is.
    if project.resident == "never" or identity().machine is None:
        return EngineProcess.start
    leaves = project.resident == "always" or project.attended
    return Choosing(project) if leaves or any(places.residents(project)) else EngineProcess.start


@dataclass(frozen=True)
class Choosing:
    """Starts nothing if there is an engine that fits."""

    project: Project

    def __call__(self, engine: EnginePlan, *, log_dir: Path, secrets: tuple[str, ...], inbox: Inbox) -> Process:
        if not may_stay(engine):
            return EngineProcess.start(engine, log_dir=log_dir, secrets=secrets, inbox=inbox)
        return LateEngine(_Choice(self.project, engine, log_dir, secrets, inbox))


class LateEngine:
    """An engine that is chosen in a thread of its own; commands wait until it is there."""

    is_chosen_late = True

    def __init__(self, choice: _Choice) -> None:
        self._choice = choice
        self._lock = threading.Lock()
        self._waiting: list[Command] = []
        self._chosen: Process | None = None
        self._thread = threading.Thread(target=self._choose, name=f"choice of {choice.engine.key}", daemon=True)
        self._thread.start()

    def send(self, command: Command) -> None:
        """Queue a command; never blocks."""
        with self._lock:
            if self._chosen is None:
                self._waiting.append(command)
            else:
                self._chosen.send(command)

    def stop(self, grace: float) -> None:
        """End the engine, or the conversation with one that stays."""
        self._end(lambda chosen: chosen.stop(grace))

    def kill(self) -> None:
        """The same at once."""
        self._end(lambda chosen: chosen.kill())

    def _end(self, how: Callable[[Process], None]) -> None:
        self._choice.given_up.set()
        if threading.current_thread() is not self._thread:  # the inbox itself may call this
            self._thread.join(CHOICE_SECONDS)
        with self._lock:
            chosen = self._chosen
        if chosen is not None:
            how(chosen)

    def _choose(self) -> None:
        chosen = self._choice.make()
        with self._lock:
            self._chosen = chosen
            waiting, self._waiting = self._waiting, []
            given_up = self._choice.given_up.is_set()
            if chosen is not None and not given_up:
                for command in waiting:
                    chosen.send(command)
        if chosen is not None and given_up:
            chosen.kill()  # whoever gave it up may not have waited for it


@dataclass(frozen=True)
class _Choice:
    """One command that needs an engine."""

    project: Project
    engine: EnginePlan
    log_dir: Path
    secrets: tuple[str, ...]
    inbox: Inbox
    given_up: threading.Event = field(default_factory=threading.Event)
    """Set when the command does not need it any more."""

    def make(self) -> Process | None:
        """The engine; None if the command does not need it any more, or has heard why there is none."""
        try:
            return self._resident() or (self._leaves and self._new_resident()) or self._own()
        except Cancelled:
            return None
        except CatchmentError as error:
            self.inbox(self.engine.key, protocol.failure(error))
        except Exception as error:  # whoever waits must hear of it
            self.inbox(self.engine.key, protocol.failure(_unexpected(self.engine, error)))
        return None

    @property
    def _leaves(self) -> bool:
        """Whether a new engine stays. Nobody leaves one on a cluster, where others wait for its place, unasked."""
        asked, attended = self.project.resident == "always", self.project.attended and self.engine.engine.is_local
        return (asked or attended) and _may_keep(self.project)

    def _own(self) -> Process:
        self._check()
        self._tell(f"starting Spark {self.engine.engine.spark}")
        return EngineProcess.start(self.engine, log_dir=self.log_dir, secrets=self.secrets, inbox=self.inbox)

    def _resident(self) -> Process | None:
        """A resident engine that fits, of those that are there already."""
        reasons = []
        for each in places.residents(self.project):
            if each.engine == self.engine.engine.name:
                try:
                    if (attached := self._attach(each)) is not None:
                        return attached
                except Differs as why:
                    reasons.append(str(why))
        for reason in dict.fromkeys(reasons):
            self._tell(f"the resident engine does not fit: {reason}")
        return None

    def _new_resident(self) -> Process | None:
        """A resident engine that is started now and stays when the command has ended; None if there can be none."""
        from catchment.run.residents import control  # services are slow to load

        more = [depot.name for depot in self.engine.depots]
        if not self._would_fit(more):
            return None
        install(resident_plan(self.project, self.engine.engine, more), self._tell, self.given_up)
        self._tell(f"starting Spark {self.engine.engine.spark}, which stays")
        name, idle = self.engine.engine.name, control.IDLE_SECONDS
        try:
            for service, is_new in control.start_services(self.project, name, more, idle=idle):
                # Another command may have begun to start this very engine a moment ago.
                attached = self._started(service, is_new=is_new)
                if attached is not None:
                    self._tell(f"it stays for {idle / 60:.0f} idle minutes; `catchment down` ends it")
                    return attached
        except (OSError, SetupError, MetastoreUnavailable) as error:
            self._tell(f"no engine can stay here: {error}")
        return None  # an engine of the command's own fails for the same reason, and says it

    def _started(self, service: str, *, is_new: bool) -> Process | None:
        """A conversation with an engine that is being started; None if it does not fit or has failed."""
        from catchment.run.residents import control

        try:
            return self._attach(control.wait_for(self.project, service, self.given_up))
        except Differs as why:
            if is_new:
                self._tell(f"the resident engine does not fit: {why}")
            return None

    def _would_fit(self, more: Collection[str]) -> bool:
        """Whether the service would start the engine that is needed: it reads the project file alone.

        Secrets of the workflow, and variables on the command line, are this command's.
        """
        alone = load(self.project.file or self.project.root, environment=self.project.environment)
        plan = resident_plan(alone, self.engine.engine, more)
        wanted = self._request("")
        there = Residence("", "", wanted.environment, wanted.code, None)
        return not differences(Start(plan, (), "", "", alone.secrets), there, wanted)

    def _attach(self, resident: Resident | None) -> Process | None:
        """A conversation with a resident engine, as soon as it is ready; None if it has ended."""
        refused: float | None = None
        while resident and not resident.is_dead:
            self._check()
            if resident.has_opened:
                try:
                    return AttachedEngine.attach(self._request(resident.token), resident.door, self.inbox)
                except NotThere as error:  # it ends just now, or it has just begun
                    refused = refused or time.monotonic()
                    if time.monotonic() - refused > ANSWER_SECONDS:
                        self._tell(f"the resident engine does not answer: {error}; its log is {resident.log}")
                        return None
            elif not resident.is_announced:
                return None
            time.sleep(LOOK_SECONDS)
        if resident and resident.is_dead:
            self._tell(f"the resident engine was killed; its log is {resident.log}")
            resident.forget()
        return None

    def _request(self, token: str) -> Attach:
        who = f"{Path(sys.argv[0]).name} {' '.join(sys.argv[1:2])} (process {os.getpid()})"
        return Attach(token, self.engine, str(self.log_dir), self.secrets, variables(self.engine), code(), who)

    def _check(self) -> None:
        if self.given_up.is_set():
            raise Cancelled(f"engine {self.engine.key} is not needed any more")

    def _tell(self, line: str) -> None:
        self.inbox(self.engine.key, Preparing(line))


def _may_keep(project: Project) -> bool:
    """Whether an engine can stay here: a question creates nothing where no project is, and one may be read-only."""
    if project.home.is_dir():
        return os.access(project.home, os.W_OK)
    return project.file is not None and os.access(project.root, os.W_OK)


def _unexpected(engine: EnginePlan, error: Exception) -> SetupError:
    return SetupError(
        f"engine {engine.key} could not be chosen or started: {error}",
        code="engine-not-started",
        hint="`resident: never` in the project file starts a new engine for each command",
        detail=traceback.format_exc(),
    )
