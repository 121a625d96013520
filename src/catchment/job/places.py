"""Finds out why a local directory cannot be written, because Java does not say why."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from catchment.errors import CatchmentError
from catchment.formats.failures import from_system
from catchment.plan.model import Dataset


def refusal(spark: SparkSession, dataset: Dataset, problem: CatchmentError) -> CatchmentError | None:
    """The operating system's error for writing there; None if writing works or the location is remote."""
    place = dataset.path or spark.conf.get(f"spark.sql.catalog.{dataset.depot}.warehouse", "")
    if not place or not place.startswith("/"):
        return None
    existing = next(parent for parent in (Path(place), *Path(place).parents) if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return None
    except OSError as error:
        return from_system(error.errno, f"{existing} ({problem.message})", problem.detail) if error.errno else None
