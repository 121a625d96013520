"""Who writes which table now, as the metastore tells it."""

from __future__ import annotations

import time
from collections.abc import Iterator

from catchment.commit.activity import TableActivity, activity
from catchment.project.model import Project
from catchment.store import open_store

LOOK_SECONDS = 1.0


def writers(project: Project) -> tuple[TableActivity, ...]:
    """What goes on at every table of the project right now."""
    return next(watch(project))


def watch(project: Project, every: float = LOOK_SECONDS) -> Iterator[tuple[TableActivity, ...]]:
    """The same again and again, with a pause between."""
    with open_store(project.metastore) as store:
        while True:
            yield activity(store.database)
            time.sleep(every)
