"""Finds out why a local directory cannot be written to, because Java says neither why nor where."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from catchment.errors import CatchmentError
from catchment.os_errors import from_number, space_left
from catchment.plan.model import Dataset

LOCAL_DIR = "spark.local.dir"


def refusal(spark: SparkSession, dataset: Dataset, problem: CatchmentError) -> CatchmentError | None:
    """The operating system's error for writing there; None if writing works or the location is remote."""
    place = _place(spark, dataset)
    if place is None:
        return None
    existing = next(parent for parent in (place, *place.parents) if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return None
    except OSError as error:
        return from_number(error.errno, f"{existing} ({problem.message})", problem.detail) if error.errno else None


def with_space_left(spark: SparkSession, dataset: Dataset | None, problem: CatchmentError) -> CatchmentError:
    """The error of a full disk, with how much space is left on the disks that the job writes to."""
    temporary = [Path(each) for each in spark.sparkContext.getConf().get(LOCAL_DIR, "").split(",") if each]
    place = _place(spark, dataset) if dataset else None
    told = [space_left(each) for each in (*([place] if place else []), *temporary)]
    known = "; ".join(each for each in told if each)
    return problem.changed(message=f"{problem.message} ({known})") if known else problem


def _place(spark: SparkSession, dataset: Dataset) -> Path | None:
    """The location of a dataset, if it is a local directory."""
    place = dataset.path or spark.conf.get(f"spark.sql.catalog.{dataset.depot}.warehouse", "")
    return Path(place) if place and place.startswith("/") else None
