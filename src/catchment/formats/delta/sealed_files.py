"""What a sealed append keeps in the ledger: the table as it was, and the files, as Delta's own JSON."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from catchment.commit import faults
from catchment.errors import CatchmentError, CommitConflict, JobError
from catchment.formats.delta.log import Head, Log
from catchment.formats.delta.transaction import DELTA, Transaction
from catchment.jvm.classes import Jvm, java_class
from catchment.store.writes import Contents, Entry

ADD, TABLE = "add", "table"
AT_ONCE = 1_000
"""The most actions that the JVM holds as text at one time: a write may have any number of files."""
SHORT = 65_536
"""In characters; a longer text is passed faster through a file."""
SAFE_SECONDS = 3600.0
"""Files younger than this are not checked before they are committed, because VACUUM leaves new files alone."""
CHECKED_PROPERTIES = ("delta.columnMapping.", "delta.constraints.", "delta.enableIcebergCompat")
"""Properties that decide what a file must look like and which rows it may hold."""
IDENTITY = "delta.identity."
COMPUTED = ("delta.generationExpression", IDENTITY)
"""Metadata of columns whose values the writer computes."""


def fill(log: Log, head: Head, frame: DataFrame, options: Mapping[str, str]) -> Contents:
    """Write the rows as files of the table that nothing refers to yet, and describe them.

    Delta has already read the length of every file from the store, so it is not checked again.
    """
    transaction = Transaction.begin(log, head.snapshot, frame, "Append", options)
    faults.point("before-data-written")
    filled = transaction.fill()
    faults.point("data-written")
    files = _as_json(log.spark, filled.actions())
    if any("modificationTime" not in file for file in files):
        raise JobError(
            f"Delta wants to commit more than files to {log.path}",
            code="not-appendable",
            hint="set `mergeSchema: true` on the output, so that Delta itself commits",
        )
    described = {TABLE: {"metaData": head.metadata, "protocol": head.protocol}}
    return Contents(
        (described, *({ADD: file} for file in files)) if files else (),
        sum(_rows(file) for file in files),
        sum(int(file["size"]) for file in files),
        len(files),
    )


def files_of(write: Entry) -> list[Mapping[str, Any]]:
    """The files of a sealed write."""
    descriptors = write.contents.descriptors if write.contents else ()
    return [descriptor[ADD] for descriptor in descriptors if ADD in descriptor]


def as_actions(spark: SparkSession, kind: str, described: Iterable[Mapping[str, Any]]) -> Any:
    """A Java list of Delta's actions of one kind, from their JSON."""
    mapper, actions = _mapper(spark), Jvm.of(spark)("java.util.ArrayList")()
    kinds = java_class(spark, "java.util.ArrayList"), java_class(spark, f"{DELTA}.actions.{kind}")
    listed, left = mapper.getTypeFactory().constructCollectionType(*kinds), iter(described)
    while some := list(islice(left, AT_ONCE)):
        actions.addAll(_read(spark, json.dumps(some), listed))
    return actions


def _read(spark: SparkSession, text: str, kind: Any) -> Any:
    if len(text) < SHORT:
        return _mapper(spark).readValue(text, kind)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "actions.json"
        path.write_text(text, encoding="utf-8")
        return _mapper(spark).readValue(Jvm.of(spark)("java.io.File")(str(path)), kind)


def numbers_rows(head: Head) -> bool:
    """Whether the table numbers its rows: Delta then commits the last number together with the files."""
    return any(key.startswith(IDENTITY) for field in head.schema.fields for key in field.metadata)


def refusal(write: Entry, head: Head) -> CatchmentError | None:
    """The error if the files of a sealed write no longer fit the table; None if they do."""
    if head.id != write.intent.base.table_uuid:
        return JobError(
            f"{write.intent.target} was dropped and created again while {write.write_id} was being written",
            code="table-replaced",
            hint="run the job again: its rows were written for the dropped table",
        )
    changed = _changed(_table(write), head)
    if changed is None:
        return None
    return CommitConflict(
        f"{write.intent.target} got {changed} while {write.write_id} was being written",
        code="schema-changed",
        hint="run the job again: its rows are then fitted to the table as it is now",
    )


def vanished(log: Log, write: Entry) -> JobError | None:
    """The error if files that waited for long are no longer in the store: VACUUM removes what nothing refers to."""
    waited_since = (time.time() - SAFE_SECONDS) * 1000
    jvm = Jvm.of(log.spark)
    for file in (file for file in files_of(write) if file["modificationTime"] < waited_since):
        path = jvm("org.apache.hadoop.fs.Path")(f"{log.path.rstrip('/')}/{unquote(file['path'])}")
        if not path.getFileSystem(log.spark._jsparkSession.sessionState().newHadoopConf()).exists(path):
            return JobError(
                f"{file['path']} of {write.write_id} is gone from {write.intent.target}",
                code="files-vanished",
                hint="run the job again in a new run; run `catchment recover` before VACUUM removes files",
            )
    return None


def _as_json(spark: SparkSession, actions: Any) -> Sequence[Mapping[str, Any]]:
    # Through a file and all at once: a call for each file, or an answer of more than 8 kB, is slow.
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "files.json"
        _mapper(spark).writeValue(Jvm.of(spark)("java.io.File")(str(path)), actions)
        return list(json.loads(path.read_text(encoding="utf-8")))


def _mapper(spark: SparkSession) -> Any:
    return Jvm.of(spark)(f"{DELTA}.util.JsonUtils").mapper()


def _rows(file: Mapping[str, Any]) -> int:
    return int(json.loads(file.get("stats") or "{}").get("numRecords", 0))


def _table(write: Entry) -> Mapping[str, Any]:
    descriptors = write.contents.descriptors if write.contents else ()
    table = next((descriptor[TABLE] for descriptor in descriptors if TABLE in descriptor), None)
    if table is None:
        raise LookupError("they do not say what the table was like")
    return dict(table)


def _changed(then: Mapping[str, Any], head: Head) -> str | None:
    """The change of a table that makes files of an earlier state unusable; None if they still fit."""
    if then["metaData"] == head.metadata and then["protocol"] == head.protocol:
        return None
    before = then["metaData"]
    if then["protocol"] != head.protocol:
        return "another protocol"
    if tuple(before.get("partitionColumns", ())) != head.partitions:
        return "other partitions"
    if _checked(before.get("configuration", {})) != _checked(head.properties):
        return "other constraints"
    return _changed_columns(StructType.fromJson(json.loads(before["schemaString"])), head.schema)


def _checked(properties: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in properties.items() if key.startswith(CHECKED_PROPERTIES)}


def _changed_columns(then: StructType, now: StructType) -> str | None:
    before, after = ({_stored_as(field): field for field in schema.fields} for schema in (then, now))
    for name, field in before.items():
        if name not in after or _content(after[name]) != _content(field) or after[name].nullable < field.nullable:
            return f"another column {field.name}"
    new = (field for name, field in after.items() if name not in before)
    wanted = (field for field in new if not field.nullable or any(key.startswith(COMPUTED) for key in field.metadata))
    return next((f"the required column {field.name}" for field in wanted), None)


def _stored_as(field: StructField) -> str:
    """The column's name in the files."""
    return str(field.metadata.get("delta.columnMapping.physicalName", field.name)).lower()


def _content(field: StructField) -> tuple[Any, ...]:
    """What decides how the column's values are stored and checked."""
    rules = {key: value for key, value in field.metadata.items() if key.startswith(("delta.invariants", *COMPUTED))}
    return field.dataType, rules
