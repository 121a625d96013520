"""Places on this machine: Hadoop says only that it could not write there, this says why."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import SparkSession

from catchment.plan.model import Dataset


def locked_directory(spark: SparkSession, dataset: Dataset) -> Path | None:
    """The directory that keeps a dataset from being written because we may not write to it, if that is so."""
    place = dataset.path or spark.conf.get(f"spark.sql.catalog.{dataset.depot}.warehouse", "") or ""
    path = Path(place.removeprefix("file:"))
    if not path.is_absolute():
        return None
    there = next(each for each in (path, *path.parents) if each.exists())
    return None if os.access(there, os.W_OK | os.X_OK) else there
