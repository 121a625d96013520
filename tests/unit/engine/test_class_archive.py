"""The archive of Spark's classes is made by a process that nothing disturbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event

import pytest

from catchment.engine import cache, class_archive
from catchment.engine.environment import Installed
from catchment.engine.java import Java
from catchment.plan.model import EnginePlan
from catchment.project.model import Engine


def test_a_fault_of_a_test_does_not_strike_while_the_archive_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would kill the process group, which is that of the command, and of whoever started it."""
    given: list[Mapping[str, str]] = []

    def run(command: Sequence[str], cancelled: Event, environment: Mapping[str, str]) -> tuple[int, str]:
        given.append(environment)
        return 0, ""

    monkeypatch.setenv("CATCHMENT_FAULT", "sealed:kill")
    monkeypatch.setattr(cache, "root", lambda: tmp_path)
    monkeypatch.setattr(cache, "run_quietly", run)
    plan = EnginePlan("default", Engine("default"))
    installed, java = Installed(spark_home=str(tmp_path)), Java("java", "17")
    assert class_archive.java_options(plan, installed, java, lambda _: None, Event()) == ()
    assert [each.get("CATCHMENT_FAULT") for each in given] == [None]
