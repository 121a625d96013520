"""Windows that are in the tables but not in the metastore, because that was replaced by an older copy of itself.

The history of an output records the window of each write. Without that record, a job whose state went back would read
the same rows again under new write ids, and nothing would notice.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from catchment.commit.writer import Writer
from catchment.engine.protocol import RunJob
from catchment.formats.model import Facts, RemembersWindows
from catchment.formats.registry import find_format
from catchment.plan.model import OutputPlan
from catchment.store.states import Window, window_of

CLOCKS_APART_SECONDS = 3600.0
"""How far the clocks of the metastore and of the committing machine may differ."""


def lost_window(spark: SparkSession, command: RunJob, writer: Writer) -> Window | None:
    """The newest window of a job that one of its outputs has and the metastore does not know; None if there is none."""
    known = next(iter(writer.store.states.windows(command.workflow, command.job.name, limit=1)), None)
    since = known.opened - CLOCKS_APART_SECONDS if known else 0.0
    found = (_newest(spark, command, output, writer.ledger.metastore, since) for output in command.job.writes)
    newest = max(filter(None, found), key=lambda record: int(record["number"]), default=None)
    if newest is None or (known is not None and newest["number"] <= known.number):
        return None
    return window_of(newest)


def _newest(spark: SparkSession, command: RunJob, output: OutputPlan, metastore: str, since: float) -> Facts | None:
    history = find_format(output.dataset.format, RemembersWindows)
    if history is None:
        return None
    ours = {"metastore": metastore, "workflow": command.workflow, "job": command.job.name}
    records = history.windows(spark, output.dataset, since)
    return next((record for record in records if ours.items() <= record.items()), None)
