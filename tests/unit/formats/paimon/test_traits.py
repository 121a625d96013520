"""The settings of Paimon's catalogs: a lock where the store needs one and the catalog has one."""

from __future__ import annotations

import pytest

from catchment.formats.paimon.traits import settings
from catchment.project.model import Catalog, Depot

S3, DISK = "s3a://bucket/pond", "/lake/pond"
SQLITE, HIVE = Catalog("jdbc", database="/lake/catalog.db"), Catalog("hive", "thrift://there:9083")
POSTGRESQL = Catalog("jdbc", "jdbc:postgresql://there/db", properties={"jdbc.user": "me"})


@pytest.mark.parametrize(
    ("location", "catalog", "locks"),
    [
        (DISK, Catalog("filesystem"), False),
        (DISK, SQLITE, False),
        ("hdfs://there/pond", HIVE, False),
        (S3, Catalog("filesystem"), False),
        (S3, SQLITE, True),
        (S3, HIVE, True),
        (S3, POSTGRESQL, False),
    ],
)
def test_a_lock_where_it_is_needed_and_there_is_one(location: str, catalog: Catalog, *, locks: bool) -> None:
    made = settings([Depot("pond", "paimon", location, catalog)], "3.5", local=True)
    assert made["spark.sql.catalog.pond.lock.enabled"] == str(locks).lower()


def test_the_catalog_of_a_depot() -> None:
    made = settings([Depot("pond", "paimon", S3, POSTGRESQL)], "3.5", local=True)
    assert {key.removeprefix("spark.sql.catalog.pond"): value for key, value in made.items()} == {
        "": "org.apache.paimon.spark.SparkCatalog",
        ".metastore": "jdbc",
        ".uri": "jdbc:postgresql://there/db",
        ".warehouse": S3,
        ".cache-enabled": "false",
        ".lock.enabled": "false",
        ".catalog-key": "pond",
        ".jdbc.user": "me",
        ".jdbc.connectTimeout": "30",
        ".jdbc.socketTimeout": "120",
        ".jdbc.tcpKeepAlive": "true",
    }
