"""What a job caches is its own: Spark has one cache for all sessions of an engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.plan.model import Dataset, JobPlan, StepPlan
from tests.concurrency.invariants import ids
from tests.spark.lake import LiveEngine, by, delta_table, files, job, output, reading, step, table, writing
from tests.spark.overtaking import at_gate, gate

KINDS = {
    "delta": lambda root, name: delta_table(name, root),
    "files": lambda root, name: files(root / "drop" / name, "parquet"),
    "iceberg": lambda root, name: table(name),
}
WAYS = {
    "view": ("CACHE TABLE rows", "rows"),
    "query": ("CACHE TABLE `kept rows` OPTIONS ('storageLevel' = 'DISK_ONLY') AS SELECT id FROM rows", "`kept rows`"),
    "lazy": ("CACHE LAZY TABLE kept AS SELECT id FROM rows", "kept"),
}


def counting(source: Dataset, target: Dataset, *steps: StepPlan, rows: str = "rows") -> JobPlan:
    """A job that counts the rows of a table."""
    counted = step("counted", f"SELECT count(*) AS id FROM {rows}")
    return job(output("counted", target, mode="append"), inputs=[reading("rows", source)], steps=[*steps, counted])


@pytest.mark.parametrize("way", ["view", "query", pytest.param("lazy", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["delta", "files", pytest.param("iceberg", marks=pytest.mark.slow)])
def test_what_a_job_caches_is_not_read_by_others(
    engine: LiveEngine, fresh: str, root: Path, kind: str, way: str
) -> None:
    statement, name = WAYS[way]
    source, counts = KINDS[kind](root, fresh), table(f"{fresh}_counts")
    engine.run(writing("SELECT id FROM range(5)", source, mode="append"))
    cached, filled = step("cached", statement), step("filled", f"SELECT max(id) AS most FROM {name}")
    used = step("both", f"SELECT {name}.* FROM {name}, gate WHERE seen > 0")
    caching = engine.start_job(counting(source, counts, cached, filled, gate(counts), used, rows="both"))
    with at_gate(engine, counts):
        engine.run(writing("SELECT id FROM range(5, 12)", source, mode="append"))
        engine.run(counting(source, counts))
        assert ids(engine, counts.table or "") == [12]
    caching.done()


@pytest.mark.parametrize("kind", ["delta", "files"])
def test_a_table_is_cached_under_a_name_of_the_job(engine: LiveEngine, fresh: str, root: Path, kind: str) -> None:
    source = KINDS[kind](root, fresh)
    engine.run(writing("SELECT id FROM range(5)", source, mode="append"))
    named = f"{'delta' if kind == 'delta' else 'parquet'}.`{source.path}`"
    for effects in (False, True):
        refused = engine.refused_query(f"CACHE TABLE {named}", write=effects)
        assert (refused.code, "AS SELECT" in (refused.hint or "")) == ("shared-cache", True)
    steps = step("cached", f"CACHE TABLE mine AS SELECT * FROM {named}"), step("rows", "SELECT sum(id) AS id FROM mine")
    engine.run(job(output("rows", table(f"{fresh}_sum")), steps=steps))
    assert ids(engine, f"{fresh}_sum") == [10]


def test_a_name_that_is_taken_is_not_cached_again(engine: LiveEngine, fresh: str) -> None:
    steps = step("rows", "SELECT 1 AS id"), step("cached", "CACHE TABLE rows AS SELECT 2 AS id")
    failed = engine.fail(job(output("rows", table(fresh)), steps=steps))
    assert "already exists" in failed.message


def test_outputs_of_what_is_cached_are_the_same_rows(engine: LiveEngine, fresh: str) -> None:
    steps = (
        step("rows", "SELECT java_method('java.util.UUID', 'randomUUID') AS id FROM range(3)"),
        step("early", "SELECT id FROM rows"),
        step("cached", "CACHE TABLE rows"),
        step("late", "SELECT id FROM rows"),
    )
    sources = ("rows", "early", "late")
    engine.run(job(*(output(each, table(f"{fresh}_{each}"), name=each) for each in sources), steps=steps))
    found = [set(engine.rows(f"SELECT id FROM lake.raw.{fresh}_{each}")) for each in sources]
    assert found == [found[0]] * 3
    assert len(found[0]) == 3


@pytest.mark.parametrize(
    "way", ["CACHE TABLE {0}", "CREATE OR REPLACE TEMP VIEW totals AS TABLE {0}; CACHE TABLE totals"]
)
def test_a_job_that_runs_again_after_a_conflict_caches_the_new_state(engine: LiveEngine, fresh: str, way: str) -> None:
    target, partitions = table(fresh), (by("identity", "part"),)
    engine.run(writing("SELECT 1L AS id, 0 AS part", target, partitions=partitions))
    cached = [step(f"s{number}", sql.format(f"lake.raw.{fresh}")) for number, sql in enumerate(way.split("; "))]
    totals = "totals" if len(cached) > 1 else f"lake.raw.{fresh}"
    rows = step("rows", f"SELECT sum(id) + 10 AS id, 0 AS part FROM {totals}, gate WHERE seen > 0")
    written = output("rows", target, mode="overwrite-partitions", partitions=partitions, conflict="rerun")
    adding = engine.start_job(job(written, steps=[*cached, gate(target), rows]))
    with at_gate(engine, target):
        engine.run(writing("SELECT 5L AS id, 0 AS part", target, mode="append"))
    adding.done()
    assert ids(engine, fresh) == [16]
