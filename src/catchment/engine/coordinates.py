"""Which packages for which Spark: only versions that were run together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from catchment.errors import RequestError
from catchment.plan.model import EnginePlan
from catchment.project.model import Depot

SQLITE = "org.xerial:sqlite-jdbc:3.50.3.0"
PACKAGES_SETTING = "spark.jars.packages"
"""How workflows ask Spark for packages. We bring them, so that Spark need not do it anew at every start."""
POSTGRESQL = "org.postgresql:postgresql:42.7.13"


@dataclass(frozen=True)
class Package:
    """One Maven coordinate `group:artifact:version`, and which of its dependencies (`group:artifact`) stay away."""

    coordinate: str
    without: tuple[str, ...] = ()
    alone: bool = False
    """Take this jar and none of its dependencies."""
    classifier: str = ""
    """Take the artifact's variant of this name, such as `jar-with-dependencies`."""

    @property
    def parts(self) -> tuple[str, str, str]:
        group, artifact, version = self.coordinate.split(":")
        return group, artifact, version


@dataclass(frozen=True)
class SparkLine:
    """One supported line of Spark."""

    pyspark: str
    iceberg: Package
    delta: tuple[Package, ...]
    """Alone: what else they ask for, Spark has, in the versions that it was built with."""
    avro: Package
    s3: tuple[Package, ...]
    python_packages: tuple[str, ...] = ()
    """What its Python side needs and does not ask for."""


# Hadoop's S3 connector asks for an SDK bundle of 640 MB. Iceberg's holds the same in 69 MB, but for two parts.
SPARK_LINES = {
    "4.1": SparkLine(
        pyspark="4.1.2",
        iceberg=Package("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"),
        delta=(
            Package("io.delta:delta-spark_4.1_2.13:4.4.0", alone=True),
            Package("io.delta:delta-storage:4.4.0", alone=True),
        ),
        avro=Package("org.apache.spark:spark-avro_2.13:4.1.1", alone=True),
        s3=(
            Package("org.apache.hadoop:hadoop-aws:3.4.2", without=("software.amazon.awssdk:bundle",)),
            Package("org.apache.iceberg:iceberg-aws-bundle:1.12.0"),
            Package("software.amazon.awssdk:s3-transfer-manager:2.29.52", alone=True),
            Package("software.amazon.awssdk:apache-client:2.29.52", alone=True),
        ),
    ),
    "3.5": SparkLine(
        pyspark="3.5.8",
        iceberg=Package("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.11.0"),
        delta=(
            Package("io.delta:delta-spark_2.12:3.3.2", alone=True),
            Package("io.delta:delta-storage:3.3.2", alone=True),
        ),
        avro=Package("org.apache.spark:spark-avro_2.12:3.5.7", alone=True),
        s3=(
            Package("org.apache.hadoop:hadoop-aws:3.3.4"),
            Package("org.apache.iceberg:iceberg-aws-bundle:1.11.0"),
        ),
        python_packages=("setuptools",),
    ),
}


def spark_line(engine: EnginePlan) -> SparkLine:
    """The line of Spark that an engine asks for."""
    line = SPARK_LINES.get(engine.engine.spark)
    if line is None:
        raise RequestError(
            f"engine {engine.engine.name} asks for Spark {engine.engine.spark}",
            code="spark-unsupported",
            where=engine.engine.where,
            hint=f"use one of {', '.join(SPARK_LINES)}",
        )
    return line


def packages_of(engine: EnginePlan) -> tuple[Package, ...]:
    """Everything that must be on the class path of an engine, without repeats, in a stable order."""
    line = spark_line(engine)
    # What an embedded depot needs is always there, so that nearly all engines of a machine share one set of jars.
    needed = [line.avro, line.iceberg, Package(SQLITE)]
    needed += [package for depot in engine.depots for package in _of_depot(depot, line)]
    listed = engine.conf.get(PACKAGES_SETTING, "").split(",")
    asked_for = (*engine.engine.packages, *(coordinate.strip() for coordinate in listed if coordinate.strip()))
    needed += [_asked_for(coordinate, engine) for coordinate in asked_for]
    return tuple(sorted(dict.fromkeys(needed), key=lambda package: package.coordinate))


def _of_depot(depot: Depot, line: SparkLine) -> Iterator[Package]:
    uri = depot.catalog.uri if depot.catalog else None
    if uri and uri.startswith("jdbc:postgresql:"):
        yield Package(POSTGRESQL)
    if depot.kind == "delta":
        yield from line.delta
    # Where its tables are, a rest catalog says only when it is asked for one; nearly always it is S3.
    if re.match(r"s3[an]?://", depot.location) or (depot.catalog and depot.catalog.type == "rest"):
        yield from line.s3


def _asked_for(coordinate: str, engine: EnginePlan) -> Package:
    if coordinate.count(":") != 2 or not all(coordinate.split(":")):
        raise RequestError(
            f"engine {engine.engine.name} asks for the package {coordinate!r}, which is no Maven coordinate",
            code="package-invalid",
            where=engine.engine.where,
            hint="write it as group:artifact:version",
        )
    return Package(coordinate)
