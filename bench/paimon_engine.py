"""One engine of bench/writers.py for Paimon tables, which need Spark 3.5. Not for use by itself."""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import DataFrame

from catchment.formats.model import Write
from catchment.formats.paimon import writing as paimon
from catchment.formats.paimon.format import Paimon
from catchment.formats.paimon.traits import TRAITS
from catchment.plan.model import Dataset
from catchment.project.model import Catalog, Depot
from lake import Unheard, serve, start
from writing_engine import Bench

PLAIN, LOCKED, OURS = "paimon-plain", "paimon-locked", "paimon"
DEPOTS = {PLAIN: "pond_plain", LOCKED: "pond_locked", OURS: "pond"}


class PaimonBench(Bench):
    """Small appends to append tables without buckets, which need no compaction of their writers."""

    def create(self, table: str, way: str) -> None:
        self.spark.sql(f"CREATE DATABASE IF NOT EXISTS {DEPOTS[way]}.bench")
        properties = "TBLPROPERTIES ('write-only'='true')"
        self.spark.sql(f"CREATE TABLE {self._dataset(table, way).identifier} (id STRING, value INT) {properties}")

    def look(self, table: str, way: str) -> dict[str, Any]:
        name = f"{DEPOTS[way]}.bench"
        [row] = self.spark.sql(f"SELECT count(*), count(DISTINCT id) FROM {name}.{table}").collect()
        [snapshots] = self.spark.sql(f"SELECT count(*) FROM {name}.`{table}$snapshots`").collect()
        return {"rows": row[0], "ids": row[1], "snapshots": snapshots[0]}

    def _put(self, frame: DataFrame, write: Write, way: str) -> None:
        if way == OURS:
            paimon.commit(self.spark, frame, write, self.writer, Unheard())
        else:
            frame.write.insertInto(write.output.dataset.identifier)

    def _dataset(self, table: str, way: str) -> Dataset:
        return Dataset(f"dataos://{DEPOTS[way]}:bench/{table}", DEPOTS[way], "paimon", "bench", table)


def _depots(lake: str, warehouse: str) -> tuple[Depot, ...]:
    """Without a lock; with the lock of a catalog on SQLite; and as Catchment configures that catalog."""
    return (
        Depot(DEPOTS[PLAIN], "paimon", f"{warehouse}/plain", Catalog("filesystem")),
        *(
            Depot(name, "paimon", f"{warehouse}/{name}", Catalog(database=f"{lake}/{name}.db", properties=locked))
            for name, locked in ((DEPOTS[LOCKED], {"lock.enabled": "true"}), (DEPOTS[OURS], {}))
        ),
    )


def main(lake: str, warehouse: str, jars: str, endpoint: str) -> None:
    settings = {
        "spark.sql.extensions": str(TRAITS.extension),
        **TRAITS.settings(_depots(lake, warehouse), "3.5", local=True),
    }
    bench = PaimonBench(*start(lake, warehouse, jars, endpoint, settings), warehouse)
    Paimon().prepare(bench.spark)
    serve(bench)


if __name__ == "__main__":
    main(*sys.argv[1:])
