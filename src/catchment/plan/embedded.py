"""Chooses the kind of unconfigured depots, based on the formats that a workflow uses in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from catchment.errors import RequestError
from catchment.project import depots
from catchment.project.address import parse
from catchment.project.model import Project
from catchment.spec.model import Workflow


def with_embedded(workflow: Workflow, project: Project) -> Project:
    """The project, with added embedded depots for tables of a single format.

    A depot becomes one of them if a workflow uses such a format in it before the depot has any content. From then on
    it behaves like a configured depot of that kind: its datasets have that format, whether or not they name it.
    """
    if project.file is not None:
        return project
    kinds = {name: traits.name for traits in depots.embedded_kinds() for name in traits.formats}
    asked = {name: kinds[format] for name, format in _formats(workflow) if format in kinds}
    made = {
        name: depots.embedded_of_kind(project.home, name, kind)
        for name, kind in asked.items()
        if name not in project.depots and not depots.home_of(project.home, name).exists()
    }
    return replace(project, depots={**project.depots, **made})


def _formats(workflow: Workflow) -> Iterator[tuple[str, str]]:
    """The depots of a workflow's datasets and the formats that it names for them."""
    for job in workflow.jobs:
        named = (*((each.dataset, each.format) for each in job.inputs), *((o.dataset, o.format) for o in job.outputs))
        for text, format in named:
            try:
                yield parse(text).depot, format or ""
            except RequestError:
                continue  # reported when the address is resolved
