"""Directories that look like a Spark."""

from __future__ import annotations

from pathlib import Path


def fake_spark(home: Path, version: str = "3.5.7", scala: str = "2.12") -> Path:
    """A directory with the files by which a Spark is recognised."""
    for file in (f"jars/spark-core_{scala}-{version}.jar", "python/lib/pyspark.zip", "python/lib/py4j-0.10-src.zip"):
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).touch()
    return home
