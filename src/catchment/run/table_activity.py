"""What the metastore has of tables: who writes them now, and what was published of them."""

from __future__ import annotations

import time
from collections.abc import Iterator

from catchment.project.model import Project
from catchment.store import read_store
from catchment.store.activity import TableActivity
from catchment.store.publications import Publication


def publications(project: Project, address: str) -> tuple[Publication, ...]:
    """All publications of a table, oldest first."""
    from catchment.plan.changes import published_catalog
    from catchment.plan.datasets import of_input
    from catchment.project import depots

    dataset = of_input(address, None, project)
    published_catalog(depots.find(project, dataset.depot))
    with read_store(project.metastore) as store:
        return store.publications.of_table(dataset.address)


LOOK_SECONDS = 1.0


def writers(project: Project) -> tuple[TableActivity, ...]:
    """What goes on at every table of the project right now."""
    return next(watch(project))


def watch(project: Project, every: float = LOOK_SECONDS) -> Iterator[tuple[TableActivity, ...]]:
    """The same again and again, with a pause between."""
    while True:
        with read_store(project.metastore) as store:
            yield store.activity.tables()
        time.sleep(every)
