"""Plans workflows: the DAG, the engine of each job, shared tables and their conflicts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from catchment.errors import Diagnostic
from catchment.plan.model import Plan
from catchment.project.model import Project
from catchment.run_model import Choices
from catchment.spec.model import Workflow

if TYPE_CHECKING:
    from catchment.plan.preparation import Prepared


def prepare(
    file: Path,
    *,
    env: Mapping[str, str] | None = None,
    project: Project | None = None,
    choices: Choices | None = None,
    recorded: Choices | None = None,
) -> Prepared:
    """Read a workflow, and its project unless given, and plan it; collects all problems of both.

    `choices` select jobs and give values; the `recorded` choices of an earlier run apply where `choices` has none.
    """
    # Imported here, so that engines, which need only the model, do not load the YAML parser.
    from catchment.plan import preparation

    return preparation.prepare(file, env=env, project=project, choices=choices, recorded=recorded)


def build(workflow: Workflow, project: Project) -> tuple[Plan | None, tuple[Diagnostic, ...]]:
    """The plan of a workflow, and its problems."""
    from catchment.plan import preparation

    return preparation.build(workflow, project)
