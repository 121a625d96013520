"""The session of a job: its settings, and the run's reference time as a variable of SQL."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pyspark.sql import SparkSession

from catchment.errors import JobError
from catchment.formats.failures import from_spark
from catchment.formats.sql import published_catalogs
from catchment.job.statements import check_setting
from catchment.plan.model import JobPlan
from catchment.project.model import Depot

SESSION_VARIABLES_SINCE = 4


def prepare_session(
    spark: SparkSession, job: JobPlan, reference_time: str, depots: Sequence[Depot], log: logging.Logger
) -> None:
    """Apply the settings of a job, and declare `run_time`."""
    for key, value in job.conf.items():
        log.info("setting %s = %s", key, value)
        _set(spark, job, depots, key, value)
    if int(spark.version.partition(".")[0]) >= SESSION_VARIABLES_SINCE:
        # The run's reference time is the same on every attempt, so that a retry after midnight writes the same rows.
        spark.sql(f"DECLARE VARIABLE run_time TIMESTAMP DEFAULT TIMESTAMP '{reference_time}'")


def _set(spark: SparkSession, job: JobPlan, depots: Sequence[Depot], key: str, value: str) -> None:
    check_setting(key, published_catalogs(depots))
    try:
        spark.conf.set(key, value)
    except Exception as error:
        problem = from_spark(error)
        raise JobError(
            f"job {job.name}: Spark refuses the setting {key}={value}: {problem.message}",
            code="setting-refused",
            where=job.where,
            hint="settings of the whole application belong in `conf` of the engine",
            detail=problem.detail,
        ) from error
