"""Plans metadata changes: finds the table, and checks that its format supports the change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catchment.errors import Position, RequestError
from catchment.formats.registry import supporting, traits_of
from catchment.plan import datasets
from catchment.plan.model import ChangePlan
from catchment.project import depots
from catchment.project.model import Depot, Project
from catchment.spec.model import ChangeName


def of_change(
    text: str, name: ChangeName, arguments: Mapping[str, Any], project: Project, where: Position | None = None
) -> ChangePlan:
    """Plan the change of the table at an address; raises `RequestError` if it is not supported."""
    dataset = datasets.of_input(text, None, project)
    if name not in traits_of(dataset.format).changes:
        raise RequestError(
            f"not supported: {name} on {dataset.format}",
            code="unsupported-change",
            hint=f"it works on {supporting('changes', name)}",
        )
    depot = depots.find(project, dataset.depot)
    published = published_catalog(depot) if name == "set_version" else depot.publish
    return ChangePlan(name, dataset, arguments, published, where)


def published_catalog(depot: Depot) -> str:
    """The name of a depot's published catalog; raises `RequestError` if it has none."""
    if depot.publish is None:
        raise RequestError(
            f"depot `{depot.name}` has no published catalog: its readers always see the newest version",
            code="no-published-catalog",
            hint=_how_to_get_one(depot),
        )
    return depot.publish


def _how_to_get_one(depot: Depot) -> str:
    if depot.catalog is None or depot.catalog.type != "jdbc":
        return f"only depots of kind {supporting('publishes_with')} with a jdbc catalog can have a published catalog"
    return f"add `publish: {depot.name}{depots.PUBLISHED}` to the depot in catchment.yaml"
