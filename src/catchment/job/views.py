"""Views of a job, whatever their names."""

from __future__ import annotations

from pyspark.sql import DataFrame


def create_view(frame: DataFrame, name: str) -> None:
    """Create a view of a frame; in SQL, a name such as `1` or `größe` must be quoted, and so it must be here."""
    frame.createOrReplaceTempView(f"`{name}`")
