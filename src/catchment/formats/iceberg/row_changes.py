"""Row-level changes (merge, delete), which read the table and so cannot be prepared in a buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import faults, own_commit
from catchment.commit.abandonment import reason
from catchment.commit.committed import Committed
from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import CommitConflict, EngineLost, Retryable
from catchment.formats.backoff import MAX_ATTEMPTS, attempts
from catchment.formats.failures import from_spark
from catchment.formats.iceberg import snapshot_lookup
from catchment.formats.iceberg.catalogs import EXCEPTIONS, Table, branch_of, identifier_of, require_table
from catchment.formats.iceberg.conflicts import branch_refusal
from catchment.formats.iceberg.fence import fence, table_is_same
from catchment.formats.iceberg.fitting import fit
from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.new_tables import open_write, refreshed
from catchment.formats.iceberg.own_commits import find_commit
from catchment.formats.iceberg.single_commit import commit_rows
from catchment.formats.iceberg.table import LakeTable
from catchment.formats.model import Write, Written, written
from catchment.formats.publish_errors import fate_unknown
from catchment.formats.row_statements import Statement, create_rows_view, delete_statement, merge_statement
from catchment.formats.stamps import MODE, stamp
from catchment.jvm.causes import is_a, stack_trace
from catchment.jvm.classes import callback, java_class
from catchment.plan.model import Clause, Merge
from catchment.store.writes import Base, Entry, Intent

VALIDATION = f"{EXCEPTIONS}ValidationException"
STATE_UNKNOWN = f"{EXCEPTIONS}CommitStateUnknownException"
CONFLICT_ERRORS = (f"{EXCEPTIONS}CommitFailedException", STATE_UNKNOWN, VALIDATION)
STARVED_AFTER = 3
"""Attempts after which the statement takes the table's lease, so that many small appends cannot starve it."""
NOTHING = Committed(None, 0, 0, 0)


def change(
    spark: SparkSession,
    table: Table,
    write: Write,
    statement: Callable[[], Statement],
    writer: Writer,
    listener: Listener,
) -> Written:
    """Run a statement that changes rows of a table, unless this write is committed already.

    `statement` is called on every attempt.
    """
    if (refused := branch_refusal(table, write.output.dataset.address, branch_of(write.output))) is not None:
        raise refused
    rows = _RowChange(spark, table, write, writer, listener)
    address, progress = write.output.dataset.address, spark_progress(spark)
    with table_lease(writer.store, address, writer.owner, listener, progress, right="rows"):
        return rows.change(statement)


