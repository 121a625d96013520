"""The log of a Delta table: its state now, and which commits hold which writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from catchment.commit.own_commit import Committed
from catchment.errors import CommitConflict, JobError
from catchment.formats.delta.catalog import located
from catchment.formats.stamps import WRITES
from catchment.jvm.causes import is_a
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset
from catchment.store.writes import Base

NOT_THERE = ("java.io.FileNotFoundException", "java.nio.file.NoSuchFileException")
COMMIT = '{"commitInfo"'
"""How the line of a commit begins that tells who made it."""
WRITTEN = (("numOutputRows",), ("numOutputBytes",), ("numFiles",))
MERGED = (
    tuple(f"numTargetRows{how}" for how in ("Inserted", "Updated", "Deleted")),
    ("numTargetBytesAdded",),
    ("numTargetFilesAdded",),
)
"""Where a commit tells of rows, bytes and files; the rows that a merge writes include those that merely moved."""


@dataclass(frozen=True)
class Head:
    """The table as it is now."""

    version: int
    id: str
    schema: StructType
    partitions: tuple[str, ...]
    properties: Mapping[str, str]
    snapshot: Any = field(repr=False)
    """Delta's own object."""

    @property
    def base(self) -> Base:
        """What a write that begins now begins from; Delta counts schemas with its versions."""
        return Base(self.id, 0, self.version, self.version)


@dataclass(frozen=True)
class Commit:
    """One version of the table, as it tells of itself."""

    version: int
    info: Mapping[str, Any]

    @property
    def stamp(self) -> Mapping[str, str]:
        """What Catchment wrote into it; empty where others made the commit."""
        try:
            said = json.loads(self.info.get("userMetadata") or "{}")
        except ValueError:
            return {}
        return said if isinstance(said, dict) else {}

    def committed(self) -> Committed:
        """What the write in it came to."""
        metrics = self.info.get("operationMetrics") or {}
        rows, size, files = MERGED if self.info.get("operation") == "MERGE" else WRITTEN
        counted = [sum(int(metrics.get(key, 0)) for key in keys) for keys in (rows, size, files)]
        return Committed(self.version, *counted)


@dataclass(frozen=True)
class Log:
    """The log of one table."""

    spark: SparkSession
    path: str

    def head(self) -> Head | None:
        """The table as it is now, whoever committed last; None where there is no table."""
        snapshot = self._logs.forTableWithSnapshot(self.spark._jsparkSession, self.path)._2()
        version = int(snapshot.version())
        if version < 0:
            return None
        metadata = json.loads(snapshot.metadata().json())["metaData"]
        schema = StructType.fromJson(json.loads(metadata["schemaString"]))
        columns = tuple(metadata.get("partitionColumns", ()))
        return Head(version, metadata["id"], schema, columns, metadata.get("configuration", {}), snapshot)

    def snapshot(self, version: int) -> Any:
        """An earlier state of the table, as Delta's own object."""
        none = Jvm.of(self.spark)("scala.Option").empty()
        more = () if self.spark.version.startswith("3.") else (False,)
        return self._logs.forTable(self.spark._jsparkSession, self.path).getSnapshotAt(version, none, none, *more)

    def find(self, write_id: str) -> Committed | None:
        """The commit that holds a write, None while there is none."""
        head = self.head()
        # The table's state remembers every write id; the commits themselves are cleaned away after a while.
        if head is None or not head.snapshot.transactions().contains(write_id):
            return None
        found = (commit for commit in self.commits(head.version) if commit.stamp.get(WRITES) == write_id)
        commit = next(found, None)
        return commit.committed() if commit else Committed(None, 0, 0, 0)

    def find_own(self, write_id: str) -> Committed:
        """The commit that this engine has just made; raises where somebody else has written over it."""
        found = self.find(write_id)
        if found is None or found.snapshot_id is None:
            # What this engine believes of the table is wrong from that version on.
            place = Jvm.of(self.spark)("org.apache.hadoop.fs.Path")(self.path)
            self._logs.invalidateCache(self.spark._jsparkSession, place)
            raise CommitConflict(
                f"the commit of {write_id} to {self.path} was overwritten by another writer",
                code="commit-overwritten",
                hint="let Catchment alone write the table, or configure a log store that can refuse a second commit",
            )
        return found

    def changes(self, first: int, last: int) -> Iterator[tuple[int, Any]]:
        """Every action, as Delta's own object, of the versions from `first` to `last` that are still in the log."""
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
        """The rows of some files, read as the table was at a version."""
        jvm = Jvm.of(self.spark)
        listed = jvm("java.util.ArrayList")()
        for file in files:
            listed.add(file)
        log = self._logs.forTable(self.spark._jsparkSession, self.path)
        wanted = jvm("scala.collection.JavaConverters").asScalaBuffer(listed).toList()
        none = jvm("scala.Option").empty()
        return DataFrame(log.createDataFrame(self.snapshot(version), wanted, False, none), self.spark)  # noqa: FBT003

    def commits(self, newest: int) -> Iterator[Commit]:
        """The commits from a version down to the oldest that is still in the log."""
        for version in range(newest, -1, -1):
            try:
                info = self._info(version)
            except Exception as error:
                if is_a(error, *NOT_THERE):
                    return
                raise
            yield Commit(version, info)

    @property
    def _logs(self) -> Any:
        return Jvm.of(self.spark)("org.apache.spark.sql.delta.DeltaLog")

    def _info(self, version: int) -> Mapping[str, Any]:
        """The line of a commit about itself; it is the first one in commits of Spark's."""
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
    """The table as it is now; an error where there is none."""
    head = log_of(spark, dataset).head()
    if head is None:
        raise JobError(
            f"there is no table {dataset.address}",
            code="table-not-found",
            hint="check the address; `catchment table ls` lists the tables of a depot",
        )
    return head
