"""An engine's Spark settings, from its plan alone. Plain data: nothing here touches Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from catchment.engine.coordinates import PACKAGES_SETTING
from catchment.engine.memory import java_option
from catchment.engine.protocol import Start
from catchment.errors import SetupError
from catchment.formats.iceberg.buffer import FORKS, catalog_class
from catchment.plan.model import EnginePlan
from catchment.project.model import Depot

Settings = Mapping[str, str]

AT_LAUNCH = (
    "spark.master",
    "spark.submit.deployMode",
    "spark.driver.memory",
    "spark.driver.cores",
    "spark.driver.extraClassPath",
    "spark.driver.extraJavaOptions",
    "spark.driver.extraLibraryPath",
)
"""What the JVM must know before it runs. It is handed over on a command line, which every user of the machine can
read; all other settings follow over the gateway's own connection."""

ICEBERG_EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
SNAPSHOT_PARTITIONS = "4"
"""Of a Delta table's state: on one machine, the fifty that Delta takes are tasks without work."""
SQLITE_PATIENCE_MS = "60000"

# Before it makes a file, Hadoop's S3 client asks whether a directory is there or above it a file, and after it has
# removed one, whether the directory must be kept. Iceberg's and Spark's names are new each time and need no
# directories, so nobody wants to know; it is a fifth of the requests of a write. Older clients do not know the flags.
FEWER_REQUESTS = {"spark.hadoop.fs.s3a.performance.flags": "create,mkdir,delete"}


def spark_settings(start: Start) -> dict[str, str]:
    """Every setting of the application: our defaults, then the depots', then what the user asks for."""
    engine = start.engine
    settings = {**_defaults(engine), **_of_depots(engine.depots), **_of_delta(engine), **engine.conf}
    settings.pop(PACKAGES_SETTING, None)  # they are among the jars already
    if any(depot.holds_iceberg for depot in engine.depots):
        _append(settings, "spark.sql.extensions", ",", [ICEBERG_EXTENSION])
    if _knows_delta(engine):
        _append(settings, "spark.sql.extensions", ",", [DELTA_EXTENSION])
    # Jars on the class path from the start load faster than jars added later; executors elsewhere must be sent them.
    _append(settings, "spark.driver.extraClassPath", ":", start.jars)
    if not is_local(engine):
        _append(settings, "spark.jars", ",", start.jars)
    settings.update(_in_scratch(settings, Path(start.scratch)))
    if settings["spark.sql.catalogImplementation"] == "hive":
        settings["spark.hadoop.hive.exec.scratchdir"] = str(Path(start.scratch) / "hive")
    options = (settings["spark.driver.extraJavaOptions"], *(f'"{option}"' for option in start.java_options))
    settings["spark.driver.extraJavaOptions"] = " ".join(options)
    return settings


def launch_settings(settings: Settings, secrets: Sequence[str]) -> dict[str, str]:
    """The part that goes onto the command line; refuses to put a secret there."""
    chosen = {key: settings[key] for key in AT_LAUNCH if key in settings}
    for key, value in chosen.items():
        if any(secret in value for secret in secrets if secret):
            raise SetupError(
                f"{key} holds a secret, and Java takes it on a command line that everybody on this machine can read",
                code="secret-on-command-line",
                hint="pass the secret in `envs`, or in a setting that is not needed to start Java",
            )
    return chosen


def is_local(engine: EnginePlan) -> bool:
    """Whether everything runs inside the driver."""
    return engine.engine.master.startswith("local")


def solitary(depots: Sequence[Depot]) -> frozenset[str]:
    """The depots whose catalogs bear one writer of a table at a time."""
    return frozenset(depot.name for depot in depots if depot.catalog and depot.catalog.type == "hadoop")


def published(depots: Sequence[Depot]) -> dict[str, str]:
    """The published catalogs of the depots that have one."""
    return {depot.name: depot.publish for depot in depots if depot.publish}


def _defaults(engine: EnginePlan) -> dict[str, str]:
    defaults = {
        "spark.app.name": f"catchment {engine.key}",
        "spark.master": engine.engine.master,
        "spark.scheduler.mode": "FAIR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalogImplementation": "in-memory",
        f"spark.sql.catalog.{FORKS}": catalog_class(engine.engine.spark),
    }
    if is_local(engine):
        defaults |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return defaults


