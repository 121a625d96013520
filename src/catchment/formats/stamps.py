"""The properties that every commit carries about its origin, with the same names in every format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # reading a table's history must not load the store
    from catchment.formats.write_model import Write
    from catchment.store.writes import Contents, Entry

WORKFLOW, JOB, RUN, WRITES = "catchment.workflow", "catchment.job", "catchment.run-id", "catchment.write-ids"
WRITE_ROWS, INPUTS = "catchment.write-rows", "catchment.inputs"
WRITE_BYTES, WRITE_FILES = "catchment.write-bytes", "catchment.write-files"
METASTORE, SEALS = "catchment.metastore", "catchment.seals"
"""The metastore that has the ledger of these writes, and the numbers of their seals in it."""
WINDOWS = "catchment.windows"
"""The windows of the writes of incremental jobs, as JSON."""
MODE = "catchment.mode"
"""The mode of a row-level commit: the meaning of its row counts depends on it."""


def stamp(write: Write) -> dict[str, str]:
    """The stamp of a commit that holds one write."""
    inputs = {INPUTS: json.dumps(dict(write.inputs))} if write.inputs else {}
    named = {WORKFLOW: write.workflow, JOB: write.job, RUN: write.run_id, WRITES: write.id}
    return {**named, **inputs, **windows_stamp([write.window])}


def group_stamp(group: Sequence[Entry]) -> dict[str, str]:
    """The stamp of a commit that holds several writes, with the counts of each."""
    runs, jobs = zip(*(write.write_id.split("/")[:2] for write in group), strict=True)
    rows, sizes, files = zip(*(_counts(write.contents) for write in group), strict=True)
    return {
        WORKFLOW: _listed(dict.fromkeys(write.intent.workflow for write in group)),
        JOB: _listed(dict.fromkeys(jobs)),
        RUN: _listed(dict.fromkeys(runs)),
        WRITES: _listed(write.write_id for write in group),
        WRITE_ROWS: _listed(rows),
        WRITE_BYTES: _listed(sizes),
        WRITE_FILES: _listed(files),
        **windows_stamp(write.intent.window for write in group),
    }


def windows_stamp(windows: Iterable[Mapping[str, Any] | None]) -> dict[str, str]:
    """The stamp of a commit about the windows of its writes; empty if none belongs to a window."""
    known = [dict(window) for window in windows if window]
    return {WINDOWS: json.dumps(known)} if known else {}


def windows_in(stamp: Mapping[str, str]) -> list[dict[str, Any]]:
    """The windows in the stamp of a commit."""
    return list(json.loads(stamp.get(WINDOWS, "[]")))


def split(listed: str | None) -> tuple[str, ...]:
    """The values of a property that holds one value per write."""
    return tuple(listed.split(",")) if listed else ()


def _counts(contents: Contents | None) -> tuple[str, str, str]:
    return (str(contents.rows), str(contents.bytes), str(contents.files)) if contents else ("0", "0", "0")


def _listed(values: Iterable[str]) -> str:
    return ",".join(values)
