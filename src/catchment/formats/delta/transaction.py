"""One transaction of Delta's, in two steps: the rows are written, and when the turn has come, they are committed.

Spark's writer takes the same steps in one, and would hold the table's lease for as long as the data takes.
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
    """Rows on their way into a table."""

    java: Any
    """Delta's own object: it knows the state that it began from, and checks at the end what others did since."""
    command: Any
    """Delta's command to write the rows; it holds the mode and the options."""
    jvm: Jvm
    session: Any
    old: bool
    """Whether this is Delta 3, whose commands take fewer arguments."""

    @classmethod
    def begin(cls, log: Log, snapshot: Any, frame: DataFrame, mode: str, options: Mapping[str, str]) -> Transaction:
        """Begin from a state of the table; what others commit after it is looked at when the rows are committed."""
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
        """Whether the table holds this write already. Asked for, it becomes part of what the commit checks."""
        return bool(self.command.hasBeenExecuted(self.java, self.session, self._some(self.command.options())))

    def fill(self) -> Any:
        """Write the rows; returns what is to be committed. Nobody sees any of it."""
        return self.command.writeAndReturnCommitData(self.java, self.session, self._none, False)  # noqa: FBT003

    def commit(self, filled: Any) -> None:
        """Commit in one version, after all that others have committed meanwhile; raises where the two conflict."""
        options = self.command.options()
        told = (self._some(self.command.partitionColumns()), options.replaceWhere(), options.userMetadata())
        more = () if self.old else (self._none,) * 5
        operation = self.jvm(f"{DELTA}.DeltaOperations$Write")(self.command.mode(), *told, *more)
        self.java.commitIfNeeded(filled.actions(), operation, filled.stringTags())

    @property
    def _none(self) -> Any:
        return self.jvm("scala.Option").empty()

    def _some(self, value: Any) -> Any:
        return self.jvm("scala.Some")(value)


REFUSING = frozenset({"abfs", "abfss", "adl", "gs", "hdfs", "wasb", "wasbs"})
"""Where Delta's own log store writes a commit if and only if it is not there yet, whoever else tries."""


def needs_turns(spark: SparkSession, path: str) -> bool:
    """Whether two commits at the same time could both succeed, and one of them be lost."""
    scheme = path.partition("://")[0] if "://" in path else "file"
    # Whoever configures a log store of his own for a scheme vouches for it.
    return scheme not in REFUSING and not spark.conf.get(f"spark.delta.logStore.{scheme}.impl", "")
