"""The metastore: Catchment's own database of runs, writes, leases, incremental state, ticks and services."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from catchment.store.activity import Activity
from catchment.store.database import Database, connect
from catchment.store.decisions import Decisions
from catchment.store.engines import Engines
from catchment.store.events import Events
from catchment.store.leases import Lease, Leases
from catchment.store.ledger import Ledger
from catchment.store.migrations import migrate
from catchment.store.progress import Progress
from catchment.store.pruning import Pruning
from catchment.store.publications import Publications
from catchment.store.readers import Readers
from catchment.store.runs import Runs
from catchment.store.services import Services
from catchment.store.states import States
from catchment.store.ticks import Ticks

__all__ = ["PATIENCE_SECONDS", "Lease", "Progress", "Store", "is_missing", "open_store", "read_store"]

PATIENCE_SECONDS = 60.0
"""How long a run and its engines wait for a metastore that does not answer, before they fail."""


@dataclass(frozen=True)
class Store:
    """One open metastore; may be used from several threads."""

    database: Database
    leases: Leases
    engines: Engines
    runs: Runs
    events: Events
    ledger: Ledger
    decisions: Decisions
    activity: Activity
    publications: Publications
    readers: Readers
    states: States
    ticks: Ticks
    services: Services
    pruning: Pruning

    def progress(self, lease: Lease, run_id: str) -> Progress:
        """Records the progress of one run, under the run's lease."""
        return Progress(self.database, self.leases, lease, run_id)

    def close(self) -> None:
        """Close every connection."""
        self.database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


def open_store(url: str, *, patience: float = 0.0, once: bool = False) -> Store:
    """Open the metastore at a SQLAlchemy URL; creates it if missing and migrates it if old.

    `patience` is for runs and engines: their steps are repeated for this many seconds while the metastore does not
    answer. Without it, a lookup fails at once. With `once`, the seconds count from the beginning of an outage: a run
    that has given up on the metastore ends, and does not wait again for every record that it would write.
    """
    database = connect(url, patience, once=once)
    try:
        migrate(database)
    except BaseException:
        database.close()
        raise
    leases = Leases(database)
    return Store(
        database,
        leases,
        Engines(database),
        Runs(database),
        Events(database, leases),
        Ledger(database),
        Decisions(database),
        Activity(database),
        Publications(database),
        Readers(database),
        States(database, leases),
        Ticks(database, leases),
        Services(database, leases),
        Pruning(database),
    )


@contextmanager
def read_store(url: str) -> Iterator[Store]:
    """Open the metastore for lookups. If it does not exist yet, open an empty temporary one instead."""
    if not is_missing(url):
        with open_store(url) as store:
            yield store
        return
    with TemporaryDirectory(prefix="catchment-") as directory, open_store(f"sqlite:///{directory}/empty.db") as store:
        yield store


def is_missing(url: str) -> bool:
    """Whether the metastore is a file that does not exist yet."""
    path = url.removeprefix("sqlite:///")
    try:
        return path != url and not Path(path).exists()
    except PermissionError:
        return False  # something exists that we may not read; opening it reports that
