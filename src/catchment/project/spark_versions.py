"""The supported lines of Spark, and which one an installation on this machine belongs to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from catchment.errors import RequestError

SCALA = {"4.1": "2.13", "3.5": "2.12"}
"""The supported lines of Spark, the default first, and the Scala that the packages of each are built for."""
SPARK_LINES = tuple(SCALA)

_CORE = re.compile(r"spark-core_(?P<scala>\d+\.\d+)-(?P<version>(?P<line>\d+\.\d+)\..+)\.jar")
_HINT = "spark_home is the directory of a Spark distribution, with bin, jars and python in it"


@dataclass(frozen=True)
class SparkVersion:
    """The version of one Spark installation."""

    version: str
    line: str
    scala: str


def installed_at(home: Path) -> SparkVersion:
    """The version of the Spark in a directory; raises if there is none, or none that is supported."""
    if not home.is_dir():
        raise RequestError(f"there is no directory {home}", code="spark-home-invalid", hint=_HINT)
    found = next(filter(None, (_CORE.fullmatch(jar.name) for jar in sorted(home.glob("jars/*.jar")))), None)
    if found is None or not python_path(home):
        missing = "pyspark and py4j in python" if found else "spark-core_*.jar in jars"
        raise RequestError(f"{home} is not a Spark: it has no {missing}", code="spark-home-invalid", hint=_HINT)
    version = SparkVersion(found["version"], found["line"], found["scala"])
    if SCALA.get(version.line) != version.scala:
        supported = ", ".join(f"Spark {line} with Scala {scala}" for line, scala in SCALA.items())
        raise RequestError(
            f"not supported yet: Spark {version.version} with Scala {version.scala}, which is at {home}",
            code="unsupported-spark",
            hint=f"use {supported}",
        )
    return version


def python_path(home: Path) -> list[str]:
    """The Python path of a Spark installation: pyspark, and py4j, its bridge to Java; empty if they are missing."""
    bridges = sorted(map(str, home.glob("python/lib/py4j-*-src.zip")))
    # A distribution has pyspark as a directory too; the package pyspark has only the archive.
    unpacked = (home / "python" / "pyspark" / "__init__.py").is_file()
    pyspark = home / "python" if unpacked else home / "python" / "lib" / "pyspark.zip"
    return [str(pyspark), *bridges] if bridges and pyspark.exists() else []
