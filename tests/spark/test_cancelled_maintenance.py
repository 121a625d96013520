"""Maintenance that is cancelled ends, whatever runs its Spark jobs, and leaves the table as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from catchment.engine.protocol import Failed
from catchment.plan.model import Dataset, Maintenance, Rewrite, RewriteManifests
from tests.spark.lake import LiveEngine, delta_table, files, table, writing

EVERYTHING = Rewrite(properties={"rewrite-all": "true"})
MAKE: dict[str, Callable[[str, Path], Dataset]] = {
    "iceberg": lambda name, _: table(name),
    "delta": delta_table,
    "files": lambda name, root: files(root / "drop" / name, "parquet"),
}
SLEEPS = "SELECT count(*) AS n FROM range(0, 12000, 1, {}) WHERE java_method('java.lang.Thread', 'sleep', 50L) IS NULL"


@contextmanager
def without_a_core(engine: LiveEngine, fresh: str) -> Iterator[None]:
    """While another job has every core of an engine, so that no other one gets anywhere."""
    holder = engine.start_job(writing(SLEEPS.format(2), table(f"{fresh}_holder"), name="holder"))
    try:
        assert holder.wait_for("progress").data["total"] == 2
        yield
    finally:
        engine.cancel(holder)
    assert holder.failed().code == "cancelled"


@pytest.mark.parametrize(
    ("format", "operation"),
    [
        ("iceberg", EVERYTHING),
        pytest.param("iceberg", RewriteManifests(), marks=pytest.mark.slow),
        pytest.param("delta", Rewrite(), marks=pytest.mark.slow),
        pytest.param("files", Rewrite(properties={"min-input-files": "2"}), marks=pytest.mark.slow),
    ],
)
def test_it_ends_in_the_middle_of_its_work(
    engine: LiveEngine, root: Path, fresh: str, format: str, operation: Maintenance
) -> None:
    target = MAKE[format](fresh, root)
    for number in range(2):
        engine.run(writing(f"SELECT {number} AS id", target, name=f"w{number}", mode="append"))
    before = engine.health(target)
    with without_a_core(engine, fresh):
        pending = engine.start_maintenance(target, operation)
        engine.cancel(pending)
        ended = pending.answer(30.0)
    assert isinstance(ended, Failed)
    assert ended.code == "cancelled"
    assert engine.health(target) == before
