"""Reader options: the lists in the traits agree with what Spark and the formats know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from catchment.engine import java, packages
from catchment.formats.kafka.connection import KNOWN
from catchment.formats.registry import traits_of
from catchment.project.model import Depot
from tests.spark.lake import UNPREPARED, delta_depot, engine_plan

FILES = "org.apache.spark.sql.execution.datasources"
OPTIONS = {
    "csv": "org.apache.spark.sql.catalyst.csv.CSVOptions",
    "json": "org.apache.spark.sql.catalyst.json.JSONOptions",
    "parquet": f"{FILES}.parquet.ParquetOptions",
    "orc": f"{FILES}.orc.OrcOptions",
    "text": f"{FILES}.text.TextOptions",
    "avro": "org.apache.spark.sql.avro.AvroOptions",
}
OF_EVERY_FORMAT = {
    *("pathGlobFilter", "recursiveFileLookup", "basePath", "modifiedBefore", "modifiedAfter"),
    *("timeZone", "ignoreCorruptFiles", "ignoreMissingFiles"),
}
OF_WRITERS = {
    *("compression", "codec", "quoteAll", "escapeQuotes", "extension"),
    *("pretty", "ignoreNullFields", "writeNonAsciiCharacterAsCodePoint", "useUnsafeRow"),
    *("parquet.compression", "orc.compress", "recordName", "recordNamespace"),
}
OF_THE_ADDRESS = {"subscribe", "subscribepattern", "assign", "topic"}
NO_OPTION = re.compile("MODULE|KEYS|MOCK|DEFAULT|INSTRUCTION|MESSAGE")
"""Other constants beside those with the names of options."""
ONLY_OF_FUNCTIONS = {"avro": {"mode"}}


@contextmanager
def classes(spark: str, place: Path) -> Iterator[Any]:
    """A Java without Spark's session that has the classes of one line of Spark."""
    plan = engine_plan(delta_depot(place), Depot("broker", "kafka", "here:9092"), spark=spark, conf=UNPREPARED)
    installed = packages.install(plan, lambda _: None)
    path = ":".join((f"{installed.spark_home}/jars/*", *installed.jars))
    port = launch_gateway(classpath=path, java_path=java.find().executable, die_on_exit=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        yield gateway.jvm
    finally:
        gateway.shutdown()


def module(jvm: Any, name: str) -> Any:
    """An object of Scala."""
    return jvm.java.lang.Class.forName(f"{name}$").getField("MODULE$").get(None)


def declared(format: str, spark: str) -> set[str]:
    return {option for option in traits_of(format).read_options(format, spark, {"readchangefeed"}) if "*" not in option}


def of_topics(spark: str) -> set[str]:
    """The options of topics that are declared, in lower case."""
    traits = traits_of("kafka")
    return {name.lower() for name in traits.read_options("kafka", spark, ()) | traits.stream_options("kafka", spark)}


def of_kafka(jvm: Any) -> set[str]:
    """The options that Spark's reader of topics knows, in lower case, but for those that name the topics."""
    provider = module(jvm, "org.apache.spark.sql.kafka010.KafkaSourceProvider")
    fields = {field.getName().rpartition("$")[2]: field for field in provider.getClass().getDeclaredFields()}
    options = [field for name, field in fields.items() if name.isupper() and not NO_OPTION.search(name)]
    for field in options:
        field.setAccessible(True)
    return {str(field.get(provider)).lower() for field in options} - OF_THE_ADDRESS


@pytest.mark.parametrize("spark", ["4.1", pytest.param("3.5", marks=pytest.mark.slow)])
def test_the_reader_options_are_those_that_spark_knows(spark: str, tmp_path: Path) -> None:
    with classes(spark, tmp_path) as jvm:
        for format, name in OPTIONS.items():
            known = set(module(jvm, name).getAllOptions().mkString(" ").split())
            known -= OF_WRITERS | ONLY_OF_FUNCTIONS.get(format, set())
            assert declared(format, spark) - OF_EVERY_FORMAT == known - OF_EVERY_FORMAT, format
        constants = jvm.java.lang.Class.forName("org.apache.iceberg.spark.SparkReadOptions").getFields()
        assert declared("iceberg", spark) <= {str(constant.get(None)) for constant in constants}
        delta = module(jvm, "org.apache.spark.sql.delta.DeltaOptions")
        names = {method.getName() for method in delta.getClass().getMethods() if not method.getParameterCount()}
        assert declared("delta", spark) <= {getattr(delta, name)() for name in names if name.isupper()}
        assert of_topics(spark) == of_kafka(jvm)
        consumers = jvm.java.lang.Class.forName("org.apache.kafka.clients.consumer.ConsumerConfig")
        assert set(consumers.getMethod("configNames", None).invoke(None, None)) >= KNOWN
