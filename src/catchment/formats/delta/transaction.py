"""A Delta transaction in two steps: write the rows, then commit them under the table's lease.

Spark's writer does both in one step, so the lease would have to be held while the data is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.formats.delta.log import Log
from catchment.jvm.classes import Jvm

DELTA = "org.apache.spark.sql.delta"


@dataclass(frozen=True)
class Transaction:
    """An open transaction that writes rows to a table."""

    java: Any
    """Delta's transaction. It knows the snapshot that it began from, and checks later commits for conflicts."""
    command: Any
    """Delta's write command, with mode and options."""
    jvm: Jvm
    session: Any
    old: bool
    """Whether this is Delta 3, whose commands take fewer arguments."""

    @classmethod
    def begin(cls, log: Log, snapshot: Any, frame: DataFrame, mode: str, options: Mapping[str, str]) -> Transaction:
        """Begin from a snapshot; commits of others after it are checked for conflicts when the rows are committed."""
        jvm, session = Jvm.of(log.spark), log.spark._jsparkSession
        scala, none = jvm("org.apache.spark.api.python.PythonUtils"), jvm("scala.Option").empty()
        table = jvm(f"{DELTA}.DeltaLog").forTable(session, log.path)
        chosen = jvm(f"{DELTA}.DeltaOptions")(scala.toScalaMap(dict(options)), session.sessionState().conf())
        old = log.spark.version.startswith("3.")
        command = jvm(f"{DELTA}.commands.WriteIntoDelta")(
            table,
            jvm("org.apache.spark.sql.SaveMode").valueOf(mode),
            chosen,
            scala.toSeq([]),  # the table's own partitions
            scala.toScalaMap({}),  # and properties
            *(frame._jdf, none, none),
            *(() if old else (False,)),
        )
        return cls(table.startTransaction(none, jvm("scala.Some")(snapshot)), command, jvm, session, old)

    def is_done(self) -> bool:
        """Whether the table has this write already. This call also makes the commit check it again."""
        return bool(self.command.hasBeenExecuted(self.java, self.session, self._some(self.command.options())))

    def fill(self) -> Any:
        """Write the rows and return what is to be committed; nothing is visible yet."""
        return self.command.writeAndReturnCommitData(self.java, self.session, self._none, False)  # noqa: FBT003

    def commit(self, filled: Any) -> None:
        """Commit as one version after those that others committed meanwhile; raises if they conflict."""
        options = self.command.options()
        arguments = (self._some(self.command.partitionColumns()), options.replaceWhere(), options.userMetadata())
        more = () if self.old else (self._none,) * 5
        operation = self.jvm(f"{DELTA}.DeltaOperations$Write")(self.command.mode(), *arguments, *more)
        self.java.commitIfNeeded(filled.actions(), operation, filled.stringTags())

    @property
    def _none(self) -> Any:
        return self.jvm("scala.Option").empty()

    def _some(self, value: Any) -> Any:
        return self.jvm("scala.Some")(value)


SAFE_SCHEMES = frozenset({"abfs", "abfss", "adl", "gs", "hdfs", "wasb", "wasbs"})
"""Schemes whose Delta log store creates a commit file only if it does not exist yet, so no commit can be lost."""


def needs_table_lease(spark: SparkSession, path: str) -> bool:
    """Whether two concurrent commits could both succeed and one be lost, so that commits need the table's lease."""
    scheme = path.partition("://")[0] if "://" in path else "file"
    # A log store that the user has configured for a scheme is trusted.
    return scheme not in SAFE_SCHEMES and not spark.conf.get(f"spark.delta.logStore.{scheme}.impl", "")
