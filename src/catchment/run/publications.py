"""What readers of a table were shown, as the metastore remembers it."""

from __future__ import annotations

from catchment.plan.changes import published_catalog
from catchment.plan.datasets import of_input
from catchment.project import depots
from catchment.project.model import Project
from catchment.store import open_store
from catchment.store.publications import Publication, Publications


def publications(project: Project, address: str) -> tuple[Publication, ...]:
    """All publications of a table, oldest first."""
    dataset = of_input(address, "iceberg", project)
    published_catalog(depots.find(project, dataset.depot))
    with open_store(project.metastore) as store:
        return Publications(store.database).of_table(dataset.address)
