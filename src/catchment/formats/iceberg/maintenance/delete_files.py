"""Position delete files: those that no data file needs any more are removed, and small ones are merged."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.maintenance.compaction_preview import file_filter
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.maintenance.procedures import call

NOTHING_DONE = {"rewritten_delete_files": 0, "added_delete_files": 0}
PATH_FIELD = 2147483546
"""The number of the column with the data file's path in every position delete file."""
POSITION_DELETES = "content = 1 AND file_format <> 'PUFFIN'"
"""Deletion vectors are not among them: they go with their data files."""
EVERYTHING = {"rewrite-all": "true"}


def rewrite_position_deletes(maintained: MaintainedTable, condition: str | None) -> dict[str, int]:
    """Rewrite position delete files if some of their deletes are dangling or they may be merged; returns the counts.

    A rewrite of data files applies deletes, but keeps every delete file that might belong to another file of the
    partition. Whether one does is known only by its rows.
    """
    if not _has_delete_files(maintained):
        return NOTHING_DONE
    deletes = _position_deletes(maintained, condition)
    options = EVERYTHING if _has_dangling(maintained, deletes) else {}
    # A delete file of a single data file cannot be merged with any other: it would only be copied.
    if not options and not deletes.where("data_file IS NULL").head(1):
        return NOTHING_DONE
    done = call(
        maintained.spark,
        maintained.dataset,
        "rewrite_position_delete_files",
        where=condition,
        options=options or None,
    ).asDict()
    return {
        "rewritten_delete_files": int(done["rewritten_delete_files_count"]),
        "added_delete_files": int(done["added_delete_files_count"]),
    }


def _has_delete_files(maintained: MaintainedTable) -> bool:
    maintained.table.refresh()
    head = maintained.table.currentSnapshot()
    # A summary without totals says nothing; the manifests are asked then.
    return head is not None and str(head.summary().get("total-delete-files")) != "0"


def _position_deletes(maintained: MaintainedTable, condition: str | None) -> DataFrame:
    """The position delete files that a rewrite with this condition may rewrite, with the data file of each."""
    files = _metadata(maintained, "delete_files").where(POSITION_DELETES)
    found = files.select(F.col("file_path").alias("delete_file_path"), _data_file(files).alias("data_file"))
    if condition is None:
        return found
    chosen = maintained.spark.createDataFrame(list(_chosen(maintained, condition)), "delete_file_path STRING")
    return found.join(chosen, "delete_file_path", "left_semi")


def _chosen(maintained: MaintainedTable, condition: str) -> Iterator[tuple[str]]:
    planner = Jvm.of(maintained.spark).iceberg("actions.BinPackRewritePositionDeletePlanner")
    plan = planner(maintained.table, file_filter(maintained, None, condition), False)  # noqa: FBT003
    plan.init(EVERYTHING)
    for group in plan.plan().groups().iterator():
        yield from ((str(task.file().location()),) for task in group.fileScanTasks())


def _data_file(files: DataFrame) -> Column:
    """The one data file that a delete file belongs to; null if it may belong to several."""
    lower, upper = F.col("lower_bounds")[PATH_FIELD], F.col("upper_bounds")[PATH_FIELD]
    by_bounds = F.when(lower == upper, lower.cast("string"))
    return F.coalesce("referenced_data_file", by_bounds) if "referenced_data_file" in files.columns else by_bounds


def _has_dangling(maintained: MaintainedTable, deletes: DataFrame) -> bool:
    live = _metadata(maintained, "data_files").select("file_path")
    named = deletes.where("data_file IS NOT NULL").select(F.col("data_file").alias("file_path"))
    if named.join(live, "file_path", "left_anti").head(1):
        return True
    of_several = deletes.where("data_file IS NULL").select("delete_file_path")
    if not of_several.head(1):
        return False
    rows = _metadata(maintained, "position_deletes").join(of_several, "delete_file_path", "left_semi")
    return bool(rows.join(live, "file_path", "left_anti").head(1))


def _metadata(maintained: MaintainedTable, name: str) -> DataFrame:
    return maintained.spark.table(f"{maintained.dataset.identifier}.{name}")
