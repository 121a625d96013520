"""A buffer: a write's data files in their final place, referenced by nobody until the write is published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import faults, fork
from catchment.commit.model import Contents, Intent
from catchment.errors import StorageUnavailable


def fill(
    session: SparkSession,
    frame: DataFrame,
    intent: Intent,
    metadata: Mapping[str, Any],
    place: fork.Place,
    options: Mapping[str, str],
) -> Contents:
    """Write the frame into the buffer and say what is in it; every file was seen in the store with its full length."""
    branch = fork.make(metadata, place, intent.buffer)
    try:
        faults.point("before-data-written")
        frame.writeTo(branch.identifier).options(**options).append()
        faults.point("data-written")
        return _contents(session, branch, intent.buffer)
    finally:
        branch.remove()


def _contents(session: SparkSession, branch: fork.Fork, buffer: str) -> Contents:
    iceberg: Any = session._jvm.org.apache.iceberg
    forked = iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, branch.identifier)
    snapshot = forked.currentSnapshot()
    descriptors = tuple(_descriptors(forked, snapshot, iceberg.ContentFileParser)) if snapshot is not None else ()
    if not descriptors:
        return Contents((), 0, 0, 0)
    rows = sum(int(d["record-count"]) for d in descriptors)
    _check(forked.io(), buffer, descriptors, rows, int(snapshot.summary().get("added-records") or 0))
    return Contents(descriptors, rows, sum(int(d["file-size-in-bytes"]) for d in descriptors), len(descriptors))


def _descriptors(forked: Any, snapshot: Any, parser: Any) -> list[dict[str, Any]]:
    specs = forked.specs()
    texts = [parser.toJson(file, specs.get(file.specId())) for file in snapshot.addedDataFiles(forked.io()).iterator()]
    # Row ids of format v3 are given by the table at commit; those of the fork mean nothing there.
    return [{k: v for k, v in json.loads(text).items() if k != "first-row-id"} for text in texts]


def _check(io: Any, buffer: str, descriptors: tuple[dict[str, Any], ...], rows: int, expected: int) -> None:
    """Nothing is sealed that is not there: commits check neither that a file exists nor what is in it."""
    if rows != expected:
        raise _damaged(buffer, f"its files hold {rows} rows, but {expected} were written")
    stored = _stored(io, buffer, [descriptor["file-path"] for descriptor in descriptors])
    for descriptor in descriptors:
        name, written = _inside(buffer, descriptor["file-path"]), int(descriptor["file-size-in-bytes"])
        if stored.get(name) != written:
            raise _damaged(buffer, f"{name} should have {written} bytes, and has {stored.get(name, 'vanished')}")


def _stored(io: Any, buffer: str, paths: list[str]) -> dict[str, int]:
    """The lengths of the files in the store, with as few requests as possible."""
    if len(paths) == 1:
        return {_inside(buffer, paths[0]): int(io.newInputFile(paths[0]).getLength())}
    return {_inside(buffer, f.location()): int(f.size()) for f in io.listPrefix(buffer).iterator()}


def _inside(buffer: str, path: str) -> str:
    """A path below the buffer; stores spell the same directory in several ways, never its own name."""
    return path.rpartition(buffer.rpartition("/")[2])[2]


def _damaged(buffer: str, why: str) -> StorageUnavailable:
    return StorageUnavailable(
        f"the buffer {buffer} is not what was written: {why}",
        code="buffer-damaged",
        hint="nothing was published; if it happens again, look for a cleaner that works inside the table's directory",
    )