class _RowChange:
    """One row-level change of one table."""

    def __init__(self, spark: SparkSession, table: Table, write: Write, writer: Writer, listener: Listener) -> None:
        self._spark, self._table, self._write, self._listener = spark, table, write, listener
        self._ledger, self._owner, self._store = writer.ledger, writer.owner, writer.store
        self._writer = writer
        self._unsure = False
        """Whether the outcome of a commit is unknown."""

    def change(self, statement: Callable[[], Statement]) -> Written:
        self._settle_lost()
        table, output = LakeTable(self._spark, self._table), self._write.output
        now = refreshed(self._writer, table, output.dataset, branch_of(output))
        known = open_write(self._writer, table, now, output.dataset, self._intent(now.base), self._listener)
        if known.state == "committed":
            self._listener.warn(f"{known.write_id} was already committed; nothing is written again")
            return written(known)
        done = self._find(known.write_id) or self._run(known, statement)
        faults.point("before-marked")
        own_commit.finish(self._ledger, known.intent, done, self._listener.warn)
        faults.point("marked")
        return Written(done.rows, done.files, done.snapshot_id)

    def _intent(self, now: Base) -> Intent:
        write, output = self._write, self._write.output
        name = own_commit.attempt_name(write.id)
        return Intent(
            *(
                write.id,
                write.workflow,
                output.dataset.address,
                branch_of(output),
                output.mode,
                output.conflict,
                self._owner,
            ),
            buffer=name,
            base=self._since(now),
            dataset=asdict(output.dataset),
            inputs=write.inputs,
            window=write.window,
            buffered=False,
        )

    def _since(self, now: Base) -> Base:
        """The state before the first attempt whose outcome is unknown: the history may have the write since then."""
        earlier = self._ledger.find(self._write.id)
        if earlier is None or earlier.intent.base.table_uuid != now.table_uuid:
            return now
        unseen = earlier.state == "open" or (earlier.error or {}).get("code") == EngineLost.code
        return earlier.intent.base if unseen else now

    def _run(self, known: Entry, statement: Callable[[], Statement]) -> Committed:
        if not LakeTable(self._spark, self._table).has_history_since(known.intent.base):
            doubt = fate_unknown(known)
            self._ledger.abandon(known, reason(doubt))
            raise doubt
        for number in attempts():
            try:
                sql = statement()
            except Exception as error:
                return self._unprepared(known, error)
            before = self._version()
            try:
                with self._lease_if_starved(number):
                    return self._attempt(sql)
            except Exception as error:
                # The error may be wrong about the commit (its answer may have been lost): only the history decides.
                if (done := self._find(known.write_id)) is not None:
                    return done
                self._unsure |= is_a(error, STATE_UNKNOWN)
                refused = is_a(error, VALIDATION) and self._version() == before
                if not is_a(error, *CONFLICT_ERRORS) or refused or number == MAX_ATTEMPTS:
                    if (done := self._applied_late(known)) is not None:
                        return done
                    raise self._give_up(known, error, sql, refused=refused) from error
                self._listener.check()
                self._listener.warn(f"{known.write_id}: others changed {known.intent.target} meanwhile; trying again")
        raise AssertionError("the last attempt returns or raises")

    def _unprepared(self, known: Entry, error: Exception) -> Committed:
        """The change, if an earlier attempt has made it after all; otherwise closes the write and raises the error."""
        if (done := self._applied_late(known)) is not None:
            return done
        self._ledger.abandon(known, reason(from_spark(error, otherwise="write-failed")))
        raise error

    def _applied_late(self, known: Entry) -> Committed | None:
        """The change, if a commit whose answer was lost was applied after all; from now on, none can be."""
        if not self._unsure:
            return None
        table = LakeTable(self._spark, self._table)
        if table_is_same(table, known):
            fence(table, known.intent.branch, known.write_id)
        return self._find(known.write_id)

    def _lease_if_starved(self, number: int) -> AbstractContextManager[None]:
        if number <= STARVED_AFTER:
            return nullcontext()
        address, progress = self._write.output.dataset.address, spark_progress(self._spark)
        return table_lease(self._store, address, self._owner, self._listener, progress)

    def _attempt(self, statement: Statement) -> Committed:
        stamps = {**stamp(self._write), MODE: self._write.output.mode}
        rows = inserted_rows(self._spark, statement.sql) if self._write.output.mode == "merge" else None
        if rows is not None:
            # Iceberg would commit them as a plain append without checking what others have committed meanwhile.
            table = LakeTable(self._spark, self._table)
            made = commit_rows(self._spark, table, rows, self._write, "append", stamps, self._listener)
            return made.committed() if made else NOTHING
        self._listener.check()
        faults.point("before-own-commit")
        run_stamped(self._spark, statement.sql, stamps)
        faults.point("own-commit-applied")
        # A statement that finds nothing to change may commit nothing.
        return self._find(self._write.id) or NOTHING

    def _find(self, write_id: str) -> Committed | None:
        self._table.refresh()
        found = snapshot_lookup.find_write(self._spark, self._table, write_id)
        return found.committed() if found else None

    def _version(self) -> str:
        """The table's metadata file, which changes with every commit."""
        self._table.refresh()
        return str(self._table.operations().current().metadataFileLocation())

    def _give_up(self, known: Entry, error: Exception, statement: Statement, *, refused: bool) -> Exception:
        """The error with its position. The ledger records final failures; unknown outcomes stay open for recovery."""
        # Iceberg uses the same exception for a conflict and for a request that cannot be fulfilled.
        conflict = is_a(error, VALIDATION) and not refused
        problem = _conflict_error(known, error) if conflict else from_spark(error, otherwise="write-failed")
        if not isinstance(problem, Retryable):
            self._ledger.abandon(known, reason(problem))
        place = statement.place(error)
        if place is None:
            return problem if conflict else error  # unchanged: the caller finds the step that is to blame
        what = "action" if self._write.output.mode == "delete" else "output"
        return problem.changed(message=f"{what} {self._write.output.name}: {problem.message}", where=place)

    def _settle_lost(self) -> None:
        """Settle the unfinished changes that dead engines have left in this table."""
        target = self._write.output.dataset.address
        find = partial(find_commit, self._spark, self._table)
        settled = own_commit.settle(self._ledger, target, find, self._listener.warn)
        others = [write_id for write_id in settled.abandoned if write_id != self._write.id]
        if others:
            self._listener.warn(f"{target}: engines that died left {', '.join(others)} unfinished")


