"""Changes of tables that people ask for: an engine makes them, and the table or the metastore remembers who asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catchment.engine.launcher import EngineProcess
from catchment.plan.changes import of_change
from catchment.plan.engines import reading_engine
from catchment.project.model import Project
from catchment.run.engines import Launch
from catchment.run.lake import Reader, Tell, check_depot
from catchment.spec.model import ChangeName
from catchment.who import who


def change(
    project: Project,
    address: str,
    name: ChangeName,
    arguments: Mapping[str, Any],
    *,
    dry_run: bool = False,
    tell: Tell = lambda _: None,
    launch: Launch = EngineProcess.start,
) -> Mapping[str, Any]:
    """Change a table, or look what that would come to."""
    plan = of_change(address, name, arguments, project)
    check_depot(plan.dataset.depot, reading_engine(project))
    with Reader(project, tell=tell, launch=launch) as reader:
        return reader.change(plan, by=who(), dry_run=dry_run)
