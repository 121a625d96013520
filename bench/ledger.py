"""A metastore that has grown for years: what engines and people ask of it, beside the budget of each question.

    .venv/bin/python bench/ledger.py [--rows 1000000] [--times 7] [--only sqlite|postgresql]

The ledger is generated on SQLite and on PostgreSQL: nearly all writes are committed long ago, half of them in one
table; some were abandoned, some are under way, and many were committed in the last minutes. Reported: the median of
each question. The exit code is 1 if one of them is over its budget.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, text

from catchment.store import Store, open_store

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.servers import postgres

BUDGET_MS = 20.0
BUSY = "dataos://lake:raw/t0"
"""The table that half of the writes belong to."""
Question = Callable[[], object]

NUMBERS = {
    "sqlite": "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})",
    "postgresql": "WITH n (i) AS (SELECT generate_series(1, {rows}))",
}
NOW = {
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) AS double precision)",
}
JSON = {"sqlite": "", "postgresql": "::json"}
TARGET = "'dataos://lake:raw/t' || (CASE WHEN i % 2 = 0 THEN 0 ELSE i % 200 END)"
# The newest 200 writes are under way, the 3,000 before them are new; one of a thousand of the others was abandoned.
STATE = """CASE WHEN i > {rows} - 50 THEN 'open' WHEN i > {rows} - 200 THEN 'sealed'
    WHEN i <= {rows} - 3200 AND i % 1000 = 0 THEN 'abandoned' ELSE 'committed' END"""
AGE = "CASE WHEN i > {rows} - 3200 THEN ({rows} - i) * 0.08 ELSE 600.0 + ({rows} - i) * 30.0 END"
WRITES = """
    INSERT INTO writes (write_id, workflow, target, branch, mode, conflict, state, tried, owner, buffer, buffered,
        dataset, table_uuid, base_schema, base_sequence, opened, sealed, finished, number, rows_written, bytes_written,
        files_written, descriptors, snapshot_id, error, inputs)
    {numbers}
    SELECT 'run-' || (i / 10) || '/job-' || (i % 10) || '/out', 'flow', {target}, 'main', 'append', 'last-wins',
        {state}, 1, 'engine/host:' || (i / 1000) || ':abcdef01',
        's3a://lake/data/run-' || (i / 10) || '.job-' || (i % 10) || '.out.0a', {true},
        '{{"address": "dataos://lake:raw/t", "depot": "lake", "format": "iceberg"}}', 'uuid', 0, i,
        {now} - ({age}), {now} - ({age}), CASE WHEN i > {rows} - 200 THEN NULL ELSE {now} - ({age}) END, i, 10, 1000, 1,
        NULL, CASE WHEN ({state}) = 'committed' THEN i / 4 END,
        CASE WHEN ({state}) = 'abandoned' THEN '{{"code": "engine-lost", "message": "gone"}}'{json} END, '{{}}'
    FROM n
"""
LEFTOVERS = """
    INSERT INTO leftovers (buffer, write_id, target, dataset)
    SELECT buffer, write_id, target, dataset FROM writes WHERE state = 'abandoned' ORDER BY opened DESC LIMIT 500
"""
LEASES = """
    INSERT INTO leases (name, owner, fence, expires, seconds)
    {numbers} SELECT 'engine/host:' || i || ':abcdef01', 'engine/host:' || i || ':abcdef01', 1,
        CASE WHEN i > {rows} - 20 THEN {now} + 600 ELSE {now} - i END, 600 FROM n
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--only", choices=sorted(NUMBERS))
    asked = parser.parse_args()
    within = True
    for kind in [asked.only] if asked.only else sorted(NUMBERS, reverse=True):
        with _address(kind) as url, open_store(url) as store:
            began = time.monotonic()
            with store.database.writing() as connection:
                fill(connection, asked.rows)
            _analyze(store)
            print(f"{kind}, {asked.rows:,} writes (generated in {time.monotonic() - began:.0f} s)", flush=True)
            within &= measure(store, asked.times)
    sys.exit(0 if within else 1)


def fill(connection: Connection, rows: int) -> None:
    """Write a ledger of years."""
    kind = connection.dialect.name
    words = {"rows": rows, "now": NOW[kind], "target": TARGET, "true": "true", "json": JSON[kind]}
    words |= {"state": STATE.format(**words), "age": AGE.format(**words)}
    for statement, count in ((WRITES, rows), (LEFTOVERS, 0), (LEASES, rows // 1000 + 1)):
        counted = words | {"rows": count, "numbers": NUMBERS[kind].format(rows=count)}
        connection.execute(text(statement.format(**counted).replace(":abcdef01", "\\:abcdef01")))


def measure(store: Store, times: int) -> bool:
    """Ask every question several times; says whether all were within their budgets."""
    questions: dict[str, Question] = {
        "leftovers of a table": lambda: store.ledger.leftovers(BUSY),
        "writers": store.activity.tables,
        "open and sealed writes": store.activity.writes,
        "what is unfinished": store.ledger.unfinished,
        "what is sealed": lambda: store.ledger.pending(BUSY, limit=256),
        "how much is sealed": lambda: store.ledger.count_pending(BUSY),
        "what lost engines left": lambda: store.ledger.ownerless(BUSY),
        "what is in flight": lambda: store.ledger.in_flight(BUSY),
        "one write": lambda: store.ledger.find("run-500/job-5/out"),
    }
    missed = [name for name, ask in questions.items() if not _is_within(name, _median_ms(ask, times))]
    return not missed


def _median_ms(ask: Question, times: int) -> float:
    ask()
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


def _is_within(name: str, median: float) -> bool:
    within = median <= BUDGET_MS
    print(f"  {name:24} {median:8.1f} ms, budget {BUDGET_MS:.0f} ms: {'met' if within else 'MISSED'}", flush=True)
    return within


def _analyze(store: Store) -> None:
    """PostgreSQL does this by itself after a while."""
    with store.database.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("ANALYZE"))


@contextmanager
def _address(kind: str) -> Iterator[str]:
    if kind == "sqlite":
        with tempfile.TemporaryDirectory() as directory:
            yield f"sqlite:///{directory}/metastore.db"
        return
    server = postgres.start()
    try:
        yield server.url
    finally:
        server.stop()


if __name__ == "__main__":
    main()
