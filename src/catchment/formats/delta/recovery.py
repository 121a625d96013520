"""Recovers a Delta table: settles what dead engines have left behind, and publishes sealed appends."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from catchment.commit import own_commit
from catchment.commit.recovery import Recovered, give_up_dropped, recover
from catchment.commit.writer import Writer
from catchment.formats.delta.buffered import publisher_of
from catchment.formats.delta.log import log_of
from catchment.plan.model import Dataset


def recover_table(spark: SparkSession, dataset: Dataset, writer: Writer) -> Recovered:
    """Finish or abandon the unfinished writes of dead engines; VACUUM removes the files of abandoned ones."""
    log = log_of(spark, dataset)
    settled = own_commit.settle(writer.ledger, dataset.address, log.find_commit)
    publisher = publisher_of(writer, dataset, log)
    if log.head() is None:
        done = give_up_dropped(writer.ledger, dataset.address)
    else:
        done = recover(publisher, publisher.destination.tidy)
    published, abandoned = (*settled.committed, *done.published), (*settled.abandoned, *done.abandoned)
    return replace(done, published=published, abandoned=abandoned, removed=(), kept=())
