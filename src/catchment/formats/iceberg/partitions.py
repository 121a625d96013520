"""Partition specs: built for new tables, and compared with those of existing ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, DateType, TimestampNTZType, TimestampType

from catchment.errors import JobError
from catchment.formats.failures import from_spark
from catchment.formats.iceberg.java import tables
from catchment.formats.model import Write
from catchment.plan.model import PartitionField

FUNCTIONS = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
"""Iceberg's SQL functions by transform."""


def build_spec(spark: SparkSession, schema: Any, frame: DataFrame, write: Write) -> Any:
    """The partition spec of a new table."""
    new_builder = spark._jvm.org.apache.iceberg.PartitionSpec.builderFor
    whole = new_builder(schema)
    for field in write.output.partitions:
        column = column_of(frame, field, write)
        try:
            _add(new_builder(schema), field, column).build()  # each field alone first, to know which one fails
            _add(whole, field, column)
        except Exception as error:
            raise _invalid(field, error, hint_for(field.transform, column, frame.schema[column].dataType)) from error
    return whole.build()


@dataclass(frozen=True)
class TableField:
    """One field of a table's partition spec."""

    transform: str
    column: str
    name: str
    type: str
    """The type of the column."""

    @property
    def named(self) -> tuple[str, str, str | None]:
        return self.transform, self.column, self.name


def table_fields(spark: SparkSession, table: Any) -> list[TableField]:
    """The fields of a table's current partition spec."""
    return [TableField(**field) for field in json.loads(tables(spark).partitionFields(table))]


def check_spec(fields: Sequence[TableField], write: Write) -> None:
    """Raise if the table is partitioned differently than declared; without a declaration every table fits."""
    declared = [_declared(field) for field in write.output.partitions]
    actual = [field.named for field in fields]
    if declared and (len(declared) != len(actual) or not all(map(_same, write.output.partitions, actual))):
        raise JobError(
            f"output {write.output.name}: {write.output.dataset.address} is partitioned by "
            f"{_listed(actual)}, and the workflow says {_listed(declared)}",
            code="partition-spec-differs",
            where=write.output.where,
            hint="declare the table's own partitioning, or leave `partitionSpec` out",
        )


def clustering(fields: Iterable[TableField], functions: str) -> list[Column]:
    """The table's partition values as column expressions, computed with Iceberg's functions of a catalog."""
    used = (field for field in fields if field.transform != "void")
    return [F.expr(_expression(field.transform, field.column, functions)) for field in used]


def sortable(fields: Iterable[TableField]) -> bool:
    """Whether sorting by the partition values puts all rows of a partition together.

    A sort treats 0.0 and -0.0 as equal, but in Iceberg they are two partitions.
    """
    return not {"float", "double"}.intersection(field.type for field in fields)


def column_of(frame: DataFrame, field: PartitionField, write: Write) -> str:
    """The column of a partition field, spelled as in the data."""
    found: str | None = next((name for name in frame.columns if name.lower() == field.column.lower()), None)
    if found is None:
        raise JobError(
            f"output {write.output.name} is partitioned by {field.column}, which its rows do not have",
            code="column-not-found",
            where=field.where,
            hint=f"the columns are {', '.join(frame.columns)}",
        )
    return found


def _add(builder: Any, field: PartitionField, column: str) -> Any:
    arguments: list[Any] = [column]
    if field.argument is not None:
        arguments.append(field.argument)
    if field.name is not None:
        arguments.append(field.name)
    return getattr(builder, field.transform)(*arguments)


def hint_for(transform: str, column: str, kind: DataType) -> str:
    """What to do about a column that cannot be partitioned by a transform."""
    if transform in FUNCTIONS and not isinstance(kind, (DateType, TimestampType, TimestampNTZType)):
        function = "to_timestamp" if transform == "hour" else "to_date"
        return (
            f"{column} is a {kind.simpleString()}: convert it in the last step, for example with {function}({column})"
        )
    if transform == "hour" and isinstance(kind, DateType):
        return f"{column} is a date, which has no hours: partition by day of it, or by hour of a timestamp"
    return "choose another transform or column; the name of a partition must differ from every column"


def _invalid(field: PartitionField, error: Exception, hint: str) -> JobError:
    problem = from_spark(error)
    return JobError(
        f"the rows cannot be partitioned by {field.transform} of {field.column}: {problem.message}",
        code="partition-invalid",
        where=field.where,
        hint=hint,
        detail=problem.detail,
    )


def _declared(field: PartitionField) -> tuple[str, str, str | None]:
    transform = f"{field.transform}[{field.argument}]" if field.argument is not None else field.transform
    return transform, field.column, field.name


def _same(field: PartitionField, actual: tuple[str, str, str | None]) -> bool:
    transform, column, name = _declared(field)
    return transform == actual[0] and column.lower() == actual[1].lower() and name in (None, actual[2])


def _listed(fields: Iterable[tuple[str, str, str | None]]) -> str:
    return ", ".join(f"{transform}({column}) as {name or '…'}" for transform, column, name in fields) or "nothing"


def functions_of(depot: str) -> str:
    """The namespace of Iceberg's SQL functions in the catalog of a depot."""
    return f"`{depot}`.system"


def _expression(transform: str, column: str, functions: str) -> str:
    quoted = ".".join(f"`{part}`" for part in column.split("."))
    function, _, argument = transform.partition("[")
    if function == "identity":
        return quoted
    arguments = f"{argument.rstrip(']')}, {quoted}" if argument else quoted
    return f"{functions}.{FUNCTIONS.get(function, function)}({arguments})"


FANOUT_OPTION = "fanout-enabled"
AUTO = "auto"
"""With this value of the option, Catchment decides when the rows are written."""
FANOUT_PROPERTY = "write.spark.fanout.enabled"
ORDERING_OPTION = "use-table-distribution-and-ordering"
SPEC_OPTION = "output-spec-id"


def without_fanout(
    options: Mapping[str, str], properties: Mapping[str, str], *, clustered: bool, sortable: bool
) -> dict[str, str]:
    """The options, with fanout turned off or `auto` unless they or the table's properties set it.

    With fanout, a task keeps a file open for each partition, and thousands of open files need more memory than an
    engine has. Without it, a task writes one file after the other. `clustered` says that the rows are sorted by
    partition; otherwise `auto` sorts them if there are many. `sortable` says that a sort puts all rows of a partition
    together.
    """
    given = {name.lower(): value for name, value in options.items()}  # Spark ignores the case of options
    # Rows that are not sorted by their partitions can only be written with fanout.
    unsorted = SPEC_OPTION in given or (given.get(ORDERING_OPTION, "true").lower() == "false" and not clustered)
    if FANOUT_OPTION in given or FANOUT_PROPERTY in properties or unsorted or not sortable:
        return dict(options)
    return {**options, FANOUT_OPTION: "false" if clustered else AUTO}
