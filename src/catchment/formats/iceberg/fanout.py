"""Decides whether a task writes the files of all its partitions at once, or one after the other from sorted rows.

An open file takes memory, and a sort takes time. How many partitions the rows have is known only when they are
computed. Iceberg wants the rows shuffled by partition anyway, so they are shuffled first. The sizes of the shuffle then
show how many partitions there are, and the rows are read from the shuffle in the way that fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.partitions import AUTO, FANOUT_OPTION, ORDERING_OPTION, clustering, table_fields
from catchment.formats.iceberg.traits import FORKS

MOST_OPEN_FILES = 64
"""Per task. With the compression and columns of most tables, an open file takes about a megabyte."""
WELL_FILLED = 0.5
"""If a larger share of the shuffle's partitions has rows, several keys share each, and they cannot be counted."""
_PLANS = "org.apache.spark.sql.catalyst.plans.logical"


def settle(frame: DataFrame, table: Any, options: Mapping[str, str]) -> tuple[DataFrame, dict[str, str]]:
    """The rows and options to write with. Without `auto`, nothing changes; with it, the rows may be computed here."""
    if options.get(FANOUT_OPTION) != AUTO:
        return frame, dict(options)
    session = frame.sparkSession
    fields = table_fields(session, table)
    if all(field.transform == "void" for field in fields):
        return frame, {**options, FANOUT_OPTION: "false"}
    size = _advisory_size(session, table, options)
    if size is None:
        return frame, {**options, FANOUT_OPTION: "false"}  # then Spark sorts
    columns = clustering(fields, FORKS)
    shuffled = _shuffle(frame, columns, size)
    arranged = {**options, ORDERING_OPTION: "false"}
    if shuffled.partitions <= MOST_OPEN_FILES:
        return shuffled.rows, {**arranged, FANOUT_OPTION: "true"}
    return shuffled.rows.sortWithinPartitions(*columns), {**arranged, FANOUT_OPTION: "false"}


def estimated(filled: int, of: int) -> float:
    """The likely number of keys, if a hash has put them into `filled` of the shuffle's partitions."""
    return math.inf if filled > WELL_FILLED * of else -of * math.log1p(-filled / of)


@dataclass(frozen=True)
class _Shuffled:
    rows: DataFrame
    """The rows in the shuffle's files, which are not computed again."""
    partitions: float
    """About how many partitions of the table the rows belong to."""


def _advisory_size(session: SparkSession, table: Any, options: Mapping[str, str]) -> int | None:
    """The bytes for one task if Iceberg wants rows shuffled by partition and in no order; None otherwise."""
    if session.version.startswith("3.") or session.conf.get("spark.sql.adaptive.enabled", "true") != "true":
        return None
    jvm = Jvm.of(session)
    given = jvm("java.util.HashMap")()
    for key, value in {**options, FANOUT_OPTION: "true"}.items():
        given.put(key, value)
    known = jvm("org.apache.spark.sql.util.CaseInsensitiveStringMap")(given)
    wanted = jvm.iceberg("spark.SparkWriteConf")(session._jsparkSession, table, known).writeRequirements()
    clustered = "Clustered" in str(wanted.distribution().getClass().getSimpleName())
    return int(wanted.advisoryPartitionSize()) if clustered and not wanted.hasOrdering() else None


def _shuffle(frame: DataFrame, columns: Sequence[Column], size: int) -> _Shuffled:
    """Compute the rows and shuffle them, as Spark does before Iceberg's writer."""
    session = frame.sparkSession
    jvm, spark = Jvm.of(session), session._jsparkSession
    by = frame.repartition(*columns)._jdf.queryExecution().analyzed()
    bytes_of_a_task = jvm("scala.jdk.javaapi.OptionConverters").toScala(jvm("java.util.OptionalLong").of(size))
    plan = jvm(f"{_PLANS}.RebalancePartitions")(
        by.partitionExpressions(), by.child(), jvm("scala.Option").empty(), bytes_of_a_task
    )
    dataset = jvm("org.apache.spark.sql.classic.Dataset").ofRows(spark, plan)
    execution = dataset.queryExecution()
    rows = spark.internalCreateDataFrame(execution.toRdd(), dataset.schema(), False)  # noqa: FBT003
    return _Shuffled(DataFrame(rows, session), _partitions(execution.executedPlan()))


def _partitions(plan: Any) -> float:
    """The number of keys in the last shuffle; infinite if it is unknown."""
    if _name(plan) != "AdaptiveSparkPlanExec":
        return math.inf  # there is nothing to shuffle, and little or nothing to sort
    stage = next((each for each in _line(plan.executedPlan()) if _name(each) == "ShuffleQueryStageExec"), None)
    if stage is None or not stage.mapStats().isDefined():
        return math.inf
    sizes = list(stage.mapStats().get().bytesByPartitionId())
    return estimated(sum(size > 0 for size in sizes), len(sizes))


def _line(plan: Any) -> Iterator[Any]:
    """The plan from its result downwards, until a step has no child or several."""
    while True:
        yield plan
        if _name(plan) == "ResultQueryStageExec":
            plan = plan.plan()
        elif plan.children().length() == 1:
            plan = plan.children().apply(0)
        else:
            return


def _name(plan: Any) -> str:
    return str(plan.getClass().getSimpleName())
