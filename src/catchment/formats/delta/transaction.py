"""A Delta transaction in two steps: write the rows, then commit them under the table's lease.

Spark's writer does both in one step, so the lease would have to be held while the data is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.formats.delta import log_store
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


@dataclass(frozen=True)
class GroupTransaction:
    """An open transaction that commits files which are written already."""

    java: Any
    log: Log
    jvm: Jvm

    @classmethod
    def begin(cls, log: Log, snapshot: Any, transaction_ids: Sequence[str]) -> GroupTransaction:
        """Begin from a snapshot; the commit is refused if a later version has one of the transaction ids."""
        jvm, session = Jvm.of(log.spark), log.spark._jsparkSession
        table = jvm(f"{DELTA}.DeltaLog").forTable(session, log.path)
        java = table.startTransaction(jvm("scala.Option").empty(), jvm("scala.Some")(snapshot))
        read = getattr(java.readTxn(), "$plus$plus$eq")  # as `txnVersion` does, which also computes the table's state
        read(jvm("org.apache.spark.api.python.PythonUtils").toSeq(list(transaction_ids)))
        return cls(java, log, jvm)

    def commit(self, actions: Any, user_metadata: str, metrics: Mapping[str, int]) -> int:
        """Commit a Java list of actions as one version, which is returned; raises if others' commits conflict."""
        scala, none, some = (
            self.jvm(name) for name in ("org.apache.spark.api.python.PythonUtils", "scala.Option", "scala.Some")
        )
        self._register(metrics)
        more = () if self.log.spark.version.startswith("3.") else (none.empty(),) * 5
        operation = self.jvm(f"{DELTA}.DeltaOperations$Write")(
            self.jvm("org.apache.spark.sql.SaveMode").Append,
            *(some(scala.toSeq([])), none.empty(), some(user_metadata)),
            *more,
        )
        listed = self.jvm("scala.collection.JavaConverters").asScalaBuffer(actions).toList()
        return int(self.java.commit(listed, operation))

    def _register(self, metrics: Mapping[str, int]) -> None:
        context, made = self.log.spark.sparkContext._jsc.sc(), {}
        for name, value in metrics.items():
            made[name] = self.jvm("org.apache.spark.sql.execution.metric.SQLMetrics").createMetric(context, name)
            made[name].set(value)
        named = self.jvm("org.apache.spark.api.python.PythonUtils").toScalaMap(made)
        self.java.registerSQLMetrics(self.log.spark._jsparkSession, named)


SAFE_SCHEMES = frozenset({"abfs", "abfss", "adl", "gs", "hdfs", "wasb", "wasbs"})
"""Schemes whose Delta log store creates a commit file only if it does not exist yet, so no commit can be lost."""


def needs_table_lease(spark: SparkSession, path: str) -> bool:
    """Whether two concurrent commits could both succeed and one be lost, so that commits need the table's lease."""
    scheme = path.partition("://")[0] if "://" in path else "file"
    used = spark.conf.get(log_store.key(scheme), "")
    # A log store that the user has configured for a scheme is trusted.
    if scheme in SAFE_SCHEMES or used not in ("", log_store.CLASS):
        return False
    # An engine that brings another S3 client may send no condition. On S3, the lease keeps it apart from the others.
    return scheme != "file" or not log_store.refuses_second_commit(spark, f"{path.rstrip('/')}/_delta_log")
