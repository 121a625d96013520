"""Looking after tables by hand: an engine that does it, and a person who agrees to what goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from catchment.engine.launcher import EngineProcess
from catchment.plan.datasets import of_input
from catchment.plan.engines import reading_engine
from catchment.plan.model import Maintenance
from catchment.project.model import Project
from catchment.run.engines import Launch
from catchment.run.lake import Reader, Tell, check_depot
from catchment.who import who

Agree = Callable[[Mapping[str, Any]], bool]
"""Asked before anything goes, with what would go."""


def maintain(
    project: Project,
    address: str,
    deed: Maintenance,
    *,
    dry_run: bool = False,
    agree: Agree | None = None,
    tell: Tell = lambda _: None,
    launch: Launch = EngineProcess.start,
) -> Mapping[str, Any] | None:
    """Look after a table; None where somebody was asked and did not agree."""
    table = of_input(address, "iceberg", project)
    check_depot(table.depot, reading_engine(project))
    with Reader(project, tell=tell, launch=launch) as reader:
        if dry_run or agree:
            looked = reader.maintain(table, deed, by=who(), dry_run=True)
            if dry_run:
                return looked
            if agree and not agree(looked):
                return None
        return reader.maintain(table, deed, by=who(), dry_run=False)
