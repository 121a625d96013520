"""Engines that are kept and ended, with services that say what the test wants."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from catchment.engine.attached import Differs
from catchment.project import load
from catchment.run.residents import control, places
from catchment.run.services import control as control_of_services


class Services:
    """The services of a project; one of them is an engine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *clients: str) -> None:
        self.stopped: list[str] = []
        inside = [{"who": client} for client in clients]
        report = control.ResidentReport("engine-default", "default", 1.0, None, inside, 0, 0, 0, 0, 0)
        monkeypatch.setattr(control, "start_service", lambda *_, **__: "engine-default")
        monkeypatch.setattr(control, "_ready", lambda *_: report)
        monkeypatch.setattr(control, "_report", lambda _: report)
        monkeypatch.setattr(control, "Hold", lambda *_: nullcontext())
        monkeypatch.setattr(places, "named", lambda *_: SimpleNamespace(is_dead=False))
        monkeypatch.setattr(control_of_services, "show", lambda *_: SimpleNamespace(is_active=True))
        monkeypatch.setattr(control_of_services, "stop", lambda _, name: self.stopped.append(name))


@pytest.mark.parametrize(("clients", "stopped"), [((), ["engine-default"]), (("catchment run",), [])])
def test_an_engine_that_was_kept_ends_unless_others_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clients: tuple[str, ...], stopped: list[str]
) -> None:
    services = Services(monkeypatch, *clients)
    with control.kept(load(tmp_path), "default"):
        assert services.stopped == []
    assert services.stopped == stopped


@pytest.mark.parametrize(("is_outdated", "stopped"), [(True, ["engine-default"]), (False, [])])
def test_up_ends_engines_of_another_definition_and_none_of_other_surroundings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_outdated: bool, stopped: list[str]
) -> None:
    services = Services(monkeypatch)
    there: Any = SimpleNamespace(service="engine-default", is_dead=False)

    def differing(_: object, __: object, otherwise: Any) -> None:
        otherwise(there, Differs("why", is_outdated=is_outdated))

    monkeypatch.setattr(control, "_fitting", differing)
    project = load(tmp_path)
    assert control._staying(project, project.engines["default"], lambda _: None) is None
    assert services.stopped == stopped
