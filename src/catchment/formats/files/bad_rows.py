"""Finds the bad rows of CSV and JSON files: how many there are, where the first ones are, and why they are bad.

Spark's parser does not say why a record is bad. So the text of each bad record is parsed again, with every column as
text: if that fails, the record is broken; if not, its bad values are those that only the typed columns lack.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from catchment.formats.files.reading import BAD, Parsing, column, exact_path, is_bad
from catchment.formats.model import BadRow, FoundBadRows, SeparatedRows
from catchment.plan.model import InputPlan

LONGEST_VALUE = 60
"""How many characters of a bad value a reason shows."""
ROW_BITS = 33
"""Spark's ids of rows: the number of the partition, followed by this many bits for the number of the row in it."""


def separate(spark: SparkSession, source: InputPlan) -> SeparatedRows:
    """The good and the bad rows of an input."""
    parsing = Parsing.of(spark, source)
    rows = parsing.load("PERMISSIVE")
    return SeparatedRows(parsing.good(rows), _bad(parsing, rows))


def find_bad_rows(spark: SparkSession, source: InputPlan, show: int) -> FoundBadRows:
    """Count the bad rows of an input and describe the first ones of its first file that has any."""
    parsing = Parsing.of(spark, replace(source, bad_rows="drop"))
    bad = _bad(parsing, parsing.load("PERMISSIVE"))
    each_file = bad.groupBy("file").agg(F.count(F.lit(1)).alias("rows"))
    [total] = each_file.agg(F.sum("rows"), F.count(F.lit(1)), F.min("file")).collect()
    rows, files, file = total
    if not files:
        return FoundBadRows(0, 0, ())
    first = bad.filter(F.col("file") == file).limit(show).collect()
    lines = _line_numbers(parsing, file, [row.record for row in first])
    found = [BadRow(_shown(file), row.reason, lines.get(row.record)) for row in first]
    return FoundBadRows(rows, files, tuple(sorted(found, key=lambda row: row.line or 0)))


def _bad(parsing: Parsing, rows: DataFrame) -> DataFrame:
    bad = rows.filter(is_bad(rows))
    texts = parsing.columns_of_files(rows)
    with_texts = bad.withColumn(_TEXTS, _as_texts(parsing, texts))
    return with_texts.select(
        F.input_file_name().alias("file"), _reason(parsing, texts).alias("reason"), F.col(BAD).alias("record")
    )


_TEXTS = f"{BAD}_texts"


def _as_texts(parsing: Parsing, columns: StructType) -> Column:
    options = {**parsing.source.options, "mode": "PERMISSIVE", "header": "false"}
    names = [*columns.names, BAD]
    if parsing.source.dataset.format == "json":
        return F.from_json(F.col(BAD), StructType([StructField(name, StringType()) for name in names]), options)
    listed = ", ".join("`{}` STRING".format(name.replace("`", "``")) for name in names)
    return F.from_csv(F.col(BAD), listed, options)


def _reason(parsing: Parsing, columns: StructType) -> Column:
    is_json = parsing.source.dataset.format == "json"
    if is_json and parsing.several_lines:  # the record is the whole file, which may hold many rows
        return F.lit("the file is not valid JSON, or one of its values does not fit its type")
    texts = F.col(_TEXTS)
    broken = "not valid JSON" if is_json else f"not {len(columns)} columns"
    wrong = [_bad_value(field, texts.getField(field.name)) for field in columns]
    values = F.concat_ws("; ", *wrong)
    return (
        F.when(texts.isNull() | texts.getField(BAD).isNotNull(), F.lit(broken))
        .when(values != "", values)
        .otherwise(F.lit("a value does not fit its type"))
    )


def _bad_value(field: StructField, text: Column) -> Column:
    shown = F.concat(F.lit(f"{field.name}: '"), F.substring(text, 1, LONGEST_VALUE))
    described = F.concat(shown, F.lit(f"' is not {field.dataType.simpleString().upper()}"))
    return F.when(text.isNotNull() & column(field.name).isNull(), described)


def _line_numbers(parsing: Parsing, file: str, records: Sequence[str]) -> Mapping[str, int]:
    """The number of the first line that holds each of these records; empty if records may have several lines."""
    if parsing.several_lines:
        return {}
    separator = parsing.source.options.get("linesep")
    reader = parsing.spark.read.options(**({"lineSep": separator} if separator else {}))
    # Lines get their ids in the order of the file, because Spark reads the pieces of one file in their order.
    lines = reader.text(exact_path(file)).select(F.monotonically_increasing_id().alias("id"), "value")
    part = F.shiftright("id", ROW_BITS).alias("part")
    counts = {row.part: row["count"] for row in lines.groupBy(part).count().collect()}
    hits = lines.filter(F.col("value").isin(*records)).groupBy("value").agg(F.min("id").alias("id")).collect()
    return {row.value: _line(row.id, counts) for row in hits}


def _line(id: int, counts: Mapping[int, int]) -> int:
    part, row = id >> ROW_BITS, id & (1 << ROW_BITS) - 1
    return sum(count for other, count in counts.items() if other < part) + row + 1


def _shown(file: str) -> str:
    """A file name as users write it: the plain path if the file is on this machine."""
    return unquote(re.sub(r"^file:/+", "/", file))
