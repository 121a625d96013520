"""Reports about a Delta table, from its log. No Spark here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from catchment.formats import stamps
from catchment.formats.delta.commits import Commit
from catchment.formats.facts import Facts
from catchment.formats.spark_types import simple_type
from catchment.plan.model import Dataset
from catchment.run_model import snapshot_name


class TableState(NamedTuple):
    """The newest version of a table."""

    version: int
    writer_version: int
    schema: str
    """JSON, as in the log."""
    partitions: Sequence[str]
    properties: Mapping[str, str]


class Totals(NamedTuple):
    """Totals of all files."""

    rows: int
    files: int
    bytes: int


def table_facts(dataset: Dataset, state: TableState, totals: Totals, commits: int) -> Facts:
    """Columns, partitions, properties and size of a version, and the number of commits in the log."""
    return {
        "address": dataset.address,
        "location": dataset.path,
        "format_version": state.writer_version,
        "columns": [
            {
                "name": field["name"],
                "type": simple_type(field["type"]),
                "required": not field["nullable"],
                "comment": field.get("metadata", {}).get("comment"),
            }
            for field in json.loads(state.schema)["fields"]
        ],
        "partitions": [{"name": name, "transform": "identity", "column": name} for name in state.partitions],
        "properties": dict(sorted(state.properties.items())),
        "rows": totals.rows,
        "files": totals.files,
        "bytes": totals.bytes,
        "snapshot_id": snapshot_name(state.version),
        "snapshots": commits,
    }


def files_facts(dataset: Dataset, files: Iterable[tuple[str, int | None, int]]) -> list[Facts]:
    """The data files, from their paths, rows and bytes, in the order of their paths."""
    place = str(dataset.path).rstrip("/")
    return [
        {"path": f"{place}/{path}", "format": "PARQUET", "rows": rows, "bytes": size, "spec_id": 0}
        for path, rows, size in sorted(files, key=lambda file: file[0])
    ]


def snapshot_facts(commit: Commit, at: datetime) -> Facts:
    """One version, with the writes in it."""
    stamp, write_ids = commit.stamp, list(commit.write_ids)
    return {
        "snapshot_id": snapshot_name(commit.version),
        "committed_at": at.isoformat(timespec="milliseconds"),
        "operation": commit.info["operation"].lower(),
        "workflow": stamp.get(stamps.WORKFLOW),
        "job": stamp.get(stamps.JOB),
        "run_id": stamp.get(stamps.RUN),
        "write_ids": write_ids,
        "writes": [{"write_id": each, "rows": commit.committed(each).rows} for each in write_ids],
        "added_rows": commit.committed().rows,
    }
