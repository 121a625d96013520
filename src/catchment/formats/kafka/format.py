"""Kafka topics, which are only read: implements the protocols of `formats.model`."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.streaming import DataStreamReader
from pyspark.sql.types import StructType

from catchment.formats.frames import given_schema
from catchment.formats.kafka.connection import prefix
from catchment.formats.kafka.options import KAFKA
from catchment.formats.kafka.topics import topic_id
from catchment.plan.model import InputPlan

EARLIEST = {"startingoffsets": "earliest"}
"""By default, Spark would begin a stream with the records that arrive from now on."""
_RECORD = "_catchment_record"


def open_format(name: str) -> Kafka:
    """The code of one way to read topics."""
    return Kafka(name)


@dataclass(frozen=True)
class Kafka:
    """A topic, as records or as the columns in their values."""

    name: str

    def read(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The records that the topic has now; options may limit them."""
        topic_id(spark, str(source.dataset.topic), _settings(spark, source))  # raises here, at the input
        return self._rows(spark, source, spark.read)

    def read_stream(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The records that the topic has, and those that arrive."""
        return self._rows(spark, source, spark.readStream)

    def input_version(self, spark: SparkSession, source: InputPlan) -> str | None:
        """None: a topic grows all the time."""
        return None

    def stream_identity(self, spark: SparkSession, source: InputPlan) -> str | None:
        """The id of the topic; None if records may be lost."""
        found = topic_id(spark, str(source.dataset.topic), _settings(spark, source))
        return None if source.options.get("failondataloss", "true").lower() == "false" else found

    def _rows(self, spark: SparkSession, source: InputPlan, reader: DataFrameReader | DataStreamReader) -> DataFrame:
        connection = {f"kafka.{name}": value for name, value in _settings(spark, source).items()}
        begin = {} if any(name.startswith("starting") for name in source.options) else EARLIEST
        options = {**connection, "subscribe": str(source.dataset.topic), **begin, **source.options}
        records = reader.format(KAFKA).options(**options).load()
        return records if self.name == KAFKA else _parsed(spark, source, records)


def _settings(spark: SparkSession, source: InputPlan) -> dict[str, str]:
    # From the context and not from the session, so that a statement cannot send a depot's secrets to other servers.
    found = spark.sparkContext._jsc.sc().conf().getAllWithPrefix(prefix(source.dataset.depot))
    return {str(each._1()): str(each._2()) for each in found}


def _parsed(spark: SparkSession, source: InputPlan, records: DataFrame) -> DataFrame:
    """The columns of each record's value, which must be a JSON object; any other value fails the job."""
    schema = given_schema(spark, source) or StructType()  # plans refuse an input without one
    text = records["value"].cast("string")
    rows = records.select("value", F.from_json(text, schema, {"mode": "FAILFAST"}).alias(_RECORD))
    # The condition makes Spark parse every value, even if a query needs none of the columns.
    return rows.filter(F.col(_RECORD).isNotNull() | F.col("value").isNull()).select(f"{_RECORD}.*")
