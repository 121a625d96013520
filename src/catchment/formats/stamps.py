"""The properties that every commit carries about its origin, with the same names in every format."""

from __future__ import annotations

import json

from catchment.formats.model import Write

WORKFLOW, JOB, RUN, WRITES = "catchment.workflow", "catchment.job", "catchment.run-id", "catchment.write-ids"
WRITE_ROWS, INPUTS = "catchment.write-rows", "catchment.inputs"
METASTORE, SEALS = "catchment.metastore", "catchment.seals"
"""The metastore that has the ledger of these writes, and the numbers of their seals in it."""
MODE = "catchment.mode"
"""The mode of a row-level commit: the meaning of its row counts depends on it."""


def stamp(write: Write) -> dict[str, str]:
    """The stamp of a commit that holds one write."""
    inputs = {INPUTS: json.dumps(dict(write.inputs))} if write.inputs else {}
    return {WORKFLOW: write.workflow, JOB: write.job, RUN: write.run_id, WRITES: write.id, **inputs}
