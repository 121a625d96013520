"""Starts a compaction of one table: an engine, the lease of the table's compactor, and what the project says of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Literal

from catchment.engine.launcher import BackgroundProcess
from catchment.errors import JobError, LeaseHeld
from catchment.plan.datasets import upkeep_of
from catchment.plan.model import Dataset, Partition, Rewrite
from catchment.project.model import Project
from catchment.run.compaction.compactor import Done, TableCompactor
from catchment.run.compaction.health import dataset_of as dataset_of
from catchment.run.compaction.lake_engines import EnduringLake
from catchment.run.compaction.needs import Need
from catchment.run.engine_pool import Launch
from catchment.run.identity import owner
from catchment.run.inspection import request_error
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
    with open_lake(project, table, tell, launch, stop) as lake, open_store(project.metastore) as store:
        compactor = TableCompactor(
            lake, table, upkeep_of(project, table), who(), partitions, writers_waiting(store, table)
        )
        compactor.stop, compactor.tell = stop, tell
        if rewrite is not None and dry_run:
            return rewrite_once(compactor, rewrite, dry_run=True)
        if partitions:  # so that a wrong one is refused before anything is waited for
            lake.maintain(table, Rewrite(partitions=tuple(partitions)), by=who(), dry_run=True)
        if dry_run:
            return preview(compactor)
        try:
            with compactor_lease(store, table, stop, tell, wait=wait or mode == "continuous") as lease:
                compactor.check = lease.check
                if rewrite is not None:
                    return rewrite_once(compactor, rewrite, dry_run=False)
                compactor.batch() if mode == "batch" else compactor.continuous()
        except LeaseHeld:
            if not stop.is_set():  # whoever is stopped while it waits has done what it was told
                raise
    return report(table, compactor.done, mode)


def rewrite_once(compactor: TableCompactor, rewrite: Rewrite, *, dry_run: bool) -> Mapping[str, Any]:
    """Rewrite what somebody asks for, and do what the table needs as a whole; returns the report."""
    found = compactor.measure()
    try:
        facts = compactor.lake.maintain(compactor.table, rewrite, by=compactor.by, dry_run=dry_run)
    except JobError as error:
        raise request_error(error) from error
    if dry_run:
        return {**facts, **asdict(compactor.tidying(found))}
    compactor.try_to_tidy(found, expire_now=True)
    return {**facts, "failed": compactor.done.failed, "expired": compactor.done.expired}


def look(project: Project, table: Dataset, tell: Tell, launch: Launch | None) -> tuple[TableHealth, tuple[Need, ...]]:
    """How well the files of a table serve its readers, and what it needs, by the answer of an engine."""
    with open_lake(project, table, tell, launch or BackgroundProcess.start, threading.Event()) as lake:
        lake.project = None
        return TableCompactor(lake, table, upkeep_of(project, table), who()).look()


def open_lake(
    project: Project, table: Dataset, tell: Tell, launch: Launch | None, stop: threading.Event
) -> EnduringLake:
    """Engines that can compact a dataset, one after the other."""
    depots = {table.depot}
    tables, files = (depots, ()) if table.is_table else ((), depots)
    return EnduringLake(
        lambda: LakeSession(project, tables=tables, files=files, tell=tell, launch=launch), tell, stop, project
    )


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


def preview(compactor: TableCompactor) -> Mapping[str, Any]:
    """The report of a compaction that does nothing."""
    found, needs = compactor.look()
    return {
        "address": compactor.table.address,
        "action": "rewrite_dataset",
        "by": who(),
        "partitions": [
            {"partition": need.name, "files": need.health.files, "bytes": need.health.bytes, **_why(need)}
            for need in needs
        ],
        "rewritten_files": sum(need.health.burden for need in needs),
        **asdict(compactor.tidying(found)),
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