def _of_depots(depots: Sequence[Depot]) -> dict[str, str]:
    settings = dict(FEWER_REQUESTS) if any(depot.location.startswith("s3a://") for depot in depots) else {}
    for depot in depots:
        settings |= dict(_catalogs(depot)) | dict(depot.conf)
    return settings


def _knows_delta(engine: EnginePlan) -> bool:
    return any(depot.kind == "delta" for depot in engine.depots)


def _of_delta(engine: EnginePlan) -> dict[str, str]:
    """Delta's place is Spark's own catalog: only there are tables found by their path. Others keep their names."""
    if not _knows_delta(engine):
        return {}
    catalog = {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}
    local = {"spark.databricks.delta.snapshotPartitions": SNAPSHOT_PARTITIONS} if is_local(engine) else {}
    return {**catalog, **local, **_hive(engine)}


def _hive(engine: EnginePlan) -> dict[str, str]:
    """What Spark's own catalog needs to be the one that a Hive metastore keeps for everybody."""
    catalogs = (depot.catalog for depot in engine.depots if depot.kind == "delta" and depot.catalog)
    catalog = next(catalogs, None)
    if catalog is None:
        return {}
    properties = {"hive.metastore.uris": str(catalog.uri), **catalog.properties}
    return {
        "spark.sql.catalogImplementation": "hive",
        **{f"spark.hadoop.{key}": value for key, value in properties.items()},
    }


def _catalogs(depot: Depot) -> Iterator[tuple[str, str]]:
    """The depot's own catalog and the published one: in one database, under their names."""
    if depot.catalog is None or not depot.holds_iceberg:
        return
    properties = {
        "type": depot.catalog.type,
        "uri": _uri(depot),
        "warehouse": depot.warehouse,
        # A cached table is an old table as soon as another engine has committed.
        "cache-enabled": "false",
        **_of_database(_uri(depot)),
        **_of_store(depot),
        **depot.catalog.properties,
    }
    for prefix in (f"spark.sql.catalog.{name}" for name in (depot.name, depot.publish) if name):
        yield prefix, "org.apache.iceberg.spark.SparkCatalog"
        yield from ((f"{prefix}.{key}", value) for key, value in properties.items() if value)


def _uri(depot: Depot) -> str:
    if depot.catalog is None:
        return ""
    return depot.catalog.uri or (f"jdbc:sqlite:{depot.catalog.database}" if depot.catalog.database else "")


def _of_database(uri: str) -> dict[str, str]:
    if not uri.startswith("jdbc:"):
        return {}
    schema = {"jdbc.schema-version": "V1"}
    if uri.startswith("jdbc:postgresql:"):
        # A server that ends a connection says so when it is used next; nothing was done, so a new one may ask again.
        return {**schema, "retryable_status_codes": "57P01"}
    if not uri.startswith("jdbc:sqlite:"):
        return schema
    # Readers do not block the writer, and writers wait for each other instead of failing.
    return {**schema, "jdbc.journal_mode": "WAL", "jdbc.busy_timeout": SQLITE_PATIENCE_MS}


def _of_store(depot: Depot) -> dict[str, str]:
    return {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO"} if depot.warehouse.startswith("s3://") else {}


def _in_scratch(settings: Settings, scratch: Path) -> dict[str, str]:
    """Everything Spark and Java drop by the way goes to one directory that is removed with the engine."""
    options = (
        settings.get("spark.driver.extraJavaOptions", ""),
        f'"-Djava.io.tmpdir={scratch}"',
        f'"-Dderby.system.home={scratch}"',
        f'"{java_option(scratch)}"',
    )
    return {
        "spark.driver.extraJavaOptions": " ".join(option for option in options if option),
        "spark.sql.warehouse.dir": settings.get("spark.sql.warehouse.dir", str(scratch / "warehouse")),
        "spark.local.dir": settings.get("spark.local.dir", str(scratch)),
    }


def _append(settings: dict[str, str], key: str, separator: str, values: Sequence[str]) -> None:
    present = [part for part in settings.get(key, "").split(separator) if part]
    if merged := separator.join(dict.fromkeys((*present, *values))):
        settings[key] = merged
