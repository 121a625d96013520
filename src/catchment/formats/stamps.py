"""The properties that every commit carries about its origin, with the same names in every format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from catchment.formats.model import Write
from catchment.store.writes import Contents, Entry

WORKFLOW, JOB, RUN, WRITES = "catchment.workflow", "catchment.job", "catchment.run-id", "catchment.write-ids"
WRITE_ROWS, INPUTS = "catchment.write-rows", "catchment.inputs"
WRITE_BYTES, WRITE_FILES = "catchment.write-bytes", "catchment.write-files"
METASTORE, SEALS = "catchment.metastore", "catchment.seals"
"""The metastore that has the ledger of these writes, and the numbers of their seals in it."""
MODE = "catchment.mode"
"""The mode of a row-level commit: the meaning of its row counts depends on it."""


def stamp(write: Write) -> dict[str, str]:
    """The stamp of a commit that holds one write."""
    inputs = {INPUTS: json.dumps(dict(write.inputs))} if write.inputs else {}
    return {WORKFLOW: write.workflow, JOB: write.job, RUN: write.run_id, WRITES: write.id, **inputs}


def group_stamp(group: Sequence[Entry]) -> dict[str, str]:
    """The stamp of a commit that holds several writes, with the counts of each."""
    runs, jobs = zip(*(write.write_id.split("/")[:2] for write in group), strict=True)
    counts = [write.contents or Contents((), 0, 0, 0) for write in group]
    return {
        WORKFLOW: _listed(dict.fromkeys(write.intent.workflow for write in group)),
        JOB: _listed(dict.fromkeys(jobs)),
        RUN: _listed(dict.fromkeys(runs)),
        WRITES: _listed(write.write_id for write in group),
        WRITE_ROWS: _listed(str(each.rows) for each in counts),
        WRITE_BYTES: _listed(str(each.bytes) for each in counts),
        WRITE_FILES: _listed(str(each.files) for each in counts),
    }


def split(listed: str | None) -> tuple[str, ...]:
    """The values of a property that holds one for each write."""
    return tuple(listed.split(",")) if listed else ()


def _listed(values: Iterable[str]) -> str:
    return ",".join(values)
