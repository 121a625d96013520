"""Jobs that wait in the middle of their work until others have overtaken them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from catchment.plan.model import Dataset, StepPlan
from tests.concurrency.waiting import until
from tests.spark.lake import LiveEngine, step


def told(what: str, target: Dataset) -> str:
    """What the engine was told about a table, or `no`; java_method makes a text of a null."""
    return f"java_method('java.lang.System', 'getProperty', '{what}-{target.table}', 'no')"


def passing(target: Dataset) -> str:
    """A condition that holds, and is not known to hold before the gate is opened."""
    return f"({_waiting(target)}) >= 0"


def gate(target: Dataset) -> StepPlan:
    """A step `gate` with one row, `seen`, which comes once the gate is opened."""
    return step("gate", _waiting(target))


def _waiting(target: Dataset) -> str:
    """A count that takes ten minutes, or until the gate is opened."""
    begun = f"java_method('java.lang.System', 'setProperty', 'begun-{target.table}', 'yes')"
    pause = f"CASE WHEN {told('gate', target)} = 'no' THEN java_method('java.lang.Thread', 'sleep', 50L) END"
    # Counted, so that every one of them is waited for, whatever Spark makes of the conditions.
    waited = f"coalesce({begun}, '') <> '-' AND coalesce({pause}, '') <> '-'"
    return f"SELECT count(*) AS seen FROM range(0, 12000, 1, 1) WHERE {waited}"


def overtake(engine: LiveEngine, target: Dataset, values: str) -> None:
    """Insert a row, as somebody who knows nothing of leases, while a job waits at the gate; then open it."""
    with at_gate(engine, target):
        engine.ask(f"INSERT INTO {target.identifier} VALUES ({values})")


@contextmanager
def at_gate(engine: LiveEngine, target: Dataset) -> Iterator[None]:
    """While a job waits at the gate; then it is opened."""
    until(lambda: engine.value(f"SELECT {told('begun', target)}") != "no")
    yield
    engine.ask(f"SELECT java_method('java.lang.System', 'setProperty', 'gate-{target.table}', 'open')")
