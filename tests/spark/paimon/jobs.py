"""Jobs on Paimon tables, and what tests ask of the tables afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from catchment.errors import Position
from catchment.plan.model import Dataset, JobPlan, KeyColumn
from tests.concurrency.waiting import until
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine, writing

KEY = Position("workflow.yaml", 40, 9)


def appending(target: Dataset, first: int, name: str = "job", rows: int = 5) -> JobPlan:
    return writing(f"SELECT id FROM range({first}, {first + rows}, 1, 1)", target, name=name, mode="append")


def keyed(sql: str, target: Dataset, *keys: str, name: str = "job", mode: str = "append", **properties: str) -> JobPlan:
    """A job that writes a primary-key table; its key stands in line 40 of its file."""
    named = {key.replace("_", "-").replace("--", "."): value for key, value in properties.items()}
    key = tuple(KeyColumn(each, KEY) for each in keys or ("id",))
    return writing(sql, target, name=name, mode=mode, primary_key=key, properties={"bucket": "2", **named})


def with_output(job: JobPlan, **fields: Any) -> JobPlan:
    """The job with other fields of its output."""
    return replace(job, outputs=(replace(job.outputs[0], **fields),))


def ids(engine: LiveEngine, target: Dataset) -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT id FROM {target.identifier} ORDER BY id")]


def snapshots(engine: LiveEngine, target: Dataset) -> list[dict[str, Any]]:
    return list(engine.inspect("snapshots", target)["snapshots"])


def place_of(target: Dataset, root: Path) -> Path:
    return root / target.depot / f"{target.namespace}.db" / str(target.table)


@contextmanager
def lease_held(ledger: Filled, target: Dataset, root: Path) -> Iterator[None]:
    """Hold the lease of a table: writers seal, and nobody publishes."""
    lease = ledger.store.leases.acquire(f"table/{place_of(target, root)}", "somebody who takes his time", 600.0)
    try:
        yield
    finally:
        ledger.store.leases.release(lease)


def await_sealed(ledger: Filled, target: Dataset, count: int) -> None:
    until(lambda: ledger.ledger.count_pending(target.address) >= count)
