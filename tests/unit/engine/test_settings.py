"""Spark settings from plans."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catchment.engine.protocol import Start
from catchment.engine.settings import S3_PAUSE_MS, S3_RETRIES, launch_settings, spark_settings
from catchment.errors import SetupError
from catchment.plan.model import EnginePlan
from catchment.project.model import Catalog, Depot, Engine


def settings(*depots: Depot, master: str = "local[2]", **conf: str) -> dict[str, str]:
    plan = EnginePlan("default", Engine("default", master=master), conf=conf, depots=depots)
    return spark_settings(Start(plan, ("/jars/a.jar", "/jars/b.jar"), "/logs", "/scratch"))


def catalog(**more: Any) -> dict[str, str]:
    found = settings(Depot("lake", "iceberg", more.pop("location", "/lake"), Catalog(**more)))
    prefix = "spark.sql.catalog.lake."
    return {key.removeprefix(prefix): value for key, value in found.items() if key.startswith(prefix)}


def test_an_embedded_catalog_waits_for_other_writers() -> None:
    found = catalog(database="/lake/catalog.db")
    assert found == {
        "type": "jdbc",
        "uri": "jdbc:sqlite:/lake/catalog.db",
        "warehouse": "/lake",
        "cache-enabled": "false",
        "jdbc.schema-version": "V1",
        "jdbc.journal_mode": "WAL",
        "jdbc.busy_timeout": "60000",
    }


def test_other_catalogs() -> None:
    postgresql = catalog(uri="jdbc:postgresql://host/db", properties={"jdbc.user": "u"})
    assert (postgresql["uri"], postgresql["jdbc.user"]) == ("jdbc:postgresql://host/db", "u")
    assert "jdbc.journal_mode" not in postgresql
    rest = catalog(type="rest", uri="http://host/iceberg", location="s3://bucket/lake")
    assert (rest["type"], rest["io-impl"]) == ("rest", "org.apache.iceberg.aws.s3.S3FileIO")
    assert "jdbc.schema-version" not in rest
    assert "warehouse" not in catalog(type="hive", uri="thrift://host:9083", location="")


def test_a_catalog_that_does_not_answer_is_not_waited_for_for_ever() -> None:
    postgresql = catalog(uri="jdbc:postgresql://host/db", properties={"jdbc.socketTimeout": "600"})
    assert (postgresql["jdbc.connectTimeout"], postgresql["jdbc.tcpKeepAlive"]) == ("30", "true")
    assert postgresql["jdbc.socketTimeout"] == "600"  # the user's own setting wins
    rest = catalog(type="rest", uri="http://host/iceberg", location="s3://bucket/lake")
    timeouts = {"rest.client.connection-timeout-ms": "30000", "rest.client.socket-timeout-ms": "120000"}
    assert timeouts.items() <= rest.items()
    hive = catalog(type="hive", uri="thrift://host:9083", location="")
    assert hive["hadoop.hive.metastore.client.socket.timeout"] == "120s"
    of_delta = settings(Depot("events", "delta", "/events", Catalog("hive", "thrift://host:9083")))
    assert of_delta["spark.hadoop.hive.metastore.client.socket.timeout"] == "120s"


def test_delta_tables_of_a_catalog_are_in_sparks_own() -> None:
    hive = Catalog("hive", "thrift://host:9083", properties={"hive.metastore.sasl.enabled": "true"})
    found = settings(Depot("events", "delta", "/events", hive))
    assert found["spark.sql.catalogImplementation"] == "hive"
    assert found["spark.hadoop.hive.metastore.uris"] == "thrift://host:9083"
    assert found["spark.hadoop.hive.metastore.sasl.enabled"] == "true"
    assert found["spark.hadoop.hive.exec.scratchdir"] == "/scratch/hive"
    assert not [key for key in found if key.startswith("spark.sql.catalog.events")]
    assert "Iceberg" not in found["spark.sql.extensions"]
    assert settings(Depot("events", "delta", "/events"))["spark.sql.catalogImplementation"] == "in-memory"


@pytest.mark.parametrize(
    ("catalog", "read_only"),
    [
        (Catalog(database="/c.db"), {".jdbc.open_mode": "1"}),
        (
            Catalog(uri="jdbc:postgresql://host/db", properties={"jdbc.readOnly": "false"}),
            {".jdbc.readOnly": "true", ".jdbc.readOnlyMode": "always"},
        ),
    ],
)
def test_a_published_catalog_is_another_name_in_the_same_database_which_it_can_only_read(
    catalog: Catalog, read_only: dict[str, str]
) -> None:
    found = settings(Depot("lake", "iceberg", "/lake", catalog, publish="shown"))
    ours, theirs = (
        {key.removeprefix(prefix): value for key, value in found.items() if key.startswith(prefix)}
        for prefix in ("spark.sql.catalog.lake", "spark.sql.catalog.shown")
    )
    assert theirs == {**ours, **read_only}
    assert ours[".uri"] in ("jdbc:sqlite:/c.db", "jdbc:postgresql://host/db")


def test_an_embedded_depot_keeps_tables_and_files_apart() -> None:
    depot = Depot(
        "x", "embedded", "/home/.catchment/depots/x", Catalog(database="/home/.catchment/depots/x/catalog.db")
    )
    assert settings(depot)["spark.sql.catalog.x.warehouse"] == "/home/.catchment/depots/x/tables"


def test_defaults_give_way_to_the_user_and_lists_are_joined() -> None:
    depot = Depot("lake", "iceberg", "/lake", Catalog(database="/c.db"), conf={"spark.hadoop.x": "1"})
    found = settings(
        depot,
        **{
            "spark.ui.enabled": "true",
            "spark.sql.extensions": "mine.Extension",
            "spark.driver.extraClassPath": "/mine.jar",
            "spark.jars.packages": "a:b:1",
        },
    )
    assert (found["spark.ui.enabled"], found["spark.hadoop.x"]) == ("true", "1")
    assert found["spark.sql.extensions"].split(",")[0] == "mine.Extension"
    assert found["spark.sql.extensions"].endswith("IcebergSparkSessionExtensions")
    assert found["spark.driver.extraClassPath"] == "/mine.jar:/jars/a.jar:/jars/b.jar"
    assert "spark.jars.packages" not in found  # they are resolved before Spark starts


def test_what_the_user_says_of_the_compiler_comes_last_and_wins() -> None:
    option = "-XX:Tier4InvocationThreshold="
    found = settings(**{"spark.driver.extraJavaOptions": f"{option}1"})["spark.driver.extraJavaOptions"]
    assert [each.removeprefix(option) for each in found.split() if each.startswith(option)] == ["20000", "1"]


def test_spark_remembers_little_where_nobody_looks_at_its_pages() -> None:
    kept = "spark.sql.ui.retainedExecutions"
    assert settings()[kept] == "50"
    assert settings(**{kept: "7"})[kept] == "7"
    assert kept not in settings(**{"spark.ui.enabled": "true"})


def test_delta_takes_the_place_of_sparks_own_catalog_where_it_is_needed_and_leaves_the_others_alone() -> None:
    lake, events = Depot("lake", "iceberg", "/lake", Catalog(database="/c.db")), Depot("events", "delta", "/events")
    own, partitions = "spark.sql.catalog.spark_catalog", "spark.databricks.delta.snapshotPartitions"
    found = settings(lake, events)
    assert found[own].endswith("DeltaCatalog")
    assert found["spark.sql.catalog.lake"].endswith("iceberg.spark.SparkCatalog")
    extensions = [name.rpartition(".")[2] for name in found["spark.sql.extensions"].split(",")]
    assert extensions == ["IcebergSparkSessionExtensions", "DeltaSparkSessionExtension"]
    assert own not in settings(lake)
    assert "Delta" not in settings(lake)["spark.sql.extensions"]
    assert partitions in found
    assert partitions not in settings(events, master="spark://host:7077")


def test_a_store_on_s3_is_not_asked_what_nobody_wants_to_know_unless_the_user_wants_to() -> None:
    flags, depot = "spark.hadoop.fs.s3a.performance.flags", Depot("drop", "files", "s3a://bucket/drop")
    assert settings(depot)[flags] == "create,mkdir,delete"
    assert settings(replace(depot, conf={flags: "open"}))[flags] == "open"
    assert settings(depot, **{flags: ""})[flags] == ""
    assert flags not in settings(Depot("drop", "files", "/drop"))


def test_jars_travel_to_clusters_only() -> None:
    assert "spark.jars" not in settings()
    there = settings(master="spark://host:7077")
    assert there["spark.jars"] == "/jars/a.jar,/jars/b.jar"
    assert "spark.driver.host" not in there


def test_everything_dropped_by_the_way_goes_to_the_scratch_directory() -> None:
    found = settings()
    assert Path(found["spark.sql.warehouse.dir"]).parent == Path("/scratch")
    assert found["spark.local.dir"] == "/scratch"
    assert '"-Djava.io.tmpdir=/scratch"' in found["spark.driver.extraJavaOptions"]


def test_only_what_java_needs_at_once_goes_to_the_command_line() -> None:
    found = settings(**{"spark.hadoop.fs.s3a.secret.key": "hunter22", "spark.driver.memory": "2g"})
    launched = launch_settings(found, ("hunter22",))
    assert launched["spark.driver.memory"] == "2g"
    assert "hunter22" not in str(launched)
    with pytest.raises(SetupError) as caught:
        launch_settings({**found, "spark.driver.extraJavaOptions": "-Dp=hunter22"}, ("hunter22",))
    assert caught.value.code == "secret-on-command-line"
    assert launch_settings(found, ("1", "2g", "jars"))  # short secrets and words occur by chance


def test_clients_of_stores_are_patient_for_more_than_a_minute() -> None:
    pauses = [S3_PAUSE_MS * 2**number for number in range(1, S3_RETRIES + 1)]
    assert sum(pauses) / 2 > 60_000  # Hadoop takes between half and one and a half times of each
    found = settings(Depot("lake", "iceberg", "s3a://bucket/lake", Catalog(database="/catalog.db")))
    assert found["spark.hadoop.fs.s3a.retry.limit"] == str(S3_RETRIES)
    assert found["spark.hadoop.fs.s3a.retry.interval"] == f"{S3_PAUSE_MS}ms"
    retries = int(catalog(type="rest", uri="http://host/iceberg", location="s3://bucket/lake")["s3.retry.num-retries"])
    # Iceberg takes at least half of each.
    assert sum(min(2 * 2**number, 20) for number in range(retries)) / 2 > 60


def test_a_depot_may_be_less_patient() -> None:
    conf = {"spark.hadoop.fs.s3a.retry.limit": "1"}
    assert settings(Depot("drop", "files", "s3a://bucket/drop", conf=conf))["spark.hadoop.fs.s3a.retry.limit"] == "1"
