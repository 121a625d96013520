"""Streaming queries of Spark whose batches are written by the thread that asks for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from catchment.formats.failures import from_spark
from catchment.jvm import java_source
from catchment.jvm.classes import Jvm
from catchment.plan.model import StreamPlan

CLASS = "catchment.streams.Batches"
SOURCE = Path(__file__).with_name("Batches.java")
QUERY, BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
"""Spark's names for what tasks of a stream may ask for: the query and the batch that they belong to."""


@dataclass(frozen=True)
class Batch:
    """The rows of one batch, for a query that waits until they are written."""

    view: str
    number: int
    rows: DataFrame
    """In the session of the attempt."""
    java: Any

    def written(self) -> None:
        """Every output has the rows: the query may go on."""
        self.java.written()

    def failed(self) -> None:
        """The rows were not written: the query ends, and the next one runs this batch again."""
        self.java.failed()


class Queries:
    """The queries of one job: one for each view that outputs write."""

    def __init__(self, spark: SparkSession, plan: StreamPlan, stateful: Sequence[str]) -> None:
        self._spark, self._plan, self._stateful = spark, plan, stateful
        self._jvm = Jvm.of(spark)
        java_source.load(spark, CLASS, SOURCE)
        self._waiting = self._jvm("java.util.concurrent.LinkedBlockingQueue")()
        self._queries: dict[str, StreamingQuery] = {}

    def start(self, view: str, frame: DataFrame, checkpoint: str) -> None:
        """Start the query that reads the rows of a view."""
        writer = frame.writeStream.outputMode(self._plan.output_mode).option("checkpointLocation", checkpoint)
        if self._plan.trigger == "available-now":
            writer = writer.trigger(availableNow=True)
        elif self._plan.trigger == "processing-time":
            writer = writer.trigger(processingTime=f"{round((self._plan.interval or 0) * 1000)} milliseconds")
        writer._jwrite.foreachBatch(self._jvm(CLASS)(view, self._waiting))
        self._queries[view] = writer.start()

    def id_of(self, view: str) -> str:
        """The id of a query, which its checkpoint keeps."""
        return str(self._queries[view].id)

    def are_active(self) -> bool:
        """Whether a query is running; raises if one has failed."""
        active = {view: query.isActive for view, query in self._queries.items()}
        for view in (view for view, alive in active.items() if not alive):
            self._raise_failure(self._queries[view])
        return any(active.values())

    def next_batch(self, seconds: float) -> Batch | None:
        """The next batch that waits to be written; None if none comes in this time."""
        units = self._jvm("java.util.concurrent.TimeUnit")
        found = self._waiting.poll(round(seconds * 1000), units.MILLISECONDS)
        if found is None:
            return None
        return Batch(str(found.view()), int(found.number()), self._in_session(found.rows()), found)

    def progress(self) -> Mapping[str, Mapping[str, Any]]:
        """What Spark says of the last batch with rows of each query, by view."""
        found = {view: _last_with_rows(query._jsq.recentProgress()) for view, query in self._queries.items()}
        return {view: json.loads(each.json()) for view, each in found.items() if each is not None}

    @contextmanager
    def computing(self, batch: Batch) -> Iterator[DataFrame]:
        """The rows of a batch; Spark jobs of the context know that they belong to it."""
        context = self._spark.sparkContext
        properties = {QUERY: self.id_of(batch.view), BATCH: str(batch.number)}
        for key, value in properties.items():
            context.setLocalProperty(key, value)
        try:
            with _computed_once(batch.rows) if batch.view in self._stateful else nullcontext(batch.rows) as rows:
                yield rows
        finally:
            for key in properties:
                context._jsc.setLocalProperty(key, None)

    def stop(self) -> None:
        """End all queries; a batch that was not written is run again by the next ones."""
        for query in self._queries.values():
            with suppress(Exception):  # it has ended already, or Java has
                query.stop()

    def _in_session(self, rows: Any) -> DataFrame:
        """The rows in the session of the attempt: those of the query are in a copy of it."""
        session = self._spark._jsparkSession
        datasets = self._jvm(f"{session.getClass().getPackageName()}.Dataset")
        return DataFrame(datasets.ofRows(session, rows.logicalPlan()), self._spark)

    def _raise_failure(self, query: StreamingQuery) -> None:
        try:
            query.awaitTermination()
        except Exception as error:
            raise from_spark(error, otherwise="stream-failed") from error


@contextmanager
def _computed_once(rows: DataFrame) -> Iterator[DataFrame]:
    """Rows that remember earlier batches: what they remember moves on when they are computed.

    They have to be computed once, however many outputs there are, and even if an earlier attempt has written them all.
    """
    kept = rows.persist()
    try:
        kept.write.format("noop").mode("overwrite").save()
        yield kept
    finally:
        kept.unpersist()


def _last_with_rows(reports: Any) -> Any:
    """The newest report on a batch that had rows; a stream also reports that nothing has come."""
    newest_first = (reports[index] for index in range(len(reports) - 1, -1, -1))
    return next((each for each in newest_first if each.numInputRows()), None)


def stateful_views(views: Mapping[str, DataFrame]) -> Sequence[str]:
    """The views whose rows depend on earlier batches, in order of name."""
    return sorted(view for view, frame in views.items() if _is_stateful(frame._jdf.queryExecution().analyzed()))


def _is_stateful(plan: Any) -> bool:
    name = str(plan.getClass().getSimpleName())
    if not plan.isStreaming():
        return False
    children = [plan.children().apply(index) for index in range(plan.children().size())]
    if name == "Join":
        own = all(child.isStreaming() for child in children)
    else:
        own = name.startswith(("Aggregate", "Deduplicate", "Distinct", "GlobalLimit", "FlatMapGroups", "MapGroups"))
    return own or any(_is_stateful(child) for child in children)
