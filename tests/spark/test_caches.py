"""What a job caches is its own: Spark has one cache for all sessions of an engine."""

from __future__ import annotations

import itertools
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
    names = [named, f"IDENTIFIER('{named}')"][: 1 if kind == "delta" else 2]  # Delta does not know paths by expression
    for effects, name in itertools.product((False, True), names):
        refused = engine.refused_query(f"CACHE TABLE {name}", write=effects)
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


def by_uuid(source: str) -> StepPlan:
    """Rows that are other ones whenever they are computed."""
    return step("rows", f"SELECT java_method('java.util.UUID', 'randomUUID') AS id FROM {source}")


OTHERS = {
    "clearing": ("CLEAR CACHE", "EXECUTE IMMEDIATE 'SELECT 1'"),
    "uncaching": ("UNCACHE TABLE {files}", "UNCACHE TABLE {lake}", "UNCACHE TABLE IF EXISTS nothing"),
    "caching": ("CACHE TABLE {lake}", "CREATE TEMP VIEW rows AS SELECT id FROM {lake}", "CACHE TABLE rows"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_a_job_has_cached_stays_whatever_others_do(engine: LiveEngine, fresh: str, root: Path, other: str) -> None:
    source, both = files(root / "drop" / fresh, "parquet"), (table(fresh), table(f"{fresh}_late"))
    engine.run(writing("SELECT id FROM range(3)", source, mode="append"))
    engine.run(writing("SELECT id FROM range(3)", table(f"{fresh}_source"), mode="append"))
    inputs = [reading("source", source), reading("more", table(f"{fresh}_source"))]
    late = step("late", "SELECT rows.id FROM rows, gate WHERE seen > 0")
    steps = (by_uuid("source JOIN more USING (id)"), step("cached", "CACHE TABLE rows"), gate(both[0]), late)
    outputs = (output("rows", both[0], name="rows"), output("late", both[1], name="late"))
    caching = engine.start_job(job(*outputs, inputs=inputs, steps=steps))
    with at_gate(engine, both[0]):
        places = {"files": f"parquet.`{source.path}`", "lake": f"lake.raw.{fresh}_source"}
        statements = [step(f"s{number}", sql.format(**places)) for number, sql in enumerate(OTHERS[other])]
        engine.start_job(job(steps=statements, side_effects=True)).answer()
    caching.done()
    early, late_rows = (set(engine.rows(f"SELECT id FROM {each.identifier}")) for each in both)
    assert (len(early), late_rows) == (3, early)


def test_what_others_may_have_cached_is_not_refreshed(engine: LiveEngine, fresh: str, root: Path) -> None:
    engine.run(writing("SELECT 1 AS id", table(fresh)))
    for statement in (f"REFRESH TABLE lake.raw.{fresh}", f"REFRESH '{root / 'drop'}'"):
        assert engine.refused_query(statement).code == "side-effects"


@pytest.mark.parametrize("hiding", ["BEGIN {}; END", "EXECUTE IMMEDIATE '{}'", "EXPLAIN EXECUTE IMMEDIATE '{}'"])
def test_what_nobody_sees_before_it_runs_caches_nothing(engine: LiveEngine, hiding: str) -> None:
    assert engine.refused_query(hiding.format("CACHE TABLE rows"), write=True).code == "shared-cache"


def test_a_job_may_drop_what_it_has_cached(engine: LiveEngine, fresh: str) -> None:
    for drop in ("UNCACHE TABLE rows", "CLEAR CACHE", "UNCACHE TABLE IF EXISTS ROWS"):
        steps = (
            by_uuid("range(3)"),
            step("cached", "CACHE TABLE rows"),
            step("again", "CACHE TABLE kept AS SELECT * FROM rows"),
            step("dropped", drop),
            step("both", "SELECT count(DISTINCT id) AS id FROM (TABLE rows UNION ALL TABLE kept)"),
        )
        engine.run(job(output("both", table(fresh)), steps=steps))
        assert ids(engine, fresh) == [6], drop


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
