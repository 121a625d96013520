"""The engine processes of one run: started when first needed, shared by key, stopped when no job needs them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Protocol

from catchment.engine.launcher import Inbox
from catchment.engine.protocol import Command, Reply
from catchment.errors import EngineLost
from catchment.events.hub import Hub
from catchment.plan.model import EnginePlan
from catchment.run.mailbox import Mailbox


class Process(Protocol):
    """An engine process as the launcher returns it."""

    is_chosen_late: bool
    """Whether it may turn out to be an engine that was there already."""

    def send(self, command: Command) -> None: ...

    def stop(self, grace: float) -> None: ...

    def kill(self) -> None: ...


class Launch(Protocol):
    """Starts an engine process without waiting until it is ready."""

    def __call__(self, engine: EnginePlan, *, log_dir: Path, secrets: tuple[str, ...], inbox: Inbox) -> Process: ...


@dataclass(eq=False)
class RunningEngine:
    """One engine process. The same key may have several, one after the other."""

    plan: EnginePlan
    process: Process
    since: float = field(default_factory=time.monotonic)
    ready: bool = False
    exhausted: bool = False
    """Whether an attempt reported that the engine ran out of memory."""

    @property
    def key(self) -> str:
        return self.plan.key


Message = tuple[RunningEngine, Reply | EngineLost]


class EnginePool:
    """Starts, finds and ends the engine processes of a run, and receives their messages."""

    def __init__(
        self, plans: Iterable[EnginePlan], *, launch: Launch, log_dir: Path, secrets: tuple[str, ...], hub: Hub
    ) -> None:
        self._plans = {plan.key: plan for plan in plans}
        self._launch = launch
        self._log_dir = log_dir
        self._secrets = secrets
        self._hub = hub
        self._running: dict[str, RunningEngine] = {}
        self._ending: list[Thread] = []
        self._messages: Mailbox[tuple[list[RunningEngine], Reply | EngineLost]] = Mailbox()

    def need(self, key: str) -> RunningEngine:
        """The engine with this key; a new process is started if there is none."""
        if key not in self._running:
            self._running[key] = self._start(self._plans[key])
        return self._running[key]

    def receive(self, timeout: float) -> Message | None:
        """The next message of any engine; None on timeout. Messages of ended engines are dropped."""
        received = self._messages.get(timeout)
        if received is None:
            return None
        (engine,), reply = received
        return (engine, reply) if self._running.get(engine.key) is engine else None

    def forget(self, engine: RunningEngine) -> None:
        """Drop an engine that ended by itself; the next job that needs its key gets a new one."""
        self._running.pop(engine.key, None)

    def retire(self, key: str, grace: float) -> None:
        """End an engine without waiting for it. One that is not ready yet has nothing to finish and is killed."""
        engine = self._running.pop(key, None)
        if engine is None:
            return
        end = (lambda: engine.process.stop(grace)) if grace and engine.ready else engine.process.kill
        thread = Thread(target=end, name=f"end of engine {key}")
        thread.start()
        self._ending.append(thread)
        self._hub.emit("engine-stopped", engine=key)

    def close(self, grace: float) -> None:
        """End every engine and wait until all of them are gone."""
        for key in tuple(self._running):
            self.retire(key, grace)
        for thread in self._ending:
            thread.join()
        self._ending.clear()

    def _start(self, plan: EnginePlan) -> RunningEngine:
        # The process may send messages before `launch` returns it, so the sender is filled in afterwards.
        sender: list[RunningEngine] = []
        process = self._launch(
            plan,
            log_dir=self._log_dir,
            secrets=self._secrets,
            inbox=lambda _key, reply: self._messages.put((sender, reply)),
        )
        sender.append(RunningEngine(plan, process))
        about = {"spark": plan.engine.spark, "master": plan.engine.master, "resident": process.is_chosen_late}
        self._hub.emit("engine-starting", engine=plan.key, data=about)
        return sender[0]
