"""Rows in a JSON file, through ledger, lease and group commit like any other format."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import faults
from catchment.commit.listener import Listener
from catchment.commit.publisher import Check, Outcome, Publisher
from catchment.commit.recovery import Recovered, keep_buffers, recover
from catchment.commit.writer import Writer
from catchment.formats.model import EarlierWrite, Write, Written, written
from catchment.plan.model import Dataset, InputPlan, OutputPlan
from catchment.store.ledger import Ledger
from catchment.store.writes import NO_BRANCH, Base, Contents, Entry, Intent

NO_BASE = Base("", 0, 0, None)
EMPTY: dict[str, Any] = {"schema": "", "rows": [], "writes": []}


def open_format(name: str) -> Toy:
    return Toy()


@dataclass(frozen=True)
class File:
    """One JSON file as the destination of writes. It remembers their ids, so that none is applied twice."""

    path: Path
    ledger: Ledger
    batch: int = 16
    removes_buffers: bool = True

    def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
        now, outcome = self.contents(), Outcome()
        for write in batch:
            if write.write_id not in now["writes"]:
                now = _applied(now, write)
            outcome.committed[write.write_id] = None
        self.ledger.mark_tried(batch)
        check()
        self._replace(now)
        return outcome

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        return tuple(buffers)  # the rows are in the ledger: there is nothing to remove

    def contents(self) -> dict[str, Any]:
        return dict(json.loads(self.path.read_text())) if self.path.exists() else EMPTY

    def _replace(self, contents: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(f".{self.path.name}.{uuid.uuid4().hex}")
        new.write_text(json.dumps(contents))
        new.replace(self.path)


class Toy:
    """What is asked of a format that can be read, written and recovered."""

    def read(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        found = json.loads(Path(str(source.dataset.path)).read_text())
        return spark.createDataFrame([tuple(row) for row in found["rows"]], found["schema"])

    def input_version(self, spark: SparkSession, source: InputPlan) -> str | None:
        return None

    def begin(self, spark: SparkSession, output: OutputPlan) -> Base | None:
        return None

    def earlier(self, spark: SparkSession, write: Write, writer: Writer) -> EarlierWrite | None:
        known = writer.earlier(write.id, write.output.dataset.target)
        return EarlierWrite(written(known), known.state == "committed", known.intent.inputs) if known else None

    def write(self, spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
        dataset = write.output.dataset
        publisher = writer.admitted(dataset.target, partial(_file, writer, dataset), listener)
        columns = [field.column for field in write.output.partitions]
        writer.seal_once(_intent(write, writer.owner), partial(_filled, frame, columns), listener)
        done = written(publisher.publish(write.id, listener.warn))
        if write.output.mode == "overwrite-partitions" and not done.rows:
            listener.warn(f"output {write.output.name} has no rows: no partition is replaced")
        return done

    def recover(self, spark: SparkSession, dataset: Dataset, writer: Writer, *, remove: bool) -> Recovered:
        publisher: Publisher[File] = writer.publisher(dataset.target, partial(_file, writer, dataset))
        return recover(publisher, publisher.destination.tidy if remove else keep_buffers)


def _file(writer: Writer, dataset: Dataset) -> File:
    return File(Path(str(dataset.path)), writer.ledger)


def _filled(frame: DataFrame, columns: Sequence[str]) -> Contents:
    faults.point("before-data-written")
    rows = [list(row) for row in frame.collect()]
    faults.point("data-written")
    schema = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema.fields)
    parts = [frame.columns.index(column) for column in columns]
    return Contents(({"schema": schema, "parts": parts, "rows": rows},), len(rows), 0, 1 if rows else 0)


def _intent(write: Write, owner: str) -> Intent:
    output = write.output
    buffer = f"{output.dataset.target}/{uuid.uuid4().hex}"
    return Intent(
        *(write.id, write.workflow, output.dataset.target, NO_BRANCH, output.mode, "last-wins", owner, buffer, NO_BASE),
        dataset=asdict(output.dataset),
        inputs=write.inputs,
    )


def _applied(contents: dict[str, Any], write: Entry) -> dict[str, Any]:
    [sealed] = write.contents.descriptors if write.contents else ()
    replaced = {_part(sealed, row) for row in sealed["rows"]}
    kept = {
        "append": contents["rows"],
        "overwrite": [],
        "overwrite-partitions": [row for row in contents["rows"] if _part(sealed, row) not in replaced],
    }[write.intent.mode]
    writes = [*contents["writes"], write.write_id]
    return {"schema": sealed["schema"], "rows": [*kept, *sealed["rows"]], "writes": writes}


def _part(sealed: Mapping[str, Any], row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(row[index] for index in sealed["parts"])
