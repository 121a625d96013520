"""Keeps a resident engine from ending because nobody uses it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from catchment.engine.attached import AttachedEngine, Differs, NotThere
from catchment.engine.protocol import Attach
from catchment.project.model import Project
from catchment.run.residents import places
from catchment.store.holding import Repeated

RENEW_SECONDS = 60.0
STOP_SECONDS = 30.0
"""How long the engine may take to let a client go."""


class Hold:
    """A client of a resident engine that asks for nothing, until the context ends or this process is killed.

    It comes in anew again and again. An engine that is worn out lets nobody in any more and is replaced as soon as
    everybody has gone, so that this client then leaves it, and comes back to the next one.
    """

    def __init__(self, project: Project, service: str, wanted: Attach) -> None:
        self._project, self._service, self._wanted = project, service, wanted
        self._held = self._attached()
        self._renewal = Repeated(f"keeping {service}", self._renew, RENEW_SECONDS)

    def __enter__(self) -> Hold:
        return self

    def __exit__(self, *_: object) -> None:
        self._renewal.stop()
        if self._held is not None:
            self._held.stop(STOP_SECONDS)

    def _renew(self) -> None:
        earlier, self._held = self._held, self._attached()
        if earlier is not None:
            earlier.stop(STOP_SECONDS)

    def _attached(self) -> AttachedEngine | None:
        """A conversation with the engine; None if there is none now that lets this client in."""
        found = places.named(self._project, self._service)
        if found is not None and not found.is_dead:
            with suppress(Differs, NotThere):
                return AttachedEngine.attach(replace(self._wanted, token=found.token), found.door, lambda *_: None)
        return None
