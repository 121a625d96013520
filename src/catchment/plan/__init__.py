"""From workflow to plan: the DAG, the engine of each job, who shares a table with whom, what will conflict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from catchment.errors import Diagnostic
from catchment.plan.model import Plan
from catchment.project.model import Project
from catchment.spec.model import Workflow

if TYPE_CHECKING:
    from catchment.plan.preparation import Prepared


def prepare(file: Path, *, env: Mapping[str, str] | None = None, project: Project | None = None) -> Prepared:
    """Read a workflow and, unless it is given, its project, and plan it: every problem of both at once."""
    # Engines import this room for its values alone and need not pay for YAML.
    from catchment.plan import preparation

    return preparation.prepare(file, env=env, project=project)


def build(workflow: Workflow, project: Project) -> tuple[Plan | None, tuple[Diagnostic, ...]]:
    """The plan of a workflow, and what is wrong with it."""
    from catchment.plan import preparation

    return preparation.build(workflow, project)
