"""Rows as a view that a MERGE takes them from."""

from __future__ import annotations

from pyspark.sql import DataFrame


def show_rows(frame: DataFrame, name: str) -> None:
    """Make rows a view. Spark 4.1 finds no plan for a MERGE from a view with a table in it: it gets the rows alone."""
    query = frame._jdf.queryExecution()
    if not query.analyzed().deterministic():
        frame.createOrReplaceTempView(name)  # Spark itself says why it takes no rows that are others each time
        return
    session = frame.sparkSession._jsparkSession
    alone = session.internalCreateDataFrame(query.toRdd(), frame._jdf.schema(), False)  # noqa: FBT003
    alone.createOrReplaceTempView(name)
