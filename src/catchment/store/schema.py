"""The tables as the newest migration leaves them: names and types for queries. Keys and indexes live in migrations."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Double, Integer, String, column, literal_column, table
from sqlalchemy.sql.expression import TableClause

runs: TableClause = table(
    "runs",
    column("id", String),
    column("workflow", String),
    column("file", String),
    column("status", String),
    column("reference_time", String),
    column("started", Double),
    column("resumed", Double),
    column("finished", Double),
    column("windows", Integer),
    column("backfill_first", String),
    column("backfill_last", String),
    column("environment", String),
    column("variables", JSON(none_as_null=True)),
    column("selected", JSON(none_as_null=True)),
    column("excluded", JSON(none_as_null=True)),
    column("left_out", JSON(none_as_null=True)),
    column("definition", String),
)

definitions: TableClause = table("definitions", column("id", String), column("content", JSON))

jobs: TableClause = table(
    "jobs",
    column("run_id", String),
    column("name", String),
    column("position", Integer),
    column("status", String),
    column("attempts", Integer),
    column("started", Double),
    column("finished", Double),
    column("error", JSON(none_as_null=True)),
    column("engine_seconds", Double),
)

attempts: TableClause = table(
    "attempts",
    column("run_id", String),
    column("job", String),
    column("number", Integer),
    column("engine", String),
    column("status", String),
    column("started", Double),
    column("finished", Double),
    column("error", JSON(none_as_null=True)),
)

outputs: TableClause = table(
    "outputs",
    column("run_id", String),
    column("job", String),
    column("name", String),
    column("position", Integer),
    column("dataset", String),
    column("write_id", String),
    column("rows_written", BigInteger),
    column("files_written", BigInteger),
    column("snapshot_id", BigInteger),
)

inputs: TableClause = table(
    "inputs",
    column("run_id", String),
    column("job", String),
    column("name", String),
    column("position", Integer),
    column("dataset", String),
    column("bad_rows", BigInteger),
)

events: TableClause = table(
    "events",
    column("run_id", String),
    column("number", Integer),
    column("at", Double),
    column("kind", String),
    column("job", String),
    column("attempt", Integer),
    column("engine", String),
    column("data", JSON),
)

metastore: TableClause = table("metastore", column("id", String))

leases: TableClause = table(
    "leases",
    column("name", String),
    column("owner", String),
    column("fence", BigInteger),
    column("expires", Double),
    column("seconds", Double),
    column("machine", String),
    column("pid", Integer),
    column("born", BigInteger),
)

engines: TableClause = table(
    "engines",
    column("name", String),
    column("engine", String),
    column("spark", String),
    column("master", String),
    column("started", Double),
)

uptime: TableClause = table(
    "uptime",
    column("id", Integer),
    column("since", Double),
    column("heard", Double),
)

readers: TableClause = table(
    "readers",
    column("name", String),
    column("since", Double),
    column("expires", Double),
)

writes: TableClause = table(
    "writes",
    column("write_id", String),
    column("workflow", String),
    column("target", String),
    column("branch", String),
    column("mode", String),
    column("conflict", String),
    column("state", String),
    column("tried", Integer),
    column("owner", String),
    column("buffer", String),
    column("buffered", Boolean),
    column("place", String),
    column("dataset", JSON),
    column("table_uuid", String),
    column("base_schema", Integer),
    column("base_sequence", BigInteger),
    column("base_snapshot", BigInteger),
    column("opened", Double),
    column("sealed", Double),
    column("finished", Double),
    column("number", BigInteger),
    column("rows_written", BigInteger),
    column("bytes_written", BigInteger),
    column("files_written", BigInteger),
    column("descriptors", String),
    column("snapshot_id", BigInteger),
    column("error", JSON(none_as_null=True)),
    column("inputs", JSON(none_as_null=True)),
    column("window_record", JSON(none_as_null=True)),
)

UNFINISHED = writes.c.state.in_((literal_column("'open'"), literal_column("'sealed'")))
"""Literals instead of parameters: a database uses the index of unfinished writes only if it sees the values."""

done: TableClause = table(
    "done",
    column("write_id", String),
    column("target", String),
    column("branch", String),
    column("snapshot_id", BigInteger),
    column("rows_written", BigInteger),
    column("bytes_written", BigInteger),
    column("files_written", BigInteger),
)

seals: TableClause = table(
    "seals",
    column("target", String),
    column("number", BigInteger),
)

leftovers: TableClause = table(
    "leftovers",
    column("buffer", String),
    column("write_id", String),
    column("target", String),
    column("dataset", JSON),
)

states: TableClause = table(
    "states",
    column("workflow", String),
    column("job", String),
    column("input", String),
    column("keys", JSON),
    column("zone", String),
    column("changed", Double),
    column("changed_by", String),
)

windows: TableClause = table(
    "windows",
    column("workflow", String),
    column("job", String),
    column("number", BigInteger),
    column("cause", String),
    column("status", String),
    column("identity", String),
    column("inputs", JSON),
    column("opened", Double),
    column("finished", Double),
    column("engine", String),
    column("backfill_first", String),
    column("backfill_last", String),
    column("person", String),
    column("outputs", JSON(none_as_null=True)),
)

window_runs: TableClause = table(
    "window_runs",
    column("workflow", String),
    column("job", String),
    column("number", BigInteger),
    column("run_id", String),
    column("position", Integer),
)

publications: TableClause = table(
    "publications",
    column("target", String),
    column("number", BigInteger),
    column("id", String),
    column("catalog", String),
    column("file", String),
    column("file_before", String),
    column("snapshot_id", BigInteger),
    column("at", Double),
    column("by_whom", String),
    column("run_id", String),
    column("job", String),
)

schedules: TableClause = table(
    "schedules",
    column("workflow", String),
    column("rule", String),
    column("decided", Double),
)

ticks: TableClause = table(
    "ticks",
    column("workflow", String),
    column("tick", Double),
    column("owner", String),
    column("run_id", String),
    column("tries", Integer),
    column("claimed", Double),
    column("asked", String),
    column("outcome", String),
    column("reason", String),
    column("error", JSON(none_as_null=True)),
)

services: TableClause = table(
    "services",
    column("name", String),
    column("kind", String),
    column("command", JSON),
    column("directory", String),
    column("log", String),
    column("restart", String),
    column("owner", String),
    column("host", String),
    column("machine", String),
    column("pid", Integer),
    column("born", BigInteger),
    column("status", String),
    column("started", Double),
    column("finished", Double),
    column("restarts", Integer),
    column("exit_code", Integer),
    column("error", String),
    column("stop_requested", Boolean),
    column("reported", Boolean),
)