def _conflict_error(known: Entry, error: Exception) -> CommitConflict:
    return CommitConflict(
        f"{known.intent.target} was changed by others during each of {MAX_ATTEMPTS} attempts of {known.write_id}",
        hint="run the job again when fewer jobs write to the table, or let them depend on each other",
        detail=stack_trace(error),
    )


def run_stamped(spark: SparkSession, sql: str, stamps: Mapping[str, str]) -> None:
    """Run a statement whose snapshots get these stamps; other statements of the session are not affected."""
    jvm = Jvm.of(spark)
    properties = jvm("java.util.HashMap")()
    for key, value in stamps.items():
        properties.put(key, value)
    # A callback, because Iceberg keeps the stamps in a thread-local.
    call = callback(spark, "java.util.concurrent.Callable", spark._jsparkSession, "sql", "java.lang.String", sql)
    jvm.iceberg("spark.CommitMetadata").withCommitProperties(properties, call, java_class(spark, "java.lang.Exception"))


def inserted_rows(spark: SparkSession, sql: str) -> DataFrame | None:
    """The rows that a merge inserts, if it does nothing else; nothing is executed yet."""
    jvm, state = Jvm.of(spark), spark._jsparkSession.sessionState()
    skip = jvm("org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    plan = state.executePlan(state.sqlParser().parsePlan(sql), skip).analyzed()
    if str(plan.getClass().getSimpleName()) != "AppendData":
        return None
    dataset = (
        "org.apache.spark.sql.Dataset" if spark.version.startswith("3.") else "org.apache.spark.sql.classic.Dataset"
    )
    return DataFrame(jvm(dataset).ofRows(spark._jsparkSession, plan.query()), spark)


ROWS = "catchment_merged_rows"
"""The view with the rows to merge."""


def merge(
    spark: SparkSession,
    frame: DataFrame,
    write: Write,
    clauses: Merge,
    table: Table,
    writer: Writer,
    listener: Listener,
) -> Written:
    """Merge the rows into the table, unless this write is committed already."""
    target = identifier_of(write.output.dataset, branch_of(write.output))

    def statement() -> Statement:
        # Rows may have columns that the table lacks, since clauses select columns; only mergeSchema needs a fit.
        rows = fit(spark, frame, write, table) if write.output.merge_schema else frame
        create_rows_view(rows, ROWS)
        return merge_statement(clauses, target, ROWS)

    try:
        return change(spark, table, write, statement, writer, listener)
    finally:
        spark.catalog.dropTempView(ROWS)


def delete_rows(spark: SparkSession, condition: Clause, write: Write, writer: Writer, listener: Listener) -> Written:
    """Delete rows. If the condition covers whole files or partitions, Iceberg changes only metadata."""
    dataset = write.output.dataset
    with writer.admission(dataset, write.id):
        table = require_table(spark, dataset)
        statement = delete_statement(condition, identifier_of(dataset, branch_of(write.output)))
        return change(spark, table, write, lambda: statement, writer, listener)
