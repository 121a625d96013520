"""What a commit says about where it comes from; the same words in every format."""

from __future__ import annotations

import json

from catchment.formats.model import Write

WORKFLOW, JOB, RUN, WRITES = "catchment.workflow", "catchment.job", "catchment.run-id", "catchment.write-ids"
WRITE_ROWS, INPUTS = "catchment.write-rows", "catchment.inputs"
MODE = "catchment.mode"
"""Of commits that change rows: what their counts mean depends on it."""


def stamp(write: Write) -> dict[str, str]:
    """The stamp of a commit that holds one write."""
    inputs = {INPUTS: json.dumps(dict(write.inputs))} if write.inputs else {}
    return {WORKFLOW: write.workflow, JOB: write.job, RUN: write.run_id, WRITES: write.id, **inputs}
