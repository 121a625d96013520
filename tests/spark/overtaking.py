"""Jobs that wait in the middle of their work until others have overtaken them."""

from __future__ import annotations

import time

from catchment.plan.model import Dataset, StepPlan
from tests.spark.lake import LiveEngine, step


def told(what: str, target: Dataset) -> str:
    """What the engine was told about a table, or `no`; java_method makes a text of a null."""
    return f"java_method('java.lang.System', 'getProperty', '{what}-{target.table}', 'no')"


def gate(target: Dataset) -> StepPlan:
    """A step `gate` with one row, `seen`, which comes once the gate is opened."""
    begun = f"java_method('java.lang.System', 'setProperty', 'begun-{target.table}', 'yes')"
    pause = f"CASE WHEN {told('gate', target)} = 'no' THEN java_method('java.lang.Thread', 'sleep', 50L) END"
    passed = f"coalesce({begun}, '') <> '-' AND coalesce({pause}, '') <> '-'"
    # Counted, so that every one of them is waited for, whatever Spark makes of the conditions.
    return step("gate", f"SELECT count(*) AS seen FROM range(0, 1000, 1, 1) WHERE {passed}")


def overtake(engine: LiveEngine, target: Dataset, values: str) -> None:
    """Insert a row, as somebody who knows nothing of leases, while a job waits at the gate; then open it."""
    deadline = time.monotonic() + 60
    while engine.value(f"SELECT {told('begun', target)}") == "no":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    engine.ask(f"INSERT INTO {target.identifier} VALUES ({values})")
    engine.ask(f"SELECT java_method('java.lang.System', 'setProperty', 'gate-{target.table}', 'open')")
