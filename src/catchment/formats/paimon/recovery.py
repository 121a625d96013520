"""Recovers a Paimon table: publishes sealed writes, and gives up those of engines that died before the seal."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from catchment.commit.recovery import Recovered, give_up_dropped, recover
from catchment.commit.writer import Writer
from catchment.formats.paimon.buffered import publisher_of
from catchment.formats.paimon.table import find_table
from catchment.plan.model import Dataset


def recover_table(spark: SparkSession, dataset: Dataset, writer: Writer) -> Recovered:
    """Finish or abandon the unfinished writes of dead engines; removing orphans removes the files of abandoned ones."""
    table = find_table(spark, dataset)
    if table is None:
        return replace(give_up_dropped(writer.ledger, dataset.address), kept=())
    publisher = publisher_of(writer, dataset, table)
    return replace(recover(publisher, publisher.destination.tidy), removed=(), kept=())
