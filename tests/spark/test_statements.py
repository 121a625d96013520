"""What SQL may do: queries and steps read, unless somebody has said that they may do more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from catchment.plan.model import JobPlan
from tests.concurrency.invariants import ids
from tests.spark.lake import (
    LiveEngine,
    changing,
    delta_table,
    job,
    lake_depot,
    output,
    step,
    table,
    windowed,
    writing,
)

WRITES = (
    "INSERT INTO IDENTIFIER('lake' || '.raw.{1}') VALUES (2)",
    "WITH more AS (SELECT 2 AS id) INSERT INTO {0} SELECT * FROM more",
    "FROM VALUES (2) AS v(id) INSERT INTO {0} SELECT id INSERT INTO {0} SELECT id",
    "DROP TABLE {0} PURGE",
    "CREATE TABLE {0}_more AS SELECT 1 AS id",
    "CREATE GLOBAL TEMPORARY VIEW everywhere AS SELECT 1 AS id",
    "CALL lake.system.expire_snapshots(table => 'raw.{1}')",
    "SELECT (SELECT max(id) FROM (SELECT TRANSFORM(id) USING 'cat' AS (id) FROM {0}))",
    "SELECT id FROM {0} WHERE id IN (SELECT length(IDENTIFIER('ref' || 'lect')('java.lang.System', 'lineSeparator')))",
)
MORE_WRITES = (
    "INSERT INTO {0} VALUES (2)",
    "DELETE FROM {0}",
    "UPDATE {0} SET id = 9",
    "MERGE INTO {0} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "TRUNCATE TABLE {0}",
    "CREATE OR REPLACE TABLE {0} AS SELECT 1 AS other",
    "ALTER TABLE {0} ADD COLUMN more INT",
    "ALTER TABLE {0} CREATE BRANCH side",
    "CREATE NAMESPACE lake.{1}",
    "CREATE VIEW kept AS SELECT 1 AS id",
    "CREATE FUNCTION kept AS 'a.b.C'",
    "INSERT OVERWRITE DIRECTORY '/tmp/catchment-nobody-writes-this' USING parquet SELECT 1",
    "ADD FILE '/etc/hostname'",
    "SELECT TRANSFORM(id) USING 'cat' AS (id) FROM {0}",
    "CACHE TABLE some AS SELECT TRANSFORM(id) USING 'cat' AS (id) FROM {0}",
    "SELECT java_method('java.util.UUID', 'randomUUID')",
    "CACHE TABLE some AS SELECT reflect('java.util.UUID', 'randomUUID')",
    "EXPLAIN SELECT reflect('java.util.UUID', 'randomUUID') FROM VALUES (1)",
    "CREATE TEMPORARY FUNCTION anything AS 'a.b.C'",
)
NEWER = (
    "EXECUTE IMMEDIATE 'INSERT INTO {0} VALUES (2)'",
    "EXPLAIN EXECUTE IMMEDIATE 'INSERT INTO {0} VALUES (2)'",
    "CALL IDENTIFIER('lake.system' || '.expire_snapshots')(table => 'raw.{1}')",
    "BEGIN INSERT INTO {0} VALUES (2); END",
    "SELECT transform(array(1), x -> try_reflect('java.util.UUID', 'randomUUID'))",
)
"""Statements that Spark 3.5 does not know. Spark 4 runs them while it analyses them."""
READS = (
    "SELECT id FROM IDENTIFIER('lake' || '.raw.{1}')",
    "WITH some AS (SELECT id FROM {0}) SELECT * FROM some",
    "EXPLAIN INSERT INTO {0} VALUES (2)",
    "SELECT uuid(), id + rand() FROM {0}",
)
MORE_READS = (
    "TABLE {0}",
    "VALUES (1)",
    "SHOW TABLES IN lake.raw",
    "DESCRIBE TABLE EXTENDED {0}",
    "SET spark.sql.shuffle.partitions = 3",
    "USE lake.raw",
    "CACHE TABLE some AS SELECT id FROM {0}",
    "CREATE TEMPORARY VIEW text (line STRING) USING text OPTIONS (path '/etc/hostname')",
)


def publish(engine: LiveEngine, name: str) -> None:
    engine.change(changing(table(name), "set_version", value="latest"))


def published(engine: LiveEngine, name: str) -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT id FROM lake_published.raw.{name} ORDER BY id")]


def check_reading_only(engine: LiveEngine, name: str, writes: tuple[str, ...], reads: tuple[str, ...]) -> None:
    engine.run(writing("SELECT 1 AS id", table(name)))
    full = f"lake.raw.{name}"
    for sql in writes:
        assert engine.refused_query(sql.format(full, name)).code == "side-effects", sql
    for sql in reads:
        engine.ask(sql.format(full, name), write=False)
    assert engine.rows(f"SELECT id FROM {full}") == [(1,)]
    assert len(engine.inspect("snapshots", table(name))["snapshots"]) == 1


def test_a_query_only_reads(engine: LiveEngine, fresh: str) -> None:
    check_reading_only(engine, fresh, WRITES + NEWER, READS)


@pytest.mark.slow
def test_every_statement_that_is_more_than_a_query(engine: LiveEngine, fresh: str) -> None:
    check_reading_only(engine, fresh, MORE_WRITES, MORE_READS)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_query_only_reads_on_spark_3(start_spark_3: Callable[..., LiveEngine], fresh: str, root: Path) -> None:
    older = start_spark_3(lake_depot(root), key="older")
    check_reading_only(older, fresh, WRITES + MORE_WRITES, READS + MORE_READS)
    check_published(older, fresh, PUBLISHED_WRITES)


def test_a_query_writes_if_it_may(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing("SELECT 1 AS id", table(fresh)))
    engine.ask(f"INSERT INTO lake.raw.{fresh} VALUES (2)", write=True)
    assert ids(engine, fresh) == [1, 2]


def test_a_step_with_side_effects_says_so(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing("SELECT 1 AS id", table(fresh)))

    def counting(side_effects: bool) -> JobPlan:
        steps = [step("noting", f"INSERT INTO lake.raw.{fresh} VALUES (2)"), step("rows", "SELECT 3 AS id")]
        return replace(job(output("rows", table(f"{fresh}_out")), steps=steps), side_effects=side_effects)

    failed = engine.fail(counting(side_effects=False))
    assert (failed.code, failed.retryable, bool(failed.where)) == ("side-effects", False, True)
    assert ids(engine, fresh) == [1]
    engine.run(counting(side_effects=True))
    assert (ids(engine, fresh), ids(engine, f"{fresh}_out")) == ([1, 2], [3])


def test_a_step_does_not_call_java_unless_it_says_so(engine: LiveEngine, fresh: str) -> None:
    def calling(*steps: str, side_effects: bool = False) -> JobPlan:
        named = [step(f"s{number}", sql) for number, sql in enumerate(steps)]
        plain = job(output(named[-1].name, table(fresh)), steps=named)
        return replace(plain, side_effects=side_effects)

    call = "reflect('java.lang.Integer', 'toString', 7)"
    view, function = f"CREATE TEMPORARY VIEW v AS SELECT {call} AS id", "CREATE TEMPORARY FUNCTION f() RETURNS STRING"
    for steps in ([f"SELECT {call} AS id"], [view, "SELECT * FROM v"], [f"{function} RETURN {call}", "SELECT f() id"]):
        assert engine.fail(calling(*steps)).code == "side-effects", steps
    engine.run(calling(f"SELECT {call} AS id", side_effects=True))
    assert engine.rows(f"SELECT id FROM lake.raw.{fresh}") == [("7",)]


def test_an_exception_without_a_message_says_who_threw_it(engine: LiveEngine, fresh: str) -> None:
    """Iceberg's parser does not know the parameters of SQL functions, and says nothing but that."""
    function = step("f", "CREATE TEMPORARY FUNCTION twice(x INT) RETURNS INT RETURN 2 * x")
    failed = engine.fail(job(output("rows", table(fresh)), steps=[function, step("rows", "SELECT twice(1) AS id")]))
    assert "IcebergSparkSqlExtensionsParser" in failed.message


