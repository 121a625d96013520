"""What a sealed write keeps in the ledger: Paimon's commit messages, and the table as it was."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import faults
from catchment.errors import CatchmentError, CommitConflict, JobError
from catchment.formats.paimon.java import commits
from catchment.formats.paimon.table import Table
from catchment.store.writes import Contents, Entry

SAFE_SECONDS = 3600.0
"""Files younger than this are not checked before they are committed, because new files are never taken for orphans."""


def fill(table: Table, frame: DataFrame) -> Contents:
    """Write the rows as files of the table that nothing refers to yet, and describe them."""
    faults.point("before-data-written")
    packed = commits(table.spark).write(table.java, frame._jdf)
    faults.point("data-written")
    return contents_of(table, str(packed))


def contents_of(table: Table, packed: str) -> Contents:
    """What the ledger keeps of commit messages that `Commits.java` has packed."""
    rows, size, files, version, messages = packed.split(" ")
    if not int(files):
        return Contents((), 0, 0, 0)
    described = {"messages": messages, "version": int(version), "table": _shape(table), "written": time.time()}
    return Contents((described,), int(rows), int(size), int(files))


def messages_of(spark: SparkSession, writes: Sequence[Entry]) -> Any:
    """A Java list of the commit messages of all writes."""
    known = [_described(write) for write in writes if write.contents and write.contents.files]
    return commits(spark).unpack("\n".join(f"{int(each['version'])} {each['messages']}" for each in known))


def refusal(write: Entry, table: Table) -> CatchmentError | None:
    """The error if the files of a sealed write no longer fit the table; None if they do."""
    if write.intent.base.table_uuid != table.id:
        return JobError(
            f"{write.intent.target} was dropped and created again while {write.write_id} was being written",
            code="table-replaced",
            hint="run the job again: its rows were written for the dropped table",
        )
    if not (write.contents and write.contents.files):
        return None
    then, now = _described(write)["table"], _shape(table)
    changed = next((key for key in now if now[key] != then.get(key)), None)
    if changed is None:
        return None
    return CommitConflict(
        f"{write.intent.target} got another {changed} while {write.write_id} was being written",
        code="schema-changed",
        hint="run the job again: its rows are then fitted to the table as it is now",
    )


def vanished(table: Table, write: Entry) -> JobError | None:
    """The error if files that waited for long are no longer in the store."""
    if not (write.contents and write.contents.files) or _described(write)["written"] > time.time() - SAFE_SECONDS:
        return None
    gone = commits(table.spark).missing(table.java, messages_of(table.spark, [write]))
    if gone is None:
        return None
    return JobError(
        f"{gone} of {write.write_id} is gone from {write.intent.target}",
        code="files-vanished",
        hint="run the job again in a new run; run `catchment recover` before orphan files are removed",
    )


def _described(write: Entry) -> Mapping[str, Any]:
    descriptors = write.contents.descriptors if write.contents else ()
    if len(descriptors) != 1:
        raise LookupError("they do not hold the commit messages of one write")
    return descriptors[0]


def _shape(table: Table) -> dict[str, Any]:
    """What decides which bucket and partition a row belongs to."""
    return {
        "primary key": list(table.keys),
        "partitioning": list(table.partitions),
        "number of buckets": table.options.get("bucket"),
        "bucket key": table.options.get("bucket-key"),
    }
