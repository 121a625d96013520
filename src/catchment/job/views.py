"""Creates the views of a job, whatever their names are, and drops them."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from catchment.job.cached_tables import as_view


def create_view(frame: DataFrame, name: str) -> DataFrame:
    """Create a view of a frame, and return what it has; names such as `1` or `größe` must be quoted here, as in SQL."""
    view = as_view(frame)
    view.createOrReplaceTempView(f"`{name}`")
    return view


def drop_views(spark: SparkSession) -> None:
    """Drop all views of a session; Spark's own command would also drop what others have cached of the same plan."""
    spark._jsparkSession.sessionState().catalog().clearTempTables()
