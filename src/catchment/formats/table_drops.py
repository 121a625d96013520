"""The protocol of formats whose tables can be dropped."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pyspark.sql import SparkSession

from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.plan.model import Dataset


@runtime_checkable
class Drops(Protocol):
    """A format whose tables can be dropped (trait `drops`)."""

    def is_published(self, spark: SparkSession, dataset: Dataset, published: str | None) -> bool:
        """Whether readers of the published catalog see a version of the table."""
        ...

    def drop(
        self, spark: SparkSession, dataset: Dataset, published: str | None, writer: Writer, listener: Listener
    ) -> None:
        """Drop a table with its files. The table must have no unfinished writes."""
        ...
