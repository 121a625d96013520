"""Spark streaming queries whose batches are written by the thread that fetches them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from catchment.formats.failures import from_spark
from catchment.formats.registry import all_traits
from catchment.jvm import java_source
from catchment.jvm.causes import causes
from catchment.jvm.classes import Jvm
from catchment.plan.model import OutputPlan, StreamPlan

CLASS = "catchment.streams.Batches"
SOURCE = Path(__file__).with_name("Batches.java")
QUERY, BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
"""The local properties from which the tasks of a stream know their query and their batch."""


@dataclass(frozen=True)
class Batch:
    """The rows of one batch, for a query that waits until they are written."""

    view: str
    number: int
    rows: DataFrame
    """In the session of the attempt."""
    java: Any

    def written(self) -> None:
        """All outputs have the rows: the query may continue."""
        self.java.written()

    def failed(self) -> None:
        """The rows were not written: the query ends, and repeats this batch when it is started again."""
        self.java.failed()


class Queries:
    """The queries of one job: one for each view that outputs write."""

    def __init__(self, spark: SparkSession, plan: StreamPlan, stateful: Sequence[str]) -> None:
        self._spark, self._plan, self._stateful = spark, plan, stateful
        self._jvm = Jvm.of(spark)
        java_source.load(spark, CLASS, SOURCE)
        self._waiting = self._jvm("java.util.concurrent.LinkedBlockingQueue")()
        self._queries: dict[str, StreamingQuery] = {}
        self._started: dict[str, tuple[DataFrame, str]] = {}
        """Rows and checkpoint of each query."""
        self._stumbled: set[str] = set()
        """The views whose query was started again."""

    def start(self, view: str, frame: DataFrame, checkpoint: str) -> None:
        """Start the query that reads the rows of a view."""
        self._started[view] = (frame, checkpoint)
        writer = frame.writeStream.outputMode(self._plan.output_mode).option("checkpointLocation", checkpoint)
        if self._plan.trigger == "available-now":
            writer = writer.trigger(availableNow=True)
        elif self._plan.trigger == "processing-time":
            writer = writer.trigger(processingTime=f"{round((self._plan.interval or 0) * 1000)} milliseconds")
        writer._jwrite.foreachBatch(self._jvm(CLASS)(view, self._waiting))
        self._queries[view] = writer.start()

    def id_of(self, view: str) -> str:
        """The id of a query, which is stored in its checkpoint."""
        return str(self._queries[view].id)

    def are_active(self) -> bool:
        """Whether a query is running; raises if one has failed."""
        active = {view: query.isActive for view, query in self._queries.items()}
        ended = [view for view, alive in active.items() if not alive]
        return any([self._goes_on(view) for view in ended] + [len(ended) < len(active)])

    def next_batch(self, seconds: float) -> Batch | None:
        """The next batch that waits to be written; None if none comes in this time."""
        units = self._jvm("java.util.concurrent.TimeUnit")
        found = self._waiting.poll(round(seconds * 1000), units.MILLISECONDS)
        if found is None:
            return None
        return Batch(str(found.view()), int(found.number()), self._in_session(found.rows()), found)

    def progress(self) -> Mapping[str, Mapping[str, Any]]:
        """Spark's report on the last batch of each query that had rows, by view."""
        found = {view: _last_with_rows(query._jsq.recentProgress()) for view, query in self._queries.items()}
        return {view: json.loads(each.json()) for view, each in found.items() if each is not None}

    @contextmanager
    def computing(self, batch: Batch, outputs: Sequence[OutputPlan]) -> Iterator[DataFrame]:
        """The rows of a batch for its outputs; Spark jobs inside the context know that they belong to it."""
        context = self._spark.sparkContext
        properties = {QUERY: self.id_of(batch.view), BATCH: str(batch.number)}
        for key, value in properties.items():
            context.setLocalProperty(key, value)
        try:
            with self._read_once(batch, outputs) as rows:
                yield rows
        finally:
            for key in properties:
                context._jsc.setLocalProperty(key, None)

    def _read_once(self, batch: Batch, outputs: Sequence[OutputPlan]) -> AbstractContextManager[DataFrame]:
        if batch.view in self._stateful:
            return _computed_once(batch.rows)
        return _kept(batch.rows) if len(outputs) > 1 or any(map(_reads_twice, outputs)) else nullcontext(batch.rows)

    def stop(self) -> None:
        """End all queries; a batch that was not written is repeated by the next attempt."""
        for query in self._queries.values():
            with suppress(Exception):  # the query or the JVM has ended already
                query.stop()

    def _in_session(self, rows: Any) -> DataFrame:
        """The rows in the session of the attempt; the query itself runs in a copy of that session."""
        session = self._spark._jsparkSession
        datasets = self._jvm(f"{session.getClass().getPackageName()}.Dataset")
        return DataFrame(datasets.ofRows(session, rows.logicalPlan()), self._spark)

    def _goes_on(self, view: str) -> bool:
        """Whether a query that has ended was started again; raises if it has failed for good."""
        try:
            self._queries[view].awaitTermination()
        except Exception as error:
            if view in self._stumbled or not _is_passing(error):
                raise from_spark(error, otherwise="stream-failed") from error
            self._stumbled.add(view)
            self.start(view, *self._started[view])
            return True
        return False


def _reads_twice(output: OutputPlan) -> bool:
    """Whether a write reads its rows more than once: to find what they match, or to find out how they are spread."""
    return output.mode == "merge" or (output.sort is not None and output.sort.mode == "global")


@contextmanager
def _kept(rows: DataFrame) -> Iterator[DataFrame]:
    """Rows that are read more than once. Otherwise Spark would read their source each time, and count all of it."""
    kept = rows.persist()
    try:
        yield kept
    finally:
        kept.unpersist()


@contextmanager
def _computed_once(rows: DataFrame) -> Iterator[DataFrame]:
    """The rows of a stateful view: computing them advances their state.

    They must be computed once, however many outputs there are, and even if an earlier attempt has written all of them.
    """
    with _kept(rows) as kept:
        kept.write.format("noop").mode("overwrite").save()
        yield kept


def _last_with_rows(reports: Any) -> Any:
    """The newest report on a batch that had rows; Spark also reports batches without any."""
    newest_first = (reports[index] for index in range(len(reports) - 1, -1, -1))
    return next((each for each in newest_first if each.numInputRows()), None)


def _is_passing(error: Exception) -> bool:
    """Whether a query has failed although its batch is complete, so that a restart continues with the next batch."""
    faults = {(fault.kind, fault.thrown_by) for traits in all_traits() for fault in traits.passing_faults}
    return any((kind, cause.thrown_by) in faults for cause in causes(error) for kind in cause.classes)


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
