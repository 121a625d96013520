"""The service of a resident engine, with engines that say what the test wants."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from catchment.engine.launcher import EngineProcess, Inbox
from catchment.engine.protocol import Ending, Ready, Reply, Residence
from catchment.errors import EngineLost
from catchment.plan.model import EnginePlan
from catchment.project import load
from catchment.project.model import Project
from catchment.run.residents import places
from catchment.run.residents.host import host
from catchment.run.residents.preloaded import Preloaded

READY = Ready("4.1.2", "local-1")


@dataclass
class Engines:
    """Engines one after the other; each says what it was given to say."""

    project: Project
    sayings: Iterator[tuple[Reply | EngineLost, ...]]
    residences: list[Residence] = field(default_factory=list)
    announced: list[str] = field(default_factory=list)
    """The token under which each was found when it was started."""
    stopped: int = 0

    def start(self, engine: EnginePlan, *, inbox: Inbox, residence: Residence, **_: Any) -> Engines:
        self.residences.append(residence)
        self.announced += [each.token for each in places.residents(self.project)]
        for each in next(self.sayings):
            inbox(engine.key, each)
        return self

    def stop(self, _: float) -> None:
        self.stopped += 1


def hosted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *sayings: tuple[Reply | EngineLost, ...]
) -> tuple[Engines, list[str]]:
    """The engines of a service that has ended, and what it told."""
    engines, told = Engines(load(tmp_path), iter(sayings)), list[str]()
    monkeypatch.setattr(EngineProcess, "start", engines.start)
    monkeypatch.setattr(Preloaded, "start", lambda _: told.append("commands are taken over"))
    try:
        host(engines.project, "default", "engine-default", (), None, threading.Event(), told.append)
    except EngineLost as lost:
        told.append(lost.code)
    return engines, told


@pytest.mark.parametrize("reason", ["worn-out", "stuck"])
def test_an_engine_that_is_of_no_more_use_is_replaced(
    reason: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines, told = hosted(tmp_path, monkeypatch, (READY, Ending(reason, 600.0)), (READY, Ending("idle")))
    first, second = engines.residences
    assert (first.idle_seconds, second) == (None, replace(first, idle_seconds=600.0))
    assert engines.announced == [first.token, first.token]  # whoever looks for it meanwhile waits for the next one
    assert engines.stopped == 2
    assert "engine default is replaced" in told
    assert list(places.residents(engines.project)) == []


def test_an_engine_that_nobody_uses_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engines, told = hosted(tmp_path, monkeypatch, (READY, Ending("idle")))
    assert (len(engines.residences), engines.stopped) == (1, 1)
    assert "commands are taken over" in told
    assert list(places.residents(engines.project)) == []


def test_what_is_left_of_an_engine_that_was_lost_is_found_by_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines, told = hosted(tmp_path, monkeypatch, (READY, EngineLost("it was killed")))
    assert told[-1] == "engine-lost"
    assert [each.token for each in places.residents(engines.project)] == engines.announced
