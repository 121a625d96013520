"""Finds out why a local directory cannot be written to, because Java says neither why nor where."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from catchment import os_errors
from catchment.errors import CatchmentError
from catchment.plan.model import Dataset

LOCAL_DIR = "spark.local.dir"


def refusal(spark: SparkSession, dataset: Dataset, problem: CatchmentError) -> CatchmentError | None:
    """The operating system's error for writing there; None if writing works or the location is remote."""
    place = _place(spark, dataset)
    return os_errors.refusal(place, problem.message, problem.detail) if place else None


def with_space_left(spark: SparkSession, dataset: Dataset | None, problem: CatchmentError) -> CatchmentError:
    """The error of a full disk, with how much space is left on the disks that the job writes to."""
    temporary = [Path(each) for each in spark.sparkContext.getConf().get(LOCAL_DIR, "").split(",") if each]
    place = _place(spark, dataset) if dataset else None
    told = [os_errors.space_left(each) for each in (*([place] if place else []), *temporary)]
    known = "; ".join(each for each in told if each)
    return problem.changed(message=f"{problem.message} ({known})") if known else problem


def _place(spark: SparkSession, dataset: Dataset) -> Path | None:
    """The location of a dataset, if it is a local directory."""
    place = dataset.path or spark.conf.get(f"spark.sql.catalog.{dataset.depot}.warehouse", "")
    return Path(place) if place and place.startswith("/") else None
