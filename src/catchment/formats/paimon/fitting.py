"""Fits rows to a table before data is written, and adds columns if the output allows it."""

from __future__ import annotations

import operator
from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from catchment.formats.model import Write
from catchment.formats.paimon.catalogs import identifier, open_catalog
from catchment.formats.paimon.new_tables import check_functions
from catchment.formats.paimon.table import Table, require_table
from catchment.formats.paimon.traits import AGGREGATION, DEFAULT_FUNCTION, FUNCTION
from catchment.formats.schema_fit import Difference, check, columns_without_type, differences, not_storable
from catchment.jvm.classes import Jvm
from catchment.plan.model import OutputPlan


def grows(frame: DataFrame, write: Write, table: Table) -> bool:
    """Whether the table must be extended for these rows; raises if they cannot be written to it."""
    found = _differences(frame, table)
    check(write, [*found, *_reordered(frame, table)])
    return any(difference.grows for difference in found)


def grow(spark: SparkSession, frame: DataFrame, write: Write) -> Table:
    """Add the columns that the table lacks, with their functions, and widen those that are too narrow."""
    if untyped := columns_without_type(frame.schema):
        raise not_storable(write, "Paimon", f"a bare NULL ({', '.join(untyped)})")
    table, dataset = require_table(spark, write.output.dataset), write.output.dataset
    jvm = Jvm.of(spark)
    change, types = jvm("org.apache.paimon.schema.SchemaChange"), jvm("org.apache.paimon.spark.SparkTypeUtils")
    known = {field.name.lower(): field for field in table.schema.fields}
    java = {field.name(): field for field in frame._jdf.schema().fields()}
    changes = jvm("java.util.ArrayList")()
    for key, function in _functions(frame, write.output, table).items():
        changes.add(change.setOption(key, function))
    for field in frame.schema.fields:
        kind, own = types.toPaimonType(java[field.name].dataType()), known.get(field.name.lower())
        if own is None:
            changes.add(change.addColumn(field.name, kind))
        elif any(each.widens for each in differences(StructType([field]), StructType([own]))):
            changes.add(change.updateColumnType(own.name, kind))
    if not changes.isEmpty():
        open_catalog(spark, dataset.depot).alterTable(identifier(spark, dataset), changes, False)  # noqa: FBT003
    return require_table(spark, dataset)


def _functions(frame: DataFrame, output: OutputPlan, table: Table) -> dict[str, str]:
    """Options with the functions of the columns that an aggregating table lacks; raises if one has no function."""
    if table.merge_engine != AGGREGATION:
        return {}
    known = {field.name.lower() for field in table.schema.fields}
    new = [name for name in frame.columns if name.lower() not in known]
    # The output's default becomes the function of each new column: it must not change what other columns do.
    default = None if DEFAULT_FUNCTION in table.options else output.properties.get(DEFAULT_FUNCTION)
    declared = {key: output.properties.get(key, default) for key in map(FUNCTION.format, new)}
    found = {key: function for key, function in declared.items() if function}
    check_functions(output, {**table.options, **found}, new)
    return found


def fit(frame: DataFrame, table: Table) -> DataFrame:
    """The rows with exactly the columns of the table: Paimon's writer goes by their order, not by their names."""
    kinds = ([(field.name, field.dataType) for field in each.fields] for each in (frame.schema, table.schema))
    if operator.eq(*kinds):
        return frame
    brought = {name.lower(): name for name in frame.columns}

    def column(name: str, kind: DataType) -> Column:
        own = brought.get(name.lower())
        value = F.lit(None) if own is None else F.col(f"`{own}`")
        return value.cast(kind).alias(name)

    return frame.select(*(column(field.name, field.dataType) for field in table.schema.fields))


def _differences(frame: DataFrame, table: Table) -> list[Difference]:
    # Nulls are known only row by row: Paimon itself refuses a row with a null in a required column.
    nullable = StructType([StructField(field.name, field.dataType) for field in table.schema.fields])
    found = [_possible(difference) for difference in differences(frame.schema, nullable)]
    if table.merge_engine != "partial-update":
        return found
    # Each writer of such a table may write only some of its columns; the others stay as they are.
    return [difference for difference in found if difference.grows or not difference.mergeable]


def _reordered(frame: DataFrame, table: Table) -> list[Difference]:
    """Structs whose fields are in a different order than the table's: Spark casts them by position, not by name."""
    own = {field.name.lower(): field.dataType for field in table.schema.fields}
    mixed = [field.name for field in frame.schema.fields if _is_mixed(field.dataType, own.get(field.name.lower()))]
    return [
        Difference(f"column {name} has its fields in another order than the table", mergeable=False) for name in mixed
    ]


def _is_mixed(rows: DataType, table: DataType | None) -> bool:
    match rows, table:
        case StructType(), StructType():
            brought, own = ([field.name.lower() for field in kind.fields] for kind in (rows, table))
            pairs = zip(rows.fields, table.fields, strict=False)
            inside = any(_is_mixed(one.dataType, other.dataType) for one, other in pairs)
            return inside or (brought != own and sorted(brought) == sorted(own))
        case ArrayType(), ArrayType():
            return _is_mixed(rows.elementType, table.elementType)
        case MapType(), MapType():
            return _is_mixed(rows.keyType, table.keyType) or _is_mixed(rows.valueType, table.valueType)
        case _:
            return False


def _possible(difference: Difference) -> Difference:
    """Paimon adds columns only at the top level: a struct stays as it was created."""
    return replace(difference, mergeable=False) if difference.nested else difference
