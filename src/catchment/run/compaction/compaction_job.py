"""Starts a compaction of one table: an engine, the lease of the table's compactor, and what the project says of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Literal

from catchment.engine.launcher import BackgroundProcess
from catchment.errors import LeaseHeld, RequestError
from catchment.formats.metadata_reading import NeedsEngine
from catchment.formats.registry import supporting, traits_of
from catchment.plan.datasets import of_maintained
from catchment.plan.model import Dataset, Partition, Rewrite
from catchment.project.model import Project, Upkeep
from catchment.run import inspection
from catchment.run.compaction.compactor import Done, TableCompactor
from catchment.run.compaction.needs import Need, needs_of
from catchment.run.engine_pool import Launch
from catchment.run.identity import owner
from catchment.run.inspection import check_depot
from catchment.run.lake import LakeSession, Tell
from catchment.store import Store, open_store
from catchment.store.holding import HeldLease
from catchment.table_health import TableHealth
from catchment.who import who

Mode = Literal["batch", "continuous"]
LEASE_SECONDS = 20.0
"""How long the lease outlives a compactor that died."""
WAIT_SECONDS = 1.0


def compact(
    project: Project,
    address: str,
    *,
    partitions: Sequence[Partition] = (),
    rewrite: Rewrite | None = None,
    mode: Mode = "batch",
    wait: bool = False,
    dry_run: bool = False,
    stop: threading.Event | None = None,
    tell: Tell = lambda _: None,
    launch: Launch = BackgroundProcess.start,
) -> Mapping[str, Any]:
    """Compact a table once, or until it is stopped; returns the report.

    With `rewrite`, that one rewrite is done, whatever the thresholds say. Two compactions of one table never run at
    the same time: the second one waits, or raises `LeaseHeld`.
    """
    table, stop = dataset_of(project, address), stop or threading.Event()
    with open_lake(project, table, tell, launch) as lake, open_store(project.metastore) as store:
        if rewrite is not None and dry_run:
            return lake.maintain(table, rewrite, by=who(), dry_run=True)
        compactor = TableCompactor(
            lake, table, upkeep_of(project, table), who(), partitions, writers_waiting(store, table)
        )
        compactor.stop, compactor.tell = stop, tell
        if partitions:  # so that a wrong one is refused before anything is waited for
            lake.maintain(table, Rewrite(partitions=tuple(partitions)), by=who(), dry_run=True)
        if dry_run:
            return preview(table, *compactor.look())
        try:
            with compactor_lease(store, table, stop, tell, wait=wait or mode == "continuous") as lease:
                if rewrite is not None:
                    return lake.maintain(table, rewrite, by=who(), dry_run=False)
                compactor.check = lease.check
                compactor.batch() if mode == "batch" else compactor.continuous()
        except LeaseHeld:
            if not stop.is_set():  # whoever is stopped while it waits has done what it was told
                raise
    return report(table, compactor.done, mode)


def health(
    project: Project,
    address: str,
    *,
    tell: Tell = lambda _: None,
    explain: Tell = lambda _: None,
    launch: Launch = BackgroundProcess.start,
) -> tuple[TableHealth, tuple[Need, ...]]:
    """How well the files of a table serve its readers, and what it needs by the project's thresholds.

    `explain` hears why an engine has to answer.
    """
    table = dataset_of(project, address, reading=True)
    thresholds = upkeep_of(project, table).thresholds
    try:
        found = inspection.health(project, table, thresholds.small_file_bytes)
    except NeedsEngine as reason:
        explain(f"an engine answers: {reason}")
        with open_lake(project, table, tell, launch) as lake:
            return TableCompactor(lake, table, upkeep_of(project, table), who()).look()
    return found, needs_of(found, thresholds, time.time())


def dataset_of(project: Project, address: str, *, reading: bool = False) -> Dataset:
    """The dataset to compact; raises if its format cannot be compacted."""
    table = of_maintained(address, project, reading=reading)
    if not traits_of(table.format).supports("rewrite_dataset", table.format):
        raise RequestError(
            f"not supported yet: to compact `{table.address}`, whose format is {table.format}",
            code="unsupported-actions",
            hint=f"this works on {supporting('operations', 'rewrite_dataset')}",
        )
    check_depot(project, table.depot, files=not table.is_table)
    return table


def upkeep_of(project: Project, table: Dataset) -> Upkeep:
    """What the project says of a table, or else of its depot."""
    return project.maintain.get(table.address) or project.maintain.get(table.depot) or Upkeep()


def open_lake(project: Project, table: Dataset, tell: Tell, launch: Launch | None) -> LakeSession:
    """An engine that can compact a dataset."""
    depots = {table.depot}
    if table.is_table:
        return LakeSession(project, tables=depots, tell=tell, launch=launch)
    return LakeSession(project, files=depots, tell=tell, launch=launch)


@contextmanager
def compactor_lease(
    store: Store, table: Dataset, stop: threading.Event, tell: Tell, *, wait: bool
) -> Iterator[HeldLease]:
    """Hold the right to compact a table; raises `LeaseHeld` if somebody else has it and nobody wants to wait."""
    name, told = f"compact/{table.target}", False
    while True:
        try:
            held = HeldLease.acquire(store.leases, name, owner(), LEASE_SECONDS)
            break
        except LeaseHeld as error:
            if not wait or stop.is_set():
                hint = "wait until it is done (--wait); a compactor that was killed loses its lease in 20 s"
                raise error.changed(message=f"{table.address} is being compacted: {error.message}", hint=hint) from None
            if not told:
                tell(f"{table.address} is being compacted by somebody else; waiting")
                told = True
            stop.wait(WAIT_SECONDS)
    with held:
        yield held


def preview(table: Dataset, found: TableHealth, needs: Sequence[Need]) -> Mapping[str, Any]:
    """The report of a compaction that does nothing."""
    return {
        "address": table.address,
        "action": "rewrite_dataset",
        "by": who(),
        "partitions": [
            {"partition": need.name, "files": need.health.files, "bytes": need.health.bytes, **_why(need)}
            for need in needs
        ],
        "rewritten_files": sum(need.health.burden for need in needs),
        "expires_snapshots": found.write_only,
        "dry_run": True,
    }


def report(table: Dataset, done: Done, mode: Mode) -> Mapping[str, Any]:
    """The report of a compaction."""
    return {
        "address": table.address,
        "action": "rewrite_dataset",
        "by": who(),
        "mode": mode,
        **asdict(done),
        "dry_run": False,
    }


def _why(need: Need) -> Mapping[str, Any]:
    return {"reasons": list(need.reasons), "busy": need.busy}


def writers_waiting(store: Store, table: Dataset) -> Callable[[], bool]:
    """A question: whether sealed writes of a table wait to be published."""
    return lambda: store.ledger.count_pending(table.target) > 0
