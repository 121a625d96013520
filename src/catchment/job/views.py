"""Creates the views of a job, whatever their names are."""

from __future__ import annotations

from pyspark.sql import DataFrame


def create_view(frame: DataFrame, name: str) -> None:
    """Create a view of a frame; names such as `1` or `größe` must be quoted here, as in SQL."""
    frame.createOrReplaceTempView(f"`{name}`")
