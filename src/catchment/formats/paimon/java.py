"""Our Java for Paimon: commits with one compare-and-swap, and streams that read every snapshot once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from catchment.formats import swap_gate
from catchment.formats.paimon.traits import TRAITS
from catchment.jvm import java_source
from catchment.jvm.causes import is_a
from catchment.jvm.classes import Jvm

CLASS = "catchment.paimon.Commits"
STREAM = "catchment.paimon.SnapshotStream"
LOCKS = "catchment.paimon.GatedLocks"
SOURCES = {name: Path(__file__).with_name(f"{name.rpartition('.')[2]}.java") for name in (LOCKS, CLASS, STREAM)}
"""Each class comes after those that it uses."""


def install(spark: SparkSession) -> None:
    """Load our Java classes into an engine, if its line of Spark supports Paimon."""
    if ".".join(spark.version.split(".")[:2]) in TRAITS.packages:
        swap_gate.install(spark)
        for name, source in SOURCES.items():
            java_source.load(spark, name, source)


@dataclass(frozen=True)
class Commits:
    """Our Java class for commits. A method call is one round trip to Java: the method is not looked up first."""

    jvm: Jvm

    def __getattr__(self, method: str) -> Any:
        return self.jvm.static(CLASS, method)


def commits(spark: SparkSession) -> Commits:
    """Our Java class for commits."""
    return Commits(Jvm.of(spark))


def has_moved(error: BaseException) -> bool:
    """Whether a commit was refused because the table's newest snapshot has changed."""
    return is_a(error, f"{CLASS}$Moved")
