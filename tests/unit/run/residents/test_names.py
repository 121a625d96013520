"""The names of the services of engines, which everybody who uses the same metastore has in common."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from catchment.errors import Cancelled
from catchment.project import load
from catchment.project.model import Project
from catchment.run.residents import control
from catchment.run.services import processes, starting
from catchment.run.services.supervisor_process import take_lease
from catchment.store import open_store
from catchment.store.services import ServiceOrder

NAME = "engine-default"


class Patience(threading.Event):
    """Gives up after so many looks."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._left = looks

    def is_set(self) -> bool:
        self._left -= 1
        return self._left < 0


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return load(tmp_path)


@contextmanager
def running(
    project: Project, name: str = NAME, *, kind: str = "engine", log: str = "", **process: Any
) -> Iterator[None]:
    """A service with a living supervisor: one of this project, unless something else is said."""
    ours = starting.log_file(project, name)
    ours.parent.mkdir(parents=True)
    order = ServiceOrder(name, kind, ("resident", "default"), str(project.root), log or str(ours))
    with open_store(project.metastore) as store, take_lease(store, name) as held:
        store.services.begin(held.lease, order, replace(processes.this_process(held.lease.owner), **process))
        yield


OTHERS: list[dict[str, Any]] = [
    {"machine": "another boot", "host": "elsewhere"},
    {"machine": "a container of the same name"},
    {"log": "/another/clone/.catchment/services/engine-default/service.log"},
    {"kind": "run"},
]


@pytest.mark.parametrize("other", OTHERS)
def test_an_engine_that_cannot_be_found_from_here_is_not_waited_for(other: dict[str, Any], project: Project) -> None:
    with running(project, **other):
        assert control.wait_for(project, NAME, Patience(3)) is None


def test_the_engine_of_another_user_is_not_waited_for(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(project):
        monkeypatch.setattr(os, "geteuid", lambda: 54321)
        assert control.wait_for(project, NAME, Patience(3)) is None


def test_an_engine_of_this_project_is_waited_for_until_it_is_announced(project: Project) -> None:
    with running(project), pytest.raises(Cancelled):
        control.wait_for(project, NAME, Patience(3))


def test_an_engine_whose_supervisor_has_only_its_name_yet_is_waited_for(project: Project) -> None:
    with running(project):
        pass
    with open_store(project.metastore) as store, take_lease(store, NAME), pytest.raises(Cancelled):
        control.wait_for(project, NAME, Patience(3))


def test_a_service_that_nobody_has_recorded_is_not_waited_for(project: Project) -> None:
    assert control.wait_for(project, NAME, Patience(3)) is None


@pytest.fixture
def _launching(monkeypatch: pytest.MonkeyPatch) -> None:
    """Services that do nothing but need their names."""

    def launch(project: Project, order: ServiceOrder) -> None:
        with open_store(project.metastore) as store:
            take_lease(store, order.name).release()

    monkeypatch.setattr(starting, "launch", launch)


@pytest.mark.usefixtures("_launching")
@pytest.mark.parametrize("other", OTHERS)
def test_a_name_that_is_taken_elsewhere_is_left_to_its_owner(other: dict[str, Any], project: Project) -> None:
    with running(project, **other):
        assert list(control.start_services(project, "default", (), idle=600.0)) == [(f"{NAME}-2", True)]


@pytest.mark.usefixtures("_launching")
def test_long_names_have_numbers_too(project: Project) -> None:
    engine = "e" * 60
    name = starting.plain_name(f"engine-{engine}")
    with running(project, name):
        found = islice(control.start_services(project, engine, (), idle=600.0), 2)
        assert list(found) == [(name, False), (f"{name}-2", True)]
