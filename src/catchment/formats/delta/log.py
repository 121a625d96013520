"""Reads the log of a Delta table: its current state, its commits and the writes in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from catchment.commit.committed import Committed
from catchment.errors import CommitConflict
from catchment.formats.delta.catalog import located
from catchment.formats.delta.commits import COMMIT, Commit
from catchment.formats.missing_tables import table_not_found
from catchment.jvm.causes import is_a
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset
from catchment.store.writes import Base, Entry

NOT_THERE = ("java.io.FileNotFoundException", "java.nio.file.NoSuchFileException")
BRANCH = "main"
"""The branch in the ledger: a Delta table has only one."""
NO_TABLE = Base("", 0, -1, None)
"""The base of a write that begins before there is a table."""


@dataclass(frozen=True)
class Head:
    """The current state of a table."""

    version: int
    id: str
    schema: StructType
    partitions: tuple[str, ...]
    properties: Mapping[str, str]
    metadata: Mapping[str, Any] = field(repr=False)
    """Schema, partitions and properties as in the log."""
    snapshot: Any = field(repr=False)
    """Delta's own object."""

    @cached_property
    def protocol(self) -> Mapping[str, Any]:
        """What readers and writers of the table must support, as in the log."""
        return dict(json.loads(self.snapshot.protocol().json())["protocol"])

    @property
    def base(self) -> Base:
        """The base of a write that begins now. Delta has no schema ids: versions count schemas too."""
        return Base(self.id, 0, self.version, self.version)


@dataclass(frozen=True)
class Log:
    """The log of one table."""

    spark: SparkSession
    path: str

    def head(self) -> Head | None:
        """The current state of the table, including commits of others; None if there is no table."""
        snapshot = self._logs.forTableWithSnapshot(self.spark._jsparkSession, self.path)._2()
        version = int(snapshot.version())
        if version < 0:
            return None
        metadata = json.loads(snapshot.metadata().json())["metaData"]
        schema = StructType.fromJson(json.loads(metadata["schemaString"]))
        columns = tuple(metadata.get("partitionColumns", ()))
        return Head(version, metadata["id"], schema, columns, metadata.get("configuration", {}), metadata, snapshot)

    def snapshot(self, version: int) -> Any:
        """The Delta snapshot of a version."""
        none = Jvm.of(self.spark)("scala.Option").empty()
        more = () if self.spark.version.startswith("3.") else (False,)
        return self._logs.forTable(self.spark._jsparkSession, self.path).getSnapshotAt(version, none, none, *more)

    def find(self, write_id: str) -> Committed | None:
        """The commit of a write; None if it is not committed."""
        head = self.head()
        # The snapshot keeps every write id; old commits are removed from the log after a while.
        if head is None or not head.snapshot.transactions().contains(write_id):
            return None
        commit = next((commit for commit in self.commits(head.version) if write_id in commit.write_ids), None)
        return commit.committed(write_id) if commit else Committed(None, 0, 0, 0)

    def find_commit(self, write: Entry) -> Committed | None:
        """The same for a write of the ledger."""
        return self.find(write.write_id)

    def find_own(self, write_id: str) -> Committed:
        """The commit that this engine has just made; raises if another writer has overwritten it."""
        found = self.find(write_id)
        if found is None or found.snapshot_id is None:
            self.forget()
            raise CommitConflict(
                f"the commit of {write_id} to {self.path} was overwritten by another writer",
                code="commit-overwritten",
                hint="let only Catchment write the table, or configure a log store that refuses a second commit",
            )
        return found

    def forget(self) -> None:
        """Drop Delta's cached state of the table, which is wrong if a commit was overwritten."""
        place = Jvm.of(self.spark)("org.apache.hadoop.fs.Path")(self.path)
        self._logs.invalidateCache(self.spark._jsparkSession, place)

    def actions(self, first: int, last: int) -> Iterator[tuple[int, Any]]:
        """The Delta actions, with their versions, of all versions from `first` to `last` that are still in the log."""
        if first > last:
            return
        jvm = Jvm.of(self.spark)
        more = () if self.spark.version.startswith("3.") else (jvm("scala.Option").empty(),)
        log = self._logs.forTable(self.spark._jsparkSession, self.path)
        versions = log.getChanges(first, last, *more, False)  # noqa: FBT003
        while versions.hasNext():
            version = versions.next()
            actions = version._2().iterator()
            while actions.hasNext():
                yield int(version._1()), actions.next()

    def rows_of(self, files: Iterable[Any], version: int) -> DataFrame:
        """The rows of some files, read with the schema of a version."""
        jvm = Jvm.of(self.spark)
        listed = jvm("java.util.ArrayList")()
        for file in files:
            listed.add(file)
        log = self._logs.forTable(self.spark._jsparkSession, self.path)
        wanted = jvm("scala.collection.JavaConverters").asScalaBuffer(listed).toList()
        none = jvm("scala.Option").empty()
        return DataFrame(log.createDataFrame(self.snapshot(version), wanted, False, none), self.spark)  # noqa: FBT003

    def commits(self, newest: int) -> Iterator[Commit]:
        """The commits from a version back to the oldest that is still in the log."""
        for version in range(newest, -1, -1):
            try:
                commit = self.commit(version)
            except Exception as error:
                if is_a(error, *NOT_THERE):
                    return
                raise
            yield commit

    def commit(self, version: int) -> Commit:
        """The commit of one version; raises if it is no longer in the log."""
        return Commit(version, self._info(version))

    @property
    def _logs(self) -> Any:
        return Jvm.of(self.spark)("org.apache.spark.sql.delta.DeltaLog")

    def _info(self, version: int) -> Mapping[str, Any]:
        """The commit info of a version; Spark writes it as the first line."""
        jvm = Jvm.of(self.spark)
        place = jvm("org.apache.hadoop.fs.Path")(f"{self.path.rstrip('/')}/_delta_log/{version:020}.json")
        stream = place.getFileSystem(self.spark._jsparkSession.sessionState().newHadoopConf()).open(place)
        try:
            lines = jvm("java.io.BufferedReader")(jvm("java.io.InputStreamReader")(stream, "UTF-8"))
            while (line := lines.readLine()) is not None:
                if line.startswith(COMMIT):
                    return dict(json.loads(line)["commitInfo"])
            return {}
        finally:
            stream.close()


def log_of(spark: SparkSession, dataset: Dataset) -> Log:
    """The log of a dataset's table."""
    return Log(spark, str(located(spark, dataset).path))


def require_head(spark: SparkSession, dataset: Dataset) -> Head:
    """The current state of the table; raises if there is none."""
    head = log_of(spark, dataset).head()
    if head is None:
        raise table_not_found(dataset)
    return head
