from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from catchment.plan import settings


@pytest.mark.parametrize(
    ("key", "of_session"),
    [
        ("spark.sql.shuffle.partitions", True),
        ("spark.sql.catalog.extra.uri", True),
        ("spark.sql.iceberg.planning.preserve-data-grouping", True),
        ("parquet.block.size", True),
        ("spark.sql.extensions", False),
        ("spark.sql.warehouse.dir", False),
        ("spark.sql.hive.metastore.jars", False),
        ("spark.driver.memory", False),
        ("spark.executor.instances", False),
        ("spark.serializer", False),
        ("spark.hadoop.fs.s3a.endpoint", False),
    ],
)
def test_which_settings_belong_to_a_session(key: str, of_session: bool) -> None:
    session, application = settings.split({key: "x"})
    assert (session, application) == (({key: "x"}, {}) if of_session else ({}, {key: "x"}))


def test_the_static_settings_are_those_of_spark() -> None:
    """Spark keeps them in one class; its constants are the truth."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    (jar,) = (Path(spec.origin).parent / "jars").glob("spark-catalyst_*.jar")
    with ZipFile(jar) as content:
        constants = content.read("org/apache/spark/sql/internal/StaticSQLConf$.class")
    # A constant follows the two bytes of its length.
    names = {
        found[2].decode()
        for found in re.finditer(rb"(?=(..)(spark\.sql\.[A-Za-z.]+))", constants, re.DOTALL)
        if int.from_bytes(found[1], "big") == len(found[2])
    }
    assert names - {"spark.sql.catalog."} == settings.STATIC_SQL
