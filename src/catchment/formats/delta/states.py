"""States of Delta tables: what an output begins from, what an input reads, what an earlier attempt has left."""

from __future__ import annotations

from pyspark.sql import SparkSession

from catchment.commit import own_commit
from catchment.commit.model import Base
from catchment.commit.writer import Writer
from catchment.formats.delta.conflicts import validates
from catchment.formats.delta.log import log_of
from catchment.formats.model import Earlier, Write, written
from catchment.plan.model import InputPlan, OutputPlan

AT_REST = frozenset({"versionasof", "timestampasof"})
"""Options of an input that always mean the same rows."""


def head(spark: SparkSession, output: OutputPlan) -> Base | None:
    """The state of the table now; None where there is no table yet, or where later commits do not matter."""
    now = log_of(spark, output.dataset).head() if validates(output) else None
    return now.base if now else None


def reading_state(spark: SparkSession, source: InputPlan) -> str | None:
    """The version that an input reads now; None where it names one itself, or where there is no table."""
    if not AT_REST.isdisjoint(key.lower() for key in source.options):
        return None
    now = log_of(spark, source.dataset).head()
    return f"version {now.version}" if now else None


def earlier(spark: SparkSession, write: Write, writer: Writer) -> Earlier | None:
    """From the ledger; where an attempt began there and did not come back, from the table's log."""
    known = writer.ledger.find(write.id)
    if known is None or known.intent.target != write.output.dataset.address:
        return None
    if known.state != "committed":
        done = log_of(spark, write.output.dataset).find(write.id)
        if done is None:
            return None
        own_commit.finish(writer.ledger, known.intent, done)
    settled = writer.earlier(write.id, write.output.dataset.address)
    return Earlier(written(settled), committed=True, inputs=settled.intent.inputs) if settled else None
