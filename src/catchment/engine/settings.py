"""The Spark settings of an engine, computed from its plan without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from catchment.engine.coordinates import PACKAGES_SETTING
from catchment.engine.memory import java_option
from catchment.errors import SetupError
from catchment.formats.registry import held_by, in_use
from catchment.formats.traits import Traits
from catchment.plan.model import EnginePlan
from catchment.project.depots import is_servers
from catchment.project.model import Depot
from catchment.project.secrets import Redactor

if TYPE_CHECKING:  # the protocol takes its time to load
    from catchment.engine.protocol import Start

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
"""Settings that the JVM needs when it starts. They are passed on the command line, which every user of the machine can
read; all other settings are sent later over the gateway's connection."""

# Before Hadoop's S3 client creates a file, it checks for a directory of that name and for a file above it; after it
# deletes one, it checks whether the directory must be kept. Data files always have new names and need no directories.
# Skipping these checks saves a fifth of the requests of a write. Older clients ignore the flags.
S3_FEWER_REQUESTS = {"spark.hadoop.fs.s3a.performance.flags": "create,mkdir,delete"}

# Hadoop's S3 client tries a request again after pauses that double, each between half and one and a half times as long:
# with these it is patient for a minute at the very least, and for two on average.
S3_RETRIES, S3_PAUSE_MS = 7, 500
S3_PATIENCE = {
    "spark.hadoop.fs.s3a.retry.limit": str(S3_RETRIES),
    "spark.hadoop.fs.s3a.retry.interval": f"{S3_PAUSE_MS}ms",
}

# A start, and every small job, runs much code some thousand times, for which Java's second compiler takes a core away.
# What runs for long reaches four times the usual limits within seconds.
LATE_COMPILER = (
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=2400",
    "-XX:Tier4CompileThreshold=60000",
    "-XX:Tier4BackEdgeThreshold=160000",
)

# Spark remembers the plans and tasks of a thousand queries for its web pages. A resident engine would grow with them.
SHORT_HISTORY = {
    "spark.sql.ui.retainedExecutions": "50",
    "spark.ui.retainedJobs": "200",
    "spark.ui.retainedStages": "200",
    "spark.ui.retainedTasks": "2000",
}


def spark_settings(start: Start) -> dict[str, str]:
    """Every setting of the application: the defaults, overridden by the depots', overridden by the user's."""
    engine = start.engine
    settings = {**_defaults(engine), **lake_settings(engine)}
    if settings["spark.ui.enabled"] == "false":
        settings = {**SHORT_HISTORY, **settings}
    settings.pop(PACKAGES_SETTING, None)  # these packages are already among the jars
    extensions = [traits.extension for traits in _formats(engine) if traits.extension]
    _append(settings, "spark.sql.extensions", ",", extensions)
    # Jars on the class path load faster than jars that are added later. Remote executors must be sent the jars.
    _append(settings, "spark.driver.extraClassPath", ":", start.jars)
    if not engine.engine.is_local:
        _append(settings, "spark.jars", ",", start.jars)
    settings.update(_in_scratch(settings, Path(start.scratch)))
    if settings["spark.sql.catalogImplementation"] == "hive":
        settings["spark.hadoop.hive.exec.scratchdir"] = str(Path(start.scratch) / "hive")
    ours = (f'"{option}"' for option in start.java_options)
    options = (*LATE_COMPILER, settings["spark.driver.extraJavaOptions"], *ours)
    settings["spark.driver.extraJavaOptions"] = " ".join(options)
    return settings


def lake_settings(engine: EnginePlan) -> dict[str, str]:
    """The settings of catalogs and stores, overridden by the user's."""
    return {**_of_formats(engine), **_of_depots(engine.depots), **engine.conf}


def launch_settings(settings: Settings, secrets: Sequence[str]) -> dict[str, str]:
    """The settings for the command line; raises if one of them contains a secret."""
    chosen = {key: settings[key] for key in AT_LAUNCH if key in settings}
    redactor = Redactor(secrets)
    for key, value in chosen.items():
        if redactor.finds(value):
            raise SetupError(
                f"{key} contains a secret, and every user of this machine can read the command line it is passed on",
                code="secret-on-command-line",
                hint="pass the secret in `envs`, or in a setting that Java does not need to start",
            )
    return chosen


def single_writer(depots: Sequence[Depot]) -> dict[str, str]:
    """The depots whose catalogs lose commits if two processes write a table at the same time, and their locations."""
    return {depot.name: depot.location.rstrip("/") for depot in depots if _loses_commits(depot)}


def _loses_commits(depot: Depot) -> bool:
    kind = depot.catalog.type if depot.catalog else ""
    return any(traits.catalogs[kind].loses_commits for traits in held_by(depot.kind) if kind in traits.catalogs)


def published(depots: Sequence[Depot]) -> dict[str, str]:
    """The published catalogs by the names of their depots."""
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
    }
    if engine.engine.is_local:
        defaults |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return defaults


def _formats(engine: EnginePlan) -> tuple[Traits, ...]:
    return in_use({depot.kind for depot in engine.depots})


def _of_formats(engine: EnginePlan) -> dict[str, str]:
    settings: dict[str, str] = {}
    for traits in _formats(engine):
        depots = [depot for depot in engine.depots if traits in held_by(depot.kind)]
        settings |= traits.settings(depots, engine.engine.spark, local=engine.engine.is_local)
    return settings


def _of_depots(depots: Sequence[Depot]) -> dict[str, str]:
    on_s3 = any(depot.location.startswith("s3a://") for depot in depots)
    settings = {**S3_FEWER_REQUESTS, **S3_PATIENCE} if on_s3 else {}
    for depot in (each for each in depots if not is_servers(each)):
        settings |= dict(depot.conf)
    return settings


def _in_scratch(settings: Settings, scratch: Path) -> dict[str, str]:
    """Settings that send all temporary files of Spark and Java to a directory that is removed with the engine."""
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
