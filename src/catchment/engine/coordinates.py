"""Which packages go with which Spark: only versions that have been run together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path

from catchment.errors import RequestError
from catchment.formats.registry import all_traits, in_use
from catchment.formats.stores import S3
from catchment.formats.traits import Package
from catchment.plan.model import EnginePlan
from catchment.project.model import Depot

SQLITE = "org.xerial:sqlite-jdbc:3.50.3.0"
PACKAGES_SETTING = "spark.jars.packages"
"""Spark's own setting for packages. Catchment installs them itself, so that Spark does not resolve them at every
start."""
POSTGRESQL = "org.postgresql:postgresql:42.7.13"


@dataclass(frozen=True)
class SparkLine:
    """One supported line of Spark."""

    pyspark: str
    requirements: Path
    """Pins this pyspark, what it needs to be built, and what it needs to run: names, versions and hashes."""


SPARK_LINES = {
    name: SparkLine(pyspark, Path(__file__).with_name(f"pyspark-{name}.txt"))
    for name, pyspark in {"4.1": "4.1.2", "3.5": "3.5.8"}.items()
}


def spark_line(engine: EnginePlan) -> SparkLine:
    """The line of Spark that an engine asks for."""
    line = SPARK_LINES.get(engine.engine.spark)
    if line is None:
        raise RequestError(
            f"engine {engine.engine.name} asks for Spark {engine.engine.spark}",
            code="unsupported-spark",
            where=engine.engine.where,
            hint=f"use one of {', '.join(SPARK_LINES)}",
        )
    return line


def packages_of(engine: EnginePlan) -> tuple[Package, ...]:
    """All packages for the class path of an engine, each once, in a stable order."""
    spark_line(engine)
    line = engine.engine.spark
    needed = [Package(SQLITE), *_of_formats(engine, line)]
    needed += [package for depot in engine.depots for package in _of_depot(depot, line)]
    listed = engine.conf.get(PACKAGES_SETTING, "").split(",")
    requested = (*engine.engine.packages, *(coordinate.strip() for coordinate in listed if coordinate.strip()))
    needed += [_requested_package(coordinate, engine) for coordinate in requested]
    return _in_order(needed)


def possible_sets(line: str) -> Iterator[tuple[Package, ...]]:
    """Every set of packages that the depots of an engine can need; `make lock` pins their jars."""
    always = [
        package for traits in all_traits() if traits.always_installed for package in traits.packages.get(line, ())
    ]
    optional = [traits.packages.get(line, ()) for traits in all_traits() if not traits.always_installed]
    groups = [group for group in (*optional, S3[line], (Package(POSTGRESQL),)) if group]
    for count in range(len(groups) + 1):
        for chosen in combinations(groups, count):
            yield _in_order((Package(SQLITE), *always, *chain(*chosen)))


def _in_order(packages: Iterable[Package]) -> tuple[Package, ...]:
    return tuple(sorted(dict.fromkeys(packages), key=lambda package: package.coordinate))


def _of_formats(engine: EnginePlan, line: str) -> Iterator[Package]:
    used = {traits.name for traits in in_use({depot.kind for depot in engine.depots})}
    for traits in all_traits():
        if traits.always_installed or traits.name in used:
            yield from traits.packages.get(line, ())


def _of_depot(depot: Depot, line: str) -> Iterator[Package]:
    uri = depot.catalog.uri if depot.catalog else None
    if uri and uri.startswith("jdbc:postgresql:"):
        yield Package(POSTGRESQL)
    # A rest catalog reveals where its tables are only when one is loaded; nearly always it is S3.
    if re.match(r"s3[an]?://", depot.location) or (depot.catalog and depot.catalog.type == "rest"):
        yield from S3[line]


def _requested_package(coordinate: str, engine: EnginePlan) -> Package:
    if coordinate.count(":") != 2 or not all(coordinate.split(":")):
        raise RequestError(
            f"engine {engine.engine.name} asks for the package {coordinate!r}, which is not a Maven coordinate",
            code="package-invalid",
            where=engine.engine.where,
            hint="write it as group:artifact:version",
        )
    return Package(coordinate)
