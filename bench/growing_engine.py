"""One engine of bench/growth.py: makes tables with a long history, and measures commits to them.

Reads tasks as JSON lines from standard input and answers each with one line. Not for use by itself. It goes through
Catchment's ledger and publisher only, so that an older checkout on the path is measured in the same way.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.writer import Writer
from catchment.errors import Position
from catchment.formats.iceberg.buffered import publisher_of, seal
from catchment.formats.iceberg.catalogs import require_table
from catchment.formats.iceberg.table import LakeTable
from catchment.formats.iceberg.writing import commit
from catchment.formats.model import Write
from catchment.plan.model import Dataset, OutputPlan
from catchment.store.writes import Base, Contents, Intent
from lake import Unheard, serve, start

MEMORY = {"spark.driver.memory": "4g"}
"""A table with 100,000 snapshots takes a few hundred megabytes, and a commit holds it twice."""


@dataclass
class Bench:
    spark: SparkSession
    writer: Writer
    columns: dict[str, list[str]] = field(default_factory=dict)
    """Of each table, those beside `id` and `value`."""
    first: dict[str, int] = field(default_factory=dict)
    """The first snapshot of each table with a history that was made, by its address."""

    def create(self, table: str, snapshots: int = 1, columns: int = 0) -> None:
        """A table of one row, with so many more columns, whose history has so many snapshots."""
        self.columns[table] = [f"c{number}" for number in range(columns)]
        more = "".join(f", {name} INT" for name in self.columns[table])
        self.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.bench")
        self.spark.sql(f"CREATE TABLE lake.bench.{table} (id STRING, value INT{more}) USING iceberg")
        self._sealed(table)
        self._publish(table)
        if snapshots > 1:
            self._lengthen(table, snapshots)

    def commit(self, table: str, *, writes: int = 1, files: int = 1, back: int = 0, widen: bool = False) -> float:
        """Seconds under the lease for one commit.

        `writes` is how many sealed writes it has, `files` how many data files each of them, `back` how many snapshots
        ago they began; `widen`: a column is added after they are sealed.
        """
        model, descriptor = self._sealed(table)
        self._publish(table)
        for _ in range(writes):
            self._seal_like(model, descriptor, files, back)
        if widen:
            self.columns[table].append(f"c{len(self.columns[table])}")
            self.spark.sql(f"ALTER TABLE lake.bench.{table} ADD COLUMN {self.columns[table][-1]} INT")
        gc.collect()
        return self._publish(table)

    def write(self, table: str) -> float:
        """Seconds of one small append, from the look-up of the table to its acknowledgement."""
        write = small_write(table)
        frame = one_row(self.spark, write.id)
        began = time.monotonic()
        commit(self.spark, frame, write, self.writer, Unheard())
        return time.monotonic() - began

    def reopen(self, table: str) -> None:
        """Forget what this engine knows of a table, as if it met it for the first time."""
        self.writer.forget(small_write(table).output.dataset.target)

    def _sealed(self, table: str) -> tuple[Intent, Mapping[str, Any]]:
        """A real write of one row, sealed: its intent and the descriptor of its file."""
        write = small_write(table)
        loaded = LakeTable(self.writer.session, require_table(self.writer.session, write.output.dataset))
        frame = one_row(self.spark, write.id).selectExpr("*", *(f"1 AS {name}" for name in self.columns[table]))
        seal(self.writer, frame, loaded, write, {}, Unheard())
        entry = self.writer.ledger.find(write.id)
        assert entry is not None
        assert entry.contents is not None
        return entry.intent, entry.contents.descriptors[0]

    def _seal_like(self, model: Intent, descriptor: Mapping[str, Any], files: int, back: int) -> None:
        """Another sealed write, of files that nobody reads and that need not be there."""
        name = uuid.uuid4().hex
        buffer = f"{model.buffer}-{name}"
        intent = replace(model, write_id=f"{name}/bench/out", buffer=buffer, base=self._base(model, back))
        made = tuple({**descriptor, "file-path": f"{buffer}/{number}.parquet"} for number in range(files))
        self.writer.ledger.open(intent)
        self.writer.ledger.seal(intent, Contents(made, files, files * int(descriptor["file-size-in-bytes"]), files))

    def _base(self, model: Intent, back: int) -> Base:
        """The state of the table so many snapshots ago; made snapshots are numbered one after the other."""
        if not back:
            return model.base
        sequence = max(1, model.base.sequence - back)
        return replace(model.base, sequence=sequence, snapshot_id=self.first[model.target] + sequence - 1)

    def _publish(self, table: str) -> float:
        publisher = publisher_of(self.writer, small_write(table).output.dataset)
        began = time.monotonic()
        taken = publisher.consolidate()
        elapsed = time.monotonic() - began
        left = self.writer.ledger.count_pending(publisher.target)
        if not taken or left:
            raise RuntimeError(f"{table}: {left} writes were not published")
        return elapsed

    def _lengthen(self, table: str, snapshots: int) -> None:
        """Replace a table by one whose history is so long; all of its snapshots have the same files."""
        loaded = LakeTable(self.writer.session, require_table(self.writer.session, small_write(table).output.dataset))
        metadata, place = loaded.metadata(), str(loaded.java.location()).removeprefix("file:")
        path = Path(place) / "metadata" / f"09999-{uuid.uuid4()}.metadata.json"
        path.write_text(json.dumps(_with_history(metadata, snapshots)))
        catalog = loaded.jvm.iceberg("spark.Spark3Util").loadIcebergCatalog(self.spark._jsparkSession, "lake")
        name = loaded.jvm.iceberg("catalog.TableIdentifier").parse(f"bench.{table}")
        catalog.dropTable(name, False)  # noqa: FBT003
        catalog.registerTable(name, str(path))
        self.first[small_write(table).output.dataset.target] = int(metadata["snapshots"][0]["snapshot-id"])
        self.reopen(table)


def one_row(spark: SparkSession, write_id: str) -> DataFrame:
    """What each write has: one row that says which write it is of."""
    return spark.range(0, 1, 1, 1).selectExpr(f"'{write_id}' AS id", "1 AS value")


def small_write(table: str) -> Write:
    """A new append to a table."""
    place = Dataset(f"dataos://lake:bench/{table}", "lake", "iceberg", "bench", table)
    output = OutputPlan("out", "rows", place, Position("bench", 1, 1), mode="append")
    began = datetime.now(timezone.utc)  # as ids of runs are: they tell how far back a write is looked for
    return Write(output, "bench", "bench", f"{began:%Y%m%d-%H%M%S}-{uuid.uuid4().hex}")


def _with_history(metadata: dict[str, Any], snapshots: int) -> dict[str, Any]:
    [only] = metadata["snapshots"]
    history = [_snapshot(only, number, snapshots) for number in range(1, snapshots + 1)]
    last = history[-1]["snapshot-id"]
    log = [{"snapshot-id": each["snapshot-id"], "timestamp-ms": each["timestamp-ms"]} for each in history]
    refs = {"main": {"snapshot-id": last, "type": "branch"}}
    moved = {"current-snapshot-id": last, "last-sequence-number": snapshots, "refs": refs}
    return {**metadata, **moved, "snapshots": history, "snapshot-log": log, "metadata-log": []}


def _snapshot(only: dict[str, Any], number: int, count: int) -> dict[str, Any]:
    """One of so many snapshots like this one, a millisecond apart; the last one is as old as the original."""
    first = int(only["snapshot-id"])
    parent = {"parent-snapshot-id": first + number - 2} if number > 1 else {}
    summary = {**only["summary"], "catchment.write-ids": f"{uuid.uuid4().hex}/bench/out"}
    numbered = {"snapshot-id": first + number - 1, "sequence-number": number, "summary": summary}
    return {**only, **numbered, **parent, "timestamp-ms": only["timestamp-ms"] - count + number}


def main(lake: str, warehouse: str, jars: str, endpoint: str) -> None:
    bench = Bench(*start(lake, warehouse, jars, endpoint, MEMORY))
    serve(bench)


if __name__ == "__main__":
    main(*sys.argv[1:])
