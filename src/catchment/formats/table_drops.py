"""The protocol of formats whose tables can be dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pyspark.sql import SparkSession

from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.plan.model import Dataset


@dataclass(frozen=True)
class Droppable:
    """A table that can be dropped."""

    id: str
    """Its identity: a table that is created again under the same name has another one."""
    uuid: str
    """What the ledger calls it, whatever its name and its depot."""
    is_published: bool = False
    """Whether readers of the published catalog see a version of it."""


@runtime_checkable
class Drops(Protocol):
    """A format whose tables can be dropped (trait `drops`)."""

    def droppable(self, spark: SparkSession, dataset: Dataset, published: str | None) -> Droppable:
        """The table that a drop would remove; raises if there is none, or if it has to stay."""
        ...

    def drop(
        self, spark: SparkSession, dataset: Dataset, published: str | None, writer: Writer, listener: Listener
    ) -> None:
        """Drop a table with its files. The table must have no unfinished writes."""
        ...
