"""Data files and snapshots of a table as JSON. Java loops over them, because one call from Python for each is slow."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from catchment.errors import JobError
from catchment.formats.iceberg.java import CLASS, tables
from catchment.jvm.causes import JVM_ERRORS, first_cause, is_a
from catchment.store.descriptors import Lines, lines_of

AT_ONCE = 1_000
"""The most descriptors that the JVM holds as text at one time."""
LONGEST = 8_000_000
"""In characters; the descriptors of wide tables are long, and fewer of them are held at one time."""
SHORT = 65_536
"""In characters; a longer text is passed faster through a file."""


def add_files(session: SparkSession, operation: Any, descriptors: Sequence[Mapping[str, Any]], table: Any) -> None:
    """Add the files of these descriptors to an operation on a table."""
    java = tables(session)
    for text in _arrays(descriptors):
        if len(text) < SHORT:
            java.addFiles(operation, text, table)
            continue
        with _scratch() as path:
            path.write_text(text, encoding="utf-8")
            java.addFilesOf(operation, str(path), table)


def partitions_of(session: SparkSession, descriptors: Sequence[Mapping[str, Any]], table: Any) -> frozenset[str]:
    """The partitions that these files are in."""
    java = tables(session)
    return frozenset(line for text in _arrays(descriptors) for line in java.partitionsOf(text, table).split("\n")[:-1])


def _arrays(descriptors: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    some: list[str] = []
    size = 0
    for line in lines_of(descriptors):
        if some and (len(some) == AT_ONCE or size + len(line) > LONGEST):
            yield f"[{','.join(some)}]"
            some, size = [], 0
        some.append(line)
        size += len(line)
    if some:
        yield f"[{','.join(some)}]"


def describe(session: SparkSession, files: Any, table: Any) -> Lines:
    """Iceberg's JSON of a Java list of data files, after checking that Iceberg reads it back."""
    # Through a file: an answer of more than 8 kB from the JVM waits 40 ms for a timer of the network stack.
    with _scratch() as path:
        try:
            tables(session).describe(files, table, str(path))
        except JVM_ERRORS as error:
            if not is_a(error, f"{CLASS}$Unstorable"):
                raise
            raise _not_storable(first_cause(error).message) from error
        return Lines(tuple(_lines(path)))


def _not_storable(why: str) -> JobError:
    return JobError(
        f"a partition of these rows cannot be described in a way that Iceberg reads back: {why}",
        code="partition-not-storable",
        hint="nothing was published; partition the table by another column, or replace the value in the last step",
    )


def snapshots(session: SparkSession, table: Any, first: int, end: int) -> list[dict[str, Any]]:
    """The snapshots from one index to another in a table's list, as JSON of the Iceberg table spec."""
    java = tables(session)
    if end - first == 1:
        return [json.loads(java.snapshot(table, first))]
    with _scratch() as path:
        java.snapshots(table, first, end, str(path))
        return [json.loads(line) for line in _lines(path)]


def _lines(path: Path) -> list[str]:
    # Not `splitlines`, which would also split at line separators inside the JSON's strings.
    return path.read_text(encoding="utf-8").split("\n")[:-1]


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory) / "lines.json"
