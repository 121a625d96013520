"""Creates the views of a job, whatever their names are."""

from __future__ import annotations

from pyspark.sql import DataFrame

from catchment.job.cached_tables import as_view


def create_view(frame: DataFrame, name: str) -> DataFrame:
    """Create a view of a frame, and return what it has; names such as `1` or `größe` must be quoted here, as in SQL."""
    view = as_view(frame)
    view.createOrReplaceTempView(f"`{name}`")
    return view