def test_steps_that_stay_in_their_session_need_not_say_so(engine: LiveEngine, fresh: str) -> None:
    steps = [
        step("first", "SELECT 1 AS id"),
        step("cached", "CACHE TABLE first"),
        step("made", "CREATE TEMPORARY VIEW second AS SELECT id + 1 AS id FROM first"),
        step("variable", "DECLARE VARIABLE more INT DEFAULT 1"),
        step("more", "SET VAR more = (SELECT max(id) FROM second)"),
        step("setting", "SET spark.sql.shuffle.partitions = 2"),
        step("rows", "SELECT id + more AS id FROM second"),
    ]
    engine.run(job(output("rows", table(fresh)), steps=steps))
    assert ids(engine, fresh) == [4]


def test_keys_of_a_window_only_read(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing("SELECT 1 AS id", table(fresh)))
    keys = {"start": f"DELETE FROM lake.raw.{fresh}"}
    source = windowed("rows", table(fresh), "SELECT * FROM all_rows WHERE id > $|start|", keys, {})
    failed = engine.fail(job(output("rows", table(f"{fresh}_out")), inputs=[source]))
    assert (failed.code, str(failed.where)) == ("side-effects", "workflow.yaml:30:9")
    assert ids(engine, fresh) == [1]


def test_views_may_have_names_that_must_be_quoted(engine: LiveEngine, fresh: str) -> None:
    steps = [step("größe", "SELECT 1 AS id"), step("1", "SELECT * FROM `größe`"), step("select", "SELECT * FROM `1`")]
    engine.run(job(output("1", table(fresh)), output("select", table(f"{fresh}_b"), name="two"), steps=steps))
    assert ids(engine, fresh) == ids(engine, f"{fresh}_b") == [1]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_sql_may_be_nested_deeply(engine: LiveEngine, fresh: str, root: Path) -> None:
    engine.run(writing("SELECT 1 AS id", delta_table(fresh, root)))
    for depth in (50, 100):
        brackets = f"SELECT {'(' * depth}id{')' * depth} FROM events.raw.{fresh}"
        queries = f"SELECT * FROM {'(SELECT * FROM ' * depth}events.raw.{fresh}{')' * depth}"
        assert engine.rows(brackets) == engine.rows(queries) == [(1,)]
        engine.run(writing(brackets, table(fresh)))
    assert ids(engine, fresh) == [1]
    for depth in (500, 5000):
        assert engine.refused_query(f"SELECT {'(' * depth}1{')' * depth}").code == "sql-too-deep"


