"""A Paimon table as the engine sees it, through Paimon's Java API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from catchment.formats.missing_tables import table_not_found
from catchment.formats.paimon.catalogs import open_catalog
from catchment.formats.paimon.java import commits
from catchment.formats.paimon.snapshot_files import Snapshot
from catchment.formats.paimon.traits import accepts_second_snapshot
from catchment.jvm.causes import is_a
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset
from catchment.store.writes import Base

BRANCH = "main"
NO_TABLE = Base("", 0, 0, None)
"""The state of a table that does not exist."""
CATALOG = "org.apache.paimon.catalog.Catalog"
NOT_THERE = (f"{CATALOG}$TableNotExistException", f"{CATALOG}$DatabaseNotExistException")
CROSS_PARTITION = "CROSS_PARTITION"
"""The bucket mode of a table whose key lacks a partition column: a key may move between partitions."""
TAKE_TURNS = frozenset({"HASH_DYNAMIC", CROSS_PARTITION})
"""Bucket modes in which each writer decides where a new key goes, so that two at once would disagree."""


@dataclass(frozen=True)
class Table:
    """One state of a table's schema; its snapshots are read again each time."""

    spark: SparkSession
    java: Any
    """An org.apache.paimon.table.FileStoreTable."""

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """Facts about the table, read with one call, because each call to Java takes time."""
        return dict(json.loads(commits(self.spark).describe(self.java)))

    @property
    def id(self) -> str:
        """The identity of the table: a table that was dropped and created again has a different one."""
        return f"{self.facts['created']}@{self.location}"

    @property
    def location(self) -> str:
        return str(self.facts["location"])

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the primary key; none in an append table."""
        return tuple(self.facts["keys"])

    @property
    def partitions(self) -> tuple[str, ...]:
        return tuple(self.facts["partitions"])

    @property
    def options(self) -> Mapping[str, str]:
        return dict(self.facts["options"])

    @property
    def write_only(self) -> bool:
        """Whether writers neither compact nor expire snapshots."""
        return self.options.get("write-only", "false").lower() == "true"

    @property
    def retained_millis(self) -> int | None:
        """How long the table says that it keeps snapshots; None if it does not."""
        says = "snapshot.time-retained" in self.options
        return int(self.java.coreOptions().snapshotTimeRetain().toMillis()) if says else None

    @property
    def least_retained(self) -> int:
        """How many snapshots the table says that it keeps, however old they are."""
        return int(self.options.get("snapshot.num-retained.min", 1))

    def first_of_consumers(self) -> int | None:
        """The first snapshot that readers who have registered as consumers of the table still have to read."""
        manager = Jvm.of(self.spark)("org.apache.paimon.consumer.ConsumerManager")
        first = manager(self.java.fileIO(), self.java.location()).minNextSnapshot()
        return int(first.getAsLong()) if first.isPresent() else None

    @cached_property
    def schema(self) -> StructType:
        return StructType.fromJson(json.loads(self.facts["columns"]))

    @property
    def schema_id(self) -> int:
        return int(self.facts["schema"])

    @property
    def bucket_mode(self) -> str:
        return str(self.facts["buckets"])

    @property
    def takes_turns(self) -> bool:
        """Whether only one write at a time can be computed for this table."""
        return self.bucket_mode in TAKE_TURNS

    @property
    def refuses_second_snapshot(self) -> bool:
        """Whether the store refuses a name that is taken, so that of two commits at once only one is made."""
        return not accepts_second_snapshot(self.location)

    @property
    def is_unguarded(self) -> bool:
        """Whether only the lease keeps two commits apart: the store accepts both, and the catalog has no lock."""
        return not (self.refuses_second_snapshot or self.facts["lock"] != "EmptyFactory")

    @property
    def merge_engine(self) -> str | None:
        """How rows with the same key become one; None in an append table."""
        return self.options.get("merge-engine", "deduplicate") if self.keys else None

    @property
    def hides_new_rows(self) -> bool:
        """Whether readers see rows only after the next compaction."""
        vectors = self.options.get("deletion-vectors.enabled", "false").lower() == "true"
        return bool(self.keys) and (self.merge_engine == "first-row" or vectors)

    def tags(self) -> dict[str, int]:
        """The snapshots of the tags by name."""
        found = self.java.tagManager().tagObjects()
        return {str(each.getRight()): int(each.getLeft().id()) for each in found}

    def newest(self) -> Snapshot | None:
        """The newest snapshot; None if the table never had one."""
        found = commits(self.spark).newest(self.java)
        return Snapshot.of(str(found)) if found is not None else None

    def base(self) -> Base:
        """The state of the table now."""
        newest = self.newest()
        return Base(self.id, self.schema_id, newest.id if newest else 0, newest.id if newest else None)


def find_table(spark: SparkSession, dataset: Dataset) -> Table | None:
    """The current state of the table; None if there is none."""
    try:
        catalog = open_catalog(spark, dataset.depot)
        return Table(spark, commits(spark).load(catalog, dataset.namespace, dataset.table))
    except Exception as error:
        if is_a(error, *NOT_THERE):
            return None
        raise


def require_table(spark: SparkSession, dataset: Dataset) -> Table:
    """The current state of the table; raises if there is none."""
    table = find_table(spark, dataset)
    if table is None:
        raise table_not_found(dataset)
    return table
