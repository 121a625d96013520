"""Which engine a command gets, with engines that say what the test wants."""

from __future__ import annotations

import queue
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catchment import process_identity
from catchment.engine.launcher import EngineProcess
from catchment.engine.protocol import Command, Failed, Preparing, Reply, Stop
from catchment.errors import EngineLost, MetastoreUnavailable, SetupError
from catchment.plan.model import EnginePlan
from catchment.project import load
from catchment.project.model import Project
from catchment.run.residents import choosing, control, places
from catchment.run.residents.choosing import Choosing, LateEngine, launching
from catchment.run.residents.places import Resident
from catchment.run.residents.plans import resident_plan

Said = queue.Queue[Reply | EngineLost]


class Own:
    """An engine of a command's own, which records what it is sent."""

    is_chosen_late = False

    def __init__(self) -> None:
        self.heard: queue.Queue[Command | str] = queue.Queue()

    def send(self, command: Command) -> None:
        self.heard.put(command)

    def stop(self, grace: float) -> None:
        self.heard.put("stop")

    def kill(self) -> None:
        self.heard.put("kill")


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Own:
    made = Own()
    monkeypatch.setattr(EngineProcess, "start", lambda *_, **__: made)
    monkeypatch.setattr(choosing, "install", lambda *_: None)
    return made


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """One whose commands leave their engines behind."""
    found = replace(load(tmp_path), attended=True)
    found.home.mkdir()
    return found


def engine(project: Project) -> EnginePlan:
    return resident_plan(project, project.engines["default"])


def launched(project: Project, said: Said, **changes: Any) -> LateEngine:
    plan = replace(engine(project), **changes)
    late = Choosing(project)(plan, log_dir=project.root, secrets=(), inbox=lambda _, reply: said.put(reply))
    assert isinstance(late, LateEngine)
    return late


def told(said: Said) -> str:
    reply = said.get(timeout=60)
    assert isinstance(reply, Preparing), reply
    return reply.message


def no_service(*_: Any, **__: Any) -> str:
    raise AssertionError("no service is to be started")


@pytest.mark.parametrize(
    ("resident", "attended", "chosen"),
    [("auto", False, False), ("auto", True, True), ("always", False, True), ("never", True, False)],
)
def test_who_looks_for_resident_engines(resident: Any, attended: bool, chosen: bool, project: Project) -> None:
    found = launching(replace(project, resident=resident, attended=attended))
    assert isinstance(found, Choosing) is chosen


def test_where_one_is_there_it_is_looked_for(project: Project) -> None:
    there = Resident("s", "default", places.directory_of(project, "s"), "t", process_identity.identity(), "log")
    places.announce(there)
    assert isinstance(launching(replace(project, attended=False)), Choosing)


def test_without_a_way_to_tell_who_is_alive_there_are_none(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_identity, "_machine", lambda: None)
    assert not isinstance(launching(project), Choosing)


def test_commands_wait_for_an_engine_that_is_chosen(
    project: Project, own: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "start_services", no_service)
    late = launched(replace(project, attended=False), queue.Queue())
    late.send(Stop())
    assert own.heard.get(timeout=60) == Stop()
    late.stop(1.0)
    assert own.heard.get(timeout=60) == "stop"


def test_an_engine_that_is_there_after_its_command_has_given_up_gets_nothing_to_do(
    project: Project, own: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, allowed = threading.Event(), threading.Event()

    def start(*_: Any, **__: Any) -> Own:
        begun.set()
        assert allowed.wait(60)
        return own

    monkeypatch.setattr(choosing, "CHOICE_SECONDS", 0.0)
    monkeypatch.setattr(EngineProcess, "start", start)
    late = launched(replace(project, attended=False), queue.Queue())
    late.send(Stop())
    assert begun.wait(60)
    late.kill()
    allowed.set()
    assert (own.heard.get(timeout=60), own.heard.empty()) == ("kill", True)


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(13, "Permission denied"),
        SetupError("no disk", code="disk-full"),
        MetastoreUnavailable("no answer"),
    ],
)
def test_where_no_engine_can_stay_the_command_has_its_own(
    error: Exception, project: Project, own: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> str:
        raise error

    monkeypatch.setattr(control, "start_services", refuse)
    said: Said = queue.Queue()
    late = launched(project, said)
    assert told(said) == "starting Spark 4.1, which stays"
    assert told(said).startswith("no engine can stay here: ")
    assert told(said) == "starting Spark 4.1"
    late.send(Stop())
    assert own.heard.get(timeout=60) == Stop()


def test_an_engine_that_another_command_starts_at_this_moment_is_waited_for(
    project: Project, own: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its service has its name already, but nobody could find it yet."""
    directory = places.directory_of(project, "engine-default")
    theirs = Resident("engine-default", "default", directory, "token", process_identity.identity(), "engine.log")
    attached = Own()
    monkeypatch.setattr(control, "start_services", lambda *_, **__: iter([("engine-default", False)]))
    monkeypatch.setattr(control, "wait_for", lambda *_: theirs)
    monkeypatch.setattr(choosing._Choice, "_attach", lambda _, resident: attached if resident is theirs else None)
    late = launched(project, queue.Queue())
    late.send(Stop())
    assert attached.heard.get(timeout=60) == Stop()
    assert own.heard.empty()


def test_an_error_that_nobody_expects_is_reported(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(choosing, "install", fail)
    said: Said = queue.Queue()
    launched(project, said)
    reply = said.get(timeout=60)
    assert isinstance(reply, Failed)
    assert (reply.code, reply.attempt) == ("engine-not-started", None)


def test_where_there_is_no_project_nothing_is_left(tmp_path: Path, own: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "start_services", no_service)
    said: Said = queue.Queue()
    launched(replace(load(tmp_path), attended=True), said)
    assert told(said) == "starting Spark 4.1"
    assert not (tmp_path / ".catchment").exists()


def test_what_no_service_would_start_is_not_left(project: Project, own: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a secret of the workflow, or a variable on the command line: nobody could use what is left."""
    monkeypatch.setattr(control, "start_services", no_service)
    said: Said = queue.Queue()
    launched(project, said, metastore="sqlite:///of/another/value")
    assert told(said) == "starting Spark 4.1"


def test_one_that_was_killed_is_told_of(project: Project, own: Own) -> None:
    directory = places.directory_of(project, "engine-default")
    gone = replace(process_identity.identity(), born=1)
    places.announce(Resident("engine-default", "default", directory, "token", gone, "engine.log"))
    said: Said = queue.Queue()
    launched(replace(project, attended=False), said)
    assert told(said) == "the resident engine was killed; its log is engine.log"
    assert told(said) == "starting Spark 4.1"
    assert list(places.residents(project)) == []


def test_a_command_that_gives_up_while_it_waits_starts_nothing(project: Project, own: Own) -> None:
    directory = places.directory_of(project, "engine-default")
    starting = Resident("engine-default", "default", directory, "token", process_identity.identity(), "engine.log")
    places.announce(starting)
    late = launched(replace(project, attended=False), queue.Queue())
    late.kill()
    assert own.heard.empty()