PUBLISHED_WRITES = (
    "INSERT INTO lake_published.raw.{0} VALUES (2)",
    "INSERT INTO IDENTIFIER('lake' || '_published.raw.{0}') VALUES (2)",
    "DELETE FROM lake_published.raw.{0}",
    "UPDATE lake_published.raw.{0} SET id = 9",
    "DROP TABLE lake_published.raw.{0} PURGE",
    "DROP TABLE lake_published.raw.{0}",
    "CREATE TABLE lake_published.raw.{0}_more (id INT)",
    "ALTER TABLE lake_published.raw.{0} ADD COLUMN more INT",
    "ALTER TABLE lake_published.raw.{0} CREATE BRANCH side",
    "CALL lake_published.system.remove_orphan_files(table => 'raw.{0}')",
    "SET spark.sql.catalog.lake_published.jdbc.open_mode = 6",
)
NEWER_PUBLISHED_WRITES = (
    "EXECUTE IMMEDIATE 'INSERT INTO lake_published.raw.{0} VALUES (2)'",
    "CALL IDENTIFIER('lake_published' || '.system.remove_orphan_files')(table => 'raw.{0}')",
    "BEGIN USE lake_published; CALL system.remove_orphan_files(table => 'raw.{0}'); END",
)


def check_published(engine: LiveEngine, name: str, statements: tuple[str, ...]) -> None:
    publish(engine, name)
    engine.run(writing("SELECT 5 AS id", table(name)))
    for sql in statements:
        failed = engine.refused_query(sql.format(name), write=True)
        assert failed.code == "published-read-only", (sql, failed)
        steps = [step("noting", sql.format(name)), step("rows", "SELECT 3 AS id")]
        failed = engine.fail(replace(job(output("rows", table(f"{name}_out")), steps=steps), side_effects=True))
        assert (failed.code, failed.retryable) == ("published-read-only", False), sql
    assert (published(engine, name), ids(engine, name)) == ([1], [5])


def test_a_query_of_published_versions_reads_nothing_else(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing("SELECT 1 AS id", table(fresh)))
    publish(engine, fresh)
    engine.run(writing("SELECT 5 AS id", table(fresh)))
    plain, hidden = f"lake.raw.{fresh}", f"IDENTIFIER('la' || 'ke.raw.{fresh}')"
    assert engine.rows(f"SELECT id FROM {plain}", published=True) == [(1,)]
    assert engine.rows(f"SELECT id FROM IDENTIFIER('lake' || '_published.raw.{fresh}')", published=True) == [(1,)]
    reads = (f"SELECT id FROM {hidden}", f"SELECT 1 WHERE 1 IN (SELECT id FROM {hidden})", f"DESCRIBE TABLE {hidden}")
    for sql in reads:
        assert engine.refused_query(sql, published=True).code == "unpublished-read", sql
        engine.ask(sql)


@pytest.mark.slow
def test_nobody_writes_to_a_published_catalog(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing("SELECT 1 AS id", table(fresh)))
    check_published(engine, fresh, PUBLISHED_WRITES + NEWER_PUBLISHED_WRITES)
    setting = {"spark.sql.catalog.lake_published.jdbc.open_mode": "6"}
    assert engine.fail(replace(writing("SELECT 1 AS id", table(fresh)), conf=setting)).code == "published-read-only"
    steps = [step("use", "USE lake_published"), step("call", f"CALL system.expire_snapshots(table => 'raw.{fresh}')")]
    assert engine.fail(replace(job(steps=steps), side_effects=True)).code == "published-read-only"
